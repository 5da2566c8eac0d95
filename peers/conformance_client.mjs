// A client for the conformance suite's client mode, in which the suite plays the server: puts the gateway in between.
//
// Usage: node conformance_client.mjs GATEWAY TOKEN ERA ENDPOINT PIN URL
// The suite adds URL, where its server listens. ERA is "legacy" or "modern", ENDPOINT "server" or "virtual", PIN the
// `pinned_era` of the suite's server: "modern", or "auto" for none. Registers
// URL, then uses everything it offers through the gateway: lists all, calls each tool, reads each resource, gets each
// prompt, and answers what it is asked. MCP_CONFORMANCE_CONTEXT may name the calls to make instead.

const [gateway, token, era, endpoint, pin, url] = process.argv.slice(2);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "by-hand";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

const MODERN = "2026-07-28";
const LEGACY = "2025-11-25";
const META = "io.modelcontextprotocol/";
const CAPABILITIES = { roots: {}, sampling: {}, elicitation: {} };
const CLIENT = { name: "conformance-client", version: "1.0.0" };

// The gateway's side.

async function manage(method, path, body) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const answer = await fetch(gateway + path, { method, headers, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/** Registers the suite's server, and composes its tools where a virtual server is wanted; returns the endpoint. */
async function register() {
  const slug = `${scenario}-${process.pid}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const path = `/${slug}`;
  const server = { path, server_name: slug, version: "v1.0.0", proxy_pass_url: url, is_enabled: true };
  server.pinned_era = pin;
  await manage("POST", "/api/servers/register", server);
  await manage("POST", `/api/servers${path}/refresh`, {});
  if (endpoint !== "virtual") return gateway + path;
  const { tools } = await manage("GET", `/api/servers${path}/tools`);
  const rows = tools.map((tool) => ({ tool_name: tool.name, backend_server_path: path }));
  const composed = { server_name: slug, path: `/virtual${path}`, tool_mappings: rows, is_enabled: true };
  await manage("POST", "/api/virtual-servers", composed);
  return `${gateway}/virtual${path}`;
}

// What both eras do alike.

let lastId = 0;

/** Yields the events of a stream. */
async function* events(answer) {
  let rest = "";
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    rest += piece.replaceAll("\r\n", "\n");
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const event = { data: "" };
      for (const line of rest.slice(0, end).split("\n")) {
        const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
        event[field] = field === "data" ? event.data + value : value;
      }
      rest = rest.slice(end + 2);
      yield event;
    }
  }
}

const isEvents = (answer) => (answer.headers.get("content-type") ?? "").startsWith("text/event-stream");

function resultOf(message, method) {
  if (message.error) throw new Error(`${method}: ${JSON.stringify(message.error)}`);
  return message.result;
}

/** Answers a question: forms with their defaults, everything else with something fixed. */
function answerTo(question) {
  if (question.method === "roots/list") return { roots: [{ uri: "file:///conformance", name: "conformance" }] };
  if (question.method === "sampling/createMessage") {
    return { role: "assistant", model: "conformance-model", content: { type: "text", text: "sampled" } };
  }
  const made = { boolean: true, integer: 1, number: 1, array: [] };
  const fields = Object.entries(question.params.requestedSchema?.properties ?? {});
  const content = fields.map(([key, field]) => [key, field.default ?? made[field.type] ?? "text"]);
  return { action: "accept", content: Object.fromEntries(content) };
}

// The modern era: each request by itself.

/** A header's value as it may be sent: plain, or base64 where it would not survive. */
function encoded(value) {
  const text = String(value);
  const isPlain = /^[\x20-\x7e]*$/.test(text) && text === text.trim() && !text.startsWith("=?base64?");
  return isPlain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

/** The headers that repeat arguments which the tool's schema marks. */
function mirrored(tool, args) {
  const marked = Object.entries(tool?.inputSchema.properties ?? {}).filter(([, field]) => field["x-mcp-header"]);
  const given = marked.filter(([key]) => args?.[key] !== undefined && args[key] !== null);
  return Object.fromEntries(given.map(([key, field]) => [`Mcp-Param-${field["x-mcp-header"]}`, encoded(args[key])]));
}

class Modern {
  constructor(address) {
    this.address = address;
  }

  async start() {
    return (await this.request("server/discover", {})).capabilities;
  }

  /** Sends a request, and again with the answers as long as it is asked something. */
  async request(method, params, tool) {
    let more = {};
    for (let round = 0; round < 8; round += 1) {
      const result = await this.once(method, { ...params, ...more }, tool);
      if (result.resultType !== "input_required") return result;
      const asked = Object.entries(result.inputRequests ?? {});
      more = { inputResponses: Object.fromEntries(asked.map(([key, question]) => [key, answerTo(question)])) };
      if (result.requestState !== undefined) more.requestState = result.requestState;
    }
    throw new Error(`${method}: no end of questions`);
  }

  async once(method, params, tool) {
    const _meta = {
      [`${META}protocolVersion`]: MODERN,
      [`${META}clientInfo`]: CLIENT,
      [`${META}clientCapabilities`]: CAPABILITIES,
    };
    const id = (lastId += 1);
    const name = params.name ?? params.uri;
    const headers = {
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "Mcp-Protocol-Version": MODERN,
      "Mcp-Method": method,
      ...(name === undefined ? {} : { "Mcp-Name": encoded(name) }),
      ...mirrored(tool, params.arguments),
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
    const answer = await fetch(this.address, { method: "POST", headers, body });
    if (!isEvents(answer)) return resultOf(await answer.json(), method);
    for await (const event of events(answer)) {
      const message = event.data ? JSON.parse(event.data) : {};
      if (message.id === id) return resultOf(message, method);
    }
    throw new Error(`${method}: the stream ended without an answer`);
  }

  async stop() {}
}

// The legacy era: a session, questions as requests, and streams that are resumed.

class Legacy {
  constructor(address) {
    this.address = address;
    this.headers = { accept: "application/json, text/event-stream", authorization: `Bearer ${token}` };
  }

  async start() {
    const params = { protocolVersion: LEGACY, capabilities: CAPABILITIES, clientInfo: CLIENT };
    const greeting = await this.request("initialize", params);
    this.headers["Mcp-Protocol-Version"] = greeting.protocolVersion;
    await this.post({ method: "notifications/initialized" });
    this.listening = this.listen();
    return greeting.capabilities;
  }

  async post(message) {
    const headers = { ...this.headers, "content-type": "application/json" };
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    const answer = await fetch(this.address, { method: "POST", headers, body });
    const session = answer.headers.get("mcp-session-id");
    if (session) this.headers["Mcp-Session-Id"] = session;
    return answer;
  }

  /** Answers what is asked outside of a call. Not every server offers such a stream. */
  async listen() {
    this.hangUp = new AbortController();
    try {
      const answer = await fetch(this.address, { headers: this.headers, signal: this.hangUp.signal });
      if (!isEvents(answer)) return;
      for await (const event of events(answer)) await this.answerIfAsked(event.data ? JSON.parse(event.data) : {});
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  }

  async answerIfAsked(message) {
    if (message.method && message.id !== undefined) await this.post({ id: message.id, result: answerTo(message) });
  }

  async request(method, params) {
    const id = (lastId += 1);
    let answer = await this.post({ id, method, params });
    if (!isEvents(answer)) return resultOf(await answer.json(), method);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      let [last, pause] = [undefined, 1000];
      for await (const event of events(answer)) {
        last = event.id ?? last;
        pause = event.retry === undefined ? pause : Number(event.retry);
        const message = event.data ? JSON.parse(event.data) : {};
        if (message.id === id && !message.method) return resultOf(message, method);
        await this.answerIfAsked(message);
      }
      if (last === undefined) break;
      await new Promise((go) => setTimeout(go, pause));
      answer = await fetch(this.address, { headers: { ...this.headers, "Last-Event-ID": last } });
    }
    throw new Error(`${method}: the stream ended without an answer`);
  }

  async stop() {
    this.hangUp.abort();
    await this.listening;
    await fetch(this.address, { method: "DELETE", headers: this.headers });
  }
}

// What is done.

/** Whether a tool's marks are fit for headers; what a client of the modern era must not call otherwise. */
function isFit(tool) {
  const marked = Object.values(tool.inputSchema.properties ?? {}).filter((field) => "x-mcp-header" in field);
  const names = marked.map((field) => String(field["x-mcp-header"]).toLowerCase());
  const isName = (name) => /^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name);
  const isPlain = (field) => ["string", "integer", "boolean"].includes(field.type);
  return marked.every(isPlain) && names.every(isName) && new Set(names).size === names.length;
}

/** Arguments that a tool's schema allows. */
function invented(tool) {
  const made = { string: "text", integer: 2, number: 2, boolean: true, array: [], object: {} };
  const fields = Object.entries(tool.inputSchema.properties ?? {});
  return Object.fromEntries(fields.map(([key, field]) => [key, made[field.type] ?? "text"]));
}

async function main() {
  const address = await register();
  const client = era === "modern" ? new Modern(address) : new Legacy(address);
  const offers = await client.start();
  const listed = (await client.request("tools/list", {})).tools;
  // Everywhere else it is the gateway that speaks to the suite's server, and has to look.
  const tools = era === "modern" && endpoint === "server" ? listed.filter(isFit) : listed;
  const calls = context.toolCalls ?? tools.map((tool) => ({ name: tool.name, arguments: invented(tool) }));
  for (const call of calls) {
    const { name, arguments: args } = call;
    await client.request("tools/call", { name, arguments: args }, tools.find((tool) => tool.name === name));
  }
  if (offers.resources) {
    const { resources } = await client.request("resources/list", {});
    for (const { uri } of resources) await client.request("resources/read", { uri });
  }
  if (offers.prompts) {
    const { prompts } = await client.request("prompts/list", {});
    for (const { name } of prompts) await client.request("prompts/get", { name });
  }
  await client.stop();
}

// What takes longer does not end by itself. Long enough for a machine that runs many such conversations at once.
setTimeout(() => {
  console.error("the conversation did not end");
  process.exit(1);
}, 25_000);

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
