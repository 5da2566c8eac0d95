// A real identity provider for the tests (npm oidc-provider): OpenID Connect with resource indicators, signed and opaque
// access tokens, registration of clients, and a person who signs in and consents to everything.
//
// Usage: PORT=0 node oidc_provider.mjs     prints "listening on 127.0.0.1:<port>"
// The client "robot", secret "robot-secret", may use the client credentials grant and introspect.
//
// POST /test sets, each member optional:
//   {"rotate": "new key's id", "keep": false}  signs with a fresh key, and withdraws the ones before
//   {"clock": seconds}                         how far its clock is ahead of the world's
//   {"claims": {…}, "head": {…}}               put into each signed token; null takes one out
//   {"format": "opaque"}                       what tokens are made from now on; "jwt" at first
//   {"life": seconds}                          how long they live; 300 at first
//   {"site": url}                              where the client "site", secret "site-secret", has people come back to:
//                                              <url>/login/callback, and <url>/login?choose=1 when they signed out

import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";

import Provider, { interactionPolicy } from "oidc-provider";

const SCOPES = "mcp-access github-read github-write";
const ACCOUNT = "alice";
const GROUPS = ["developers"];

const settings = { claims: {}, head: {}, format: "jwt", life: 300, site: "http://127.0.0.1:1" };
let keys = [newKey("first")];
let answer;

// What it takes for now; its library reads the clock nowhere else.
const worldNow = Date.now;
let ahead = 0;
Date.now = () => worldNow() + ahead * 1000;

function newKey(kid) {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "ES256" };
}

/** Sets members, takes out those that are null. */
function changed(object, members) {
  for (const [name, value] of Object.entries(members)) {
    if (value === null) delete object[name];
    else object[name] = value;
  }
}

function configuration() {
  return {
    jwks: { keys },
    clients: [
      {
        client_id: "robot",
        client_secret: "robot-secret",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: "site",
        client_secret: "site-secret",
        redirect_uris: [`${settings.site}/login/callback`],
        post_logout_redirect_uris: [`${settings.site}/login?choose=1`],
      },
    ],
    clientDefaults: { application_type: "native", id_token_signed_response_alg: "ES256" },
    enabledJWA: {
      idTokenSigningAlgValues: ["ES256"],
      introspectionSigningAlgValues: ["ES256"],
      userinfoSigningAlgValues: ["ES256"],
      authorizationSigningAlgValues: ["ES256"],
    },
    claims: { openid: ["sub"], profile: ["groups"] },
    cookies: { keys: ["of a test"] },
    // Clients register with the scopes they want first, and may want others later.
    extraClientMetadata: { properties: ["any_scope"], validator: (_, __, ___, metadata) => void delete metadata.scope },
    extraTokenClaims: () => ({ groups: GROUPS }),
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: GROUPS }) }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: SCOPES,
          audience: resource,
          accessTokenTTL: settings.life,
          accessTokenFormat: settings.format,
          jwt: { sign: { alg: "ES256", kid: keys[0].kid } },
        }),
      },
    },
    formats: {
      customizers: {
        jwt: (_, __, token) => {
          changed(token.payload, settings.claims);
          token.header = { ...token.header, ...settings.head };
        },
      },
    },
    interactions: { policy: interactionPolicy.base(), url: (_, interaction) => `/sign-in/${interaction.uid}` },
    scopes: ["openid", "offline_access", ...SCOPES.split(" ")],
    ttl: { AccessToken: 300, ClientCredentials: () => settings.life },
  };
}

/** Signs Alice in and consents to what was asked, as a page with two buttons would. */
async function signIn(provider, request, response) {
  const details = await provider.interactionDetails(request, response);
  const grant = details.grantId
    ? await provider.Grant.find(details.grantId)
    : new provider.Grant({ accountId: ACCOUNT, clientId: details.params.client_id });
  const missing = details.prompt.details;
  if (missing.missingOIDCScope) grant.addOIDCScope(missing.missingOIDCScope.join(" "));
  for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(" "));
  }
  const consent = { grantId: await grant.save() };
  const result = details.prompt.name === "login" ? { login: { accountId: ACCOUNT } } : { consent };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}

function start(issuer) {
  const provider = new Provider(issuer, configuration());
  const serve = provider.callback();
  answer = (request, response) =>
    request.url.startsWith("/sign-in/") ? signIn(provider, request, response) : serve(request, response);
}

async function set(request, issuer) {
  let text = "";
  for await (const part of request) text += part;
  const { rotate, keep, clock, claims, head, format, life, site } = JSON.parse(text);
  if (rotate) keys = [newKey(rotate), ...(keep ? keys : [])];
  if (clock !== undefined) ahead = clock;
  Object.assign(settings, Object.fromEntries(Object.entries({ claims, head, format, life, site }).filter(([, value]) => value !== undefined)));
  start(issuer);
}

const server = createServer(async (request, response) => {
  try {
    if (request.url === "/test") {
      await set(request, issuer);
      response.end("{}");
    } else {
      await answer(request, response);
    }
  } catch (error) {
    console.error(error);
    response.statusCode = 500;
    response.end();
  }
});

let issuer;
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  start(issuer);
  console.log(`listening on 127.0.0.1:${server.address().port}`);
});
