// What the TypeScript clients share: the command line, the answers to a server's questions, and the line they print.

const [url, token, planText = "{}"] = process.argv.slice(2);
if (!url || !token) {
  console.error(`usage: node ${process.argv[1]} URL TOKEN [PLAN]`);
  process.exit(2);
}

export { url };
export const plan = JSON.parse(planText);
export const headers = token === "-" ? {} : { Authorization: `Bearer ${token}` };

/** What was asked of the client, and how often a server reported progress. */
export const counted = { asked: [], progress: 0 };

const answers = {
  "sampling/createMessage": {
    role: "assistant",
    model: "peer-model",
    content: { type: "text", text: "sampled by the client" },
  },
  "elicitation/create": { action: "decline" },
  "roots/list": { roots: [{ uri: "file:///peer", name: "peer" }] },
};

/** Answers one of the three questions a server may ask its client, always in the same way. */
export function answer(method) {
  counted.asked.push(method);
  return answers[method];
}

/** Runs a client and prints what it saw; its fault is on stderr. */
export function run(converse) {
  converse().then(
    (seen) => {
      console.log(JSON.stringify({ ...seen, ...counted }));
      process.exit(0);
    },
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
}
