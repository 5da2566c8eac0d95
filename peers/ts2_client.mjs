// A client made with the TypeScript SDK 2.x: connects, lists everything, does what it is told, prints one JSON line.
//
// Usage: node ts2_client.mjs URL TOKEN [PLAN]
// PLAN is a JSON object, each member optional: {"mode", "tool", "arguments", "prompt", "prompt_arguments", "resource"}.
// "mode" is "legacy", the SDK's own default, or "auto", or a revision to insist on. TOKEN may be "-" for none. Exit
// status 1 and a message on stderr when anything fails.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import { answer, counted, headers, plan, run, url } from "./peer.mjs";

function answerQuestions(client) {
  for (const method of ["sampling/createMessage", "elicitation/create", "roots/list"]) {
    client.setRequestHandler(method, async () => answer(method));
  }
}

async function converse() {
  const mode = ["legacy", "auto"].includes(plan.mode ?? "legacy") ? plan.mode : { pin: plan.mode };
  const client = new Client(
    { name: "ts2-peer", version: "1.0.0" },
    { capabilities: { sampling: {}, elicitation: {}, roots: {} }, versionNegotiation: mode && { mode } },
  );
  answerQuestions(client);
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  const offers = client.getServerCapabilities() ?? {};
  const list = async (offered, method, member) => (offered ? (await client[method]())[member] : []);
  const seen = {
    protocol: client.getNegotiatedProtocolVersion(),
    server: client.getServerVersion(),
    session: transport.sessionId ?? null,
    tools: (await list(offers.tools, "listTools", "tools")).map((tool) => tool.name),
    prompts: (await list(offers.prompts, "listPrompts", "prompts")).map((prompt) => prompt.name),
    resources: (await list(offers.resources, "listResources", "resources")).map((item) => item.uri),
    templates: (await list(offers.resources, "listResourceTemplates", "resourceTemplates")).map((item) => item.uriTemplate),
  };
  if (plan.tool) {
    const call = { name: plan.tool, arguments: plan.arguments ?? {} };
    // The SDK tells of rounds of input as if they were progress; those are not the server's reports.
    const onprogress = ({ message }) => (counted.progress += message?.startsWith("Fulfilling input") ? 0 : 1);
    seen.called = await client.callTool(call, { onprogress, timeout: 30_000 });
  }
  if (plan.prompt) seen.prompt = await client.getPrompt({ name: plan.prompt, arguments: plan.prompt_arguments ?? {} });
  if (plan.resource) seen.resource = await client.readResource({ uri: plan.resource });
  if (transport.sessionId) await transport.terminateSession();
  await client.close();
  return seen;
}

run(converse);
