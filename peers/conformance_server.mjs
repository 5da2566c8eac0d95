// A server on the TypeScript SDK 1.x that offers what the conformance suite asks of revisions up to 2025-11-25.
//
// Usage: PORT=0 node conformance_server.mjs
// Prints "listening on 127.0.0.1:<port>" once it accepts connections. With PORT=0 the system picks a free port.
// Every answer is a stream with event ids, and streams can be resumed.

import { randomUUID } from "node:crypto";
import http from "node:http";

import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";

const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
const SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const pause = (ms) => new Promise((go) => setTimeout(go, ms));
const text = (text) => ({ type: "text", text });
const image = { type: "image", data: PICTURE, mimeType: "image/png" };
const embedded = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });
const says = (...content) => ({ content });
const takes = (key) => ({ type: "object", properties: { [key]: { type: "string" } }, required: [key] });

const log = (extra, data) =>
  extra.sendNotification({ method: "notifications/message", params: { level: "info", logger: "fixture", data } });

const progress = (extra, done) => {
  const progressToken = extra._meta?.progressToken;
  const params = { progressToken, progress: done, total: 100 };
  return progressToken === undefined ? undefined : extra.sendNotification({ method: "notifications/progress", params });
};

async function elicit(extra, message, properties, required = []) {
  const params = { message, requestedSchema: { type: "object", properties, required } };
  const answer = await extra.sendRequest({ method: "elicitation/create", params }, types.ElicitResultSchema);
  return says(text(`action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`));
}

const titled = (...titles) => titles.map((title, index) => ({ const: `value${index + 1}`, title }));
const options = ["option1", "option2", "option3"];

/** Tools: what each does, and its schema where it takes something. */
const tools = {
  test_simple_text: [() => says(text("This is a simple text response for testing."))],
  test_image_content: [() => says(image)],
  test_audio_content: [() => says({ type: "audio", data: SOUND, mimeType: "audio/wav" })],
  test_embedded_resource: [
    () => says(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
  ],
  test_multiple_content_types: [
    () => {
      const data = JSON.stringify({ test: "data", value: 123 });
      const resource = embedded("test://mixed-content-resource", "application/json", data);
      return says(text("Multiple content types test:"), image, resource);
    },
  ],
  test_error_handling: [
    () => ({ isError: true, ...says(text("This tool intentionally returns an error for testing")) }),
  ],
  test_tool_with_logging: [
    async (_, extra) => {
      for (const step of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        await log(extra, step);
        await pause(50);
      }
      return says(text("Tool with logging executed successfully"));
    },
  ],
  test_tool_with_progress: [
    async (_, extra) => {
      for (const done of [0, 50, 100]) {
        await progress(extra, done);
        await pause(50);
      }
      return says(text("Tool with progress executed successfully"));
    },
  ],
  test_reconnection: [
    async (_, extra) => {
      extra.closeSSEStream?.();
      await pause(100);
      return says(text("The answer came after the stream was resumed"));
    },
  ],
  test_sampling: [
    async ({ prompt }, extra) => {
      const params = { messages: [{ role: "user", content: text(prompt) }], maxTokens: 100 };
      const question = { method: "sampling/createMessage", params };
      const answer = await extra.sendRequest(question, types.CreateMessageResultSchema);
      return says(text(`LLM response: ${answer.content.text}`));
    },
    takes("prompt"),
  ],
  test_elicitation: [
    ({ message }, extra) => {
      const field = (description) => ({ type: "string", description });
      const fields = { username: field("User's response"), email: field("User's email address") };
      return elicit(extra, message, fields, ["username", "email"]);
    },
    takes("message"),
  ],
  test_elicitation_sep1034_defaults: [
    (_, extra) =>
      elicit(extra, "Please review the form and its defaults", {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      }),
  ],
  test_elicitation_sep1330_enums: [
    (_, extra) =>
      elicit(extra, "Please choose from the lists", {
        untitledSingle: { type: "string", enum: options },
        titledSingle: { type: "string", oneOf: titled("First Option", "Second Option", "Third Option") },
        legacyEnum: {
          type: "string",
          enum: ["opt1", "opt2", "opt3"],
          enumNames: ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti: { type: "array", minItems: 1, maxItems: 3, items: { type: "string", enum: options } },
        titledMulti: {
          type: "array",
          minItems: 1,
          maxItems: 3,
          items: { anyOf: titled("First Choice", "Second Choice", "Third Choice") },
        },
      }),
  ],
  json_schema_2020_12_tool: [
    (args) => says(text(JSON.stringify(args))),
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
  ],
};

/** Prompts: what each says, and the names of its arguments. */
const prompts = {
  test_simple_prompt: [() => [text("This is a simple prompt for testing.")], []],
  test_prompt_with_arguments: [
    ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    ["arg1", "arg2"],
  ],
  test_prompt_with_embedded_resource: [
    ({ resourceUri }) => [
      embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
      text("Please process the embedded resource above."),
    ],
    ["resourceUri"],
  ],
  test_prompt_with_image: [() => [image, text("Please analyze the image above.")], []],
};

const resources = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: PICTURE },
  "test://watched-resource": { mimeType: "text/plain", text: "Watched resource content" },
};

function read(uri) {
  if (resources[uri]) return { contents: [{ uri, ...resources[uri] }] };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) throw new types.McpError(-32002, "Resource not found", { uri });
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, mimeType: "application/json", text: data }] };
}

function named(table, name) {
  if (!table[name]) throw new types.McpError(types.ErrorCode.InvalidParams, `unknown: ${name}`);
  return table[name];
}

function server() {
  const capabilities = {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    logging: {},
    completions: {},
  };
  const server = new Server({ name: "conformance-fixture", version: "1.0.0" }, { capabilities });
  const on = (schema, answer) => server.setRequestHandler(schema, answer);
  on(types.ListToolsRequestSchema, () => ({
    tools: Object.entries(tools).map(([name, [, schema]]) => ({
      name,
      description: `The test tool ${name}.`,
      inputSchema: schema ?? { type: "object", properties: {} },
    })),
  }));
  on(types.CallToolRequestSchema, ({ params }, extra) => named(tools, params.name)[0](params.arguments ?? {}, extra));
  on(types.ListPromptsRequestSchema, () => ({
    prompts: Object.entries(prompts).map(([name, [, names]]) => ({
      name,
      description: `The prompt ${name}.`,
      arguments: names.map((name) => ({ name, required: true })),
    })),
  }));
  on(types.GetPromptRequestSchema, ({ params }) => ({
    messages: named(prompts, params.name)[0](params.arguments ?? {}).map((content) => ({ role: "user", content })),
  }));
  on(types.ListResourcesRequestSchema, () => ({
    resources: Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, name: uri, mimeType })),
  }));
  on(types.ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" }],
  }));
  on(types.ReadResourceRequestSchema, ({ params }) => read(params.uri));
  on(types.SubscribeRequestSchema, () => ({}));
  on(types.UnsubscribeRequestSchema, () => ({}));
  on(types.SetLevelRequestSchema, () => ({}));
  on(types.CompleteRequestSchema, ({ params }) => ({
    completion: { values: [`${params.argument.value}-completed`], total: 1, hasMore: false },
  }));
  return server;
}

/** Keeps the events of one session, in order. */
function eventStore() {
  const kept = [];
  return {
    async storeEvent(stream, message) {
      kept.push({ stream, message });
      return String(kept.length);
    },
    async replayEventsAfter(last, { send }) {
      const { stream } = kept[Number(last) - 1];
      for (const [index, event] of kept.entries()) {
        const isMissed = index >= Number(last) && event.stream === stream && Object.keys(event.message).length > 0;
        if (isMissed) await send(String(index + 1), event.message);
      }
      return stream;
    },
  };
}

const sessions = new Map();

async function greet(allowedHosts) {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: eventStore(),
    retryInterval: 100,
    enableDnsRebindingProtection: true,
    allowedHosts,
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await server().connect(transport);
  return transport;
}

async function serve(request, response) {
  const id = request.headers["mcp-session-id"];
  if (id !== undefined && !sessions.has(id)) return response.writeHead(404).end();
  const { port } = listener.address();
  const transport = sessions.get(id) ?? (await greet([`127.0.0.1:${port}`, `localhost:${port}`]));
  await transport.handleRequest(request, response);
}

const listener = http.createServer((request, response) => {
  serve(request, response).catch((error) => {
    console.error(error);
    response.writeHead(500).end();
  });
});
listener.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  console.log(`listening on 127.0.0.1:${listener.address().port}`);
});
