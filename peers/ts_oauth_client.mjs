// A client made with the TypeScript SDK that has no token: it finds the authorization server, registers, signs in in a
// browser (played here), calls a tool, and asks for more scopes when a tool needs them. Prints one JSON line.
//
// Usage: node ts_oauth_client.mjs URL - PLAN     PLAN: {"tools": ["first", "second"]}

import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { browse } from "./browser.mjs";
import { plan, run, url } from "./peer.mjs";

const REDIRECT = "http://127.0.0.1:1/callback";

/** Keeps what the SDK wants kept, and counts how often somebody was sent to sign in. */
class Keeper {
  scopes = [];
  redirectUrl = REDIRECT;
  clientMetadata = {
    client_name: "ts-peer",
    redirect_uris: [REDIRECT],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  clientInformation = () => this.client;
  saveClientInformation = (client) => void (this.client = client);
  tokens = () => this.kept;
  saveTokens = (tokens) => void (this.kept = tokens);
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier) => void (this.verifier = verifier);
  redirectToAuthorization = async (where) => {
    this.scopes.push(where.searchParams.get("scope"));
    this.code = (await browse(where, REDIRECT)).get("code");
  };
}

async function converse() {
  const keeper = new Keeper();
  let transport;
  let client;
  const connect = async () => {
    transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: keeper });
    client = new Client({ name: "ts-peer", version: "1.0.0" });
    await client.connect(transport);
  };
  /** Does something; where the SDK says that somebody has to sign in first, finishes that and does it again. */
  const signedIn = async (act) => {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      await transport.finishAuth(keeper.code);
      return act();
    }
  };
  await signedIn(connect);
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const called = [];
  for (const name of plan.tools) {
    called.push(await signedIn(() => client.callTool({ name, arguments: {} })));
  }
  const after = (await client.listTools()).tools.map((tool) => tool.name);
  await client.close();
  return { tools, called, after, scopes: keeper.scopes };
}

run(converse);
