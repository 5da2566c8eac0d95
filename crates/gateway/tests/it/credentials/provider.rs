//! A real authorization server, of the peers, gives tokens to the gateway and asks its users.

use serde_json::{Value, json};
use testkit::LegacyBackend;

use super::browser::Browser;
use crate::app::App;
use crate::caller::Caller;
use crate::identity::provider::Provider;

#[tokio::test]
async fn a_real_provider_gives_the_gateway_tokens_for_the_resource() {
    let Some(provider) = Provider::start().await else { return };
    let backend = LegacyBackend::start("a").tool("search").await;
    let app = App::start().await;
    let oauth = json!({ "issuer": provider.issuer, "client_id": "robot", "client_secret": "robot-secret",
        "resource": backend.url(), "scope": "github-read" });
    super::register(&app, "/a", &backend.url(), "oauth_client_credentials", oauth).await;
    app.visit("/a").await.call("search", json!({})).await;
    let claims = claims_of(backend.calls()[0].header("authorization"));
    assert_eq!((&claims["aud"], &claims["scope"]), (&json!(backend.url()), &json!("github-read")));
}

#[tokio::test]
async fn a_real_provider_asks_a_user_and_gives_tokens_for_them() {
    let Some(provider) = Provider::start().await else { return };
    let backend = LegacyBackend::start("mail").tool("send").await;
    let app = App::start().await;
    let authority = provider.issuer.strip_prefix("http://").unwrap();
    let client = json!({ "redirect_uris": [format!("{}/api/connect/callback", app.url)],
        "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "client_secret_basic" });
    let client = Caller::new(authority, None).send("POST /reg", client).await.expect(201);
    let body = json!({ "path": "/mail", "proxy_pass_url": backend.url(), "is_enabled": true, "auth_scheme": "oauth_user",
        "oauth": { "issuer": provider.issuer, "client_id": client["client_id"], "client_secret": client["client_secret"],
            "scope": "offline_access github-read" } });
    app.admin().send("POST /api/servers/register", body).await.expect(201);
    let caller = app.reader().await;
    let mut browser = Browser::default();
    let page = browser.get(&format!("{}/api/connect?server=%2Fmail", app.url)).await;
    let sent = browser.send_form(&app, &page, caller.token.as_ref().unwrap()).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    let page = browser.follow(sent.location(), &provider.issuer).await;
    assert!(page.status == 200 && page.text.contains("Connected"), "{} {}", page.status, page.text);
    let mut client = app.client("/mail", &caller);
    client.initialize().await;
    client.call("send", json!({})).await;
    let claims = claims_of(backend.calls()[0].header("authorization"));
    assert_eq!((&claims["sub"], &claims["aud"]), (&json!("alice"), &json!(backend.url())));
    let listed =
        Caller::new(app.authority(), caller.token.as_deref()).get("/api/connections").await.expect(200);
    assert_eq!(listed["connections"][0]["is_renewable"], true);
}

fn claims_of(header: &str) -> Value {
    use base64::Engine;
    let token = header.strip_prefix("Bearer ").unwrap();
    let claims = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}
