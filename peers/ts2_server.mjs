// A server on the TypeScript SDK 2.x, with one tool of each kind that matters to a gateway.
//
// Usage: PORT=0 node ts2_server.mjs [modern|both]
// Prints "listening on 127.0.0.1:<port>" once it accepts connections. With PORT=0 the system picks a free port.
// "modern" speaks 2026-07-28 only; "both" answers older clients too, without sessions.

import http from "node:http";
import { Readable } from "node:stream";

import { McpServer, ResourceTemplate, createMcpHandler, inputRequired } from "@modelcontextprotocol/server";
import { z } from "zod";

const says = (text) => ({ content: [{ type: "text", text }] });

function make() {
  const server = new McpServer({ name: "ts2-peer", version: "2.1.0" });
  const takesTwo = z.object({ a: z.number(), b: z.number() });
  server.registerTool("add", { description: "Adds two numbers.", inputSchema: takesTwo }, ({ a, b }) => says(`${a + b}`));
  server.registerTool(
    "echo",
    { description: "Says it again.", inputSchema: z.object({ message: z.string() }) },
    ({ message }) => says(message),
  );
  server.registerTool(
    "count",
    { description: "Counts, and reports each step.", inputSchema: z.object({ to: z.number() }) },
    async ({ to }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (let step = 1; progressToken !== undefined && step <= to; step += 1) {
        const params = { progressToken, progress: step, total: to };
        await mcpReq.notify({ method: "notifications/progress", params });
      }
      return says(`counted to ${to}`);
    },
  );
  server.registerTool("ask", { description: "Asks the user.", inputSchema: z.object({}) }, (_, { mcpReq }) => {
    const answer = mcpReq.inputResponses?.colour;
    if (answer) return says(`the user said ${JSON.stringify(answer)}`);
    const requestedSchema = { type: "object", properties: { colour: { type: "string" } } };
    const colour = inputRequired.elicit({ message: "Which colour?", requestedSchema });
    return inputRequired({ inputRequests: { colour } });
  });
  server.registerPrompt(
    "review",
    { description: "Asks for a review.", argsSchema: z.object({ code: z.string() }) },
    ({ code }) => ({ messages: [{ role: "user", content: { type: "text", text: `Review this: ${code}` } }] }),
  );
  server.registerResource("greeting", "peer://greeting", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, text: "hello from ts2" }],
  }));
  server.registerResource(
    "square",
    new ResourceTemplate("peer://square/{number}", { list: undefined }),
    { mimeType: "text/plain" },
    (uri, { number }) => ({ contents: [{ uri: uri.href, text: String(Number(number) ** 2) }] }),
  );
  return server;
}

const handler = createMcpHandler(make, { legacy: process.argv[2] === "modern" ? "reject" : "stateless" });

/** Carries a request of Node to the handler, which speaks the web's, and its answer back. */
async function serve(request, response) {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const answer = await handler.fetch(
    new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method,
      headers: request.headers,
      body: request.method === "POST" ? Readable.toWeb(request) : undefined,
      duplex: "half",
      signal: gone.signal,
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  for await (const piece of answer.body ?? []) response.write(piece);
  response.end();
}

const listener = http.createServer((request, response) => {
  serve(request, response).catch((error) => {
    if (!response.headersSent) response.writeHead(500);
    response.end();
    if (error.name !== "AbortError") console.error(error);
  });
});
listener.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  console.log(`listening on 127.0.0.1:${listener.address().port}`);
});
