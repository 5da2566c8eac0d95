// A client made with the TypeScript SDK: connects, lists everything, does what it is told, prints one JSON line.
//
// Usage: node ts_client.mjs URL TOKEN [PLAN]
// PLAN is a JSON object, each member optional: {"tool", "arguments", "prompt", "prompt_arguments", "resource",
// "transport": "sse" for HTTP+SSE}.
// TOKEN may be "-" for none. Exit status 1 and a message on stderr when anything fails.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

import { answer, counted, headers, plan, run, url } from "./peer.mjs";

function answerQuestions(client) {
  client.setRequestHandler(CreateMessageRequestSchema, async () => answer("sampling/createMessage"));
  client.setRequestHandler(ElicitRequestSchema, async () => answer("elicitation/create"));
  client.setRequestHandler(ListRootsRequestSchema, async () => answer("roots/list"));
}

/** Reads all pages of one list; a server without that kind of item has none. */
async function all(offered, list, member) {
  const items = [];
  let cursor;
  while (offered) {
    const page = await list(cursor ? { cursor } : undefined);
    items.push(...page[member]);
    cursor = page.nextCursor;
    if (!cursor) break;
  }
  return items;
}

async function converse() {
  const client = new Client(
    { name: "ts-peer", version: "1.0.0" },
    { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
  );
  answerQuestions(client);
  const Transport = plan.transport === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
  const transport = new Transport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  await client.ping();
  const offers = client.getServerCapabilities() ?? {};
  const seen = {
    protocol: transport.protocolVersion,
    server: client.getServerVersion(),
    session: transport.sessionId ?? null,
    tools: (await all(offers.tools, (p) => client.listTools(p), "tools")).map((tool) => tool.name),
    prompts: (await all(offers.prompts, (p) => client.listPrompts(p), "prompts")).map((prompt) => prompt.name),
    resources: (await all(offers.resources, (p) => client.listResources(p), "resources")).map((item) => item.uri),
    templates: (await all(offers.resources, (p) => client.listResourceTemplates(p), "resourceTemplates")).map((item) => item.uriTemplate),
  };
  if (plan.tool) {
    const call = { name: plan.tool, arguments: plan.arguments ?? {} };
    seen.called = await client.callTool(call, undefined, { onprogress: () => (counted.progress += 1), timeout: 30_000 });
  }
  if (plan.prompt) seen.prompt = await client.getPrompt({ name: plan.prompt, arguments: plan.prompt_arguments ?? {} });
  if (plan.resource) seen.resource = await client.readResource({ uri: plan.resource });
  await transport.terminateSession?.();
  await client.close();
  return seen;
}

run(converse);
