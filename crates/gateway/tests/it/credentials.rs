//! Credentials to backends that an authorization server gives: to the gateway, and for its callers.

mod browser;
mod keys;
mod provider;
mod users;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Authority, LegacyBackend, ModernBackend};

use crate::app::{App, PATIENCE};
use crate::compose::row;

/// What nobody may ever be shown.
const SECRET: &str = "cl13nt-s3cret";

fn oauth(authority: &Authority) -> Value {
    json!({ "issuer": authority.issuer(), "client_id": "gateway", "client_secret": SECRET, "scope": "mcp" })
}

async fn register(app: &App, path: &str, url: &str, scheme: &str, oauth: Value) {
    let body = json!({ "path": path, "proxy_pass_url": url, "is_enabled": true, "auth_scheme": scheme,
        "oauth": oauth });
    let made = app.admin().send("POST /api/servers/register", body).await.expect(201);
    assert_eq!(made["auth_scheme"], scheme);
    assert_eq!(made["has_credentials"], true);
    app.refresh(path).await;
}

#[tokio::test]
async fn the_gateway_gets_a_token_and_all_calls_share_it() {
    let authority = Authority::start().await;
    let legacy = LegacyBackend::start("legacy").tool("search").bearer("token-1-gateway").await;
    let modern = ModernBackend::start("modern").tool("find").bearer("token-2-gateway").await;
    let app = App::start().await;
    register(&app, "/legacy", &legacy.url(), "oauth_client_credentials", oauth(&authority)).await;
    register(&app, "/modern", &modern.url(), "oauth_client_credentials", oauth(&authority)).await;
    app.compose("v", &[row("search", "/legacy", ""), row("find", "/modern", "")]).await;
    for (path, tools) in
        [("/legacy", vec!["search"]), ("/modern", vec!["find"]), ("/virtual/v", vec!["search", "find"])]
    {
        for caller in [app.reader().await, app.holder("bob", &[]).await] {
            let mut client = app.client(path, &caller);
            client.initialize().await;
            for tool in &tools {
                client.call(tool, json!({})).await;
                app.modern(path, &caller).call(tool, json!({})).await;
            }
        }
    }
    let asked = authority.asked();
    assert_eq!(asked.len(), 2, "one for each server: {asked:?}");
    assert_eq!(asked[0].form["grant_type"], "client_credentials");
    assert_eq!(asked[0].form["scope"], "mcp");
}

#[tokio::test]
async fn who_the_gateway_is_there_is_shown_to_nobody() {
    let authority = Authority::start().await;
    let backend = LegacyBackend::start("a").tool("search").await;
    let mut app = App::configured("[log]\nlevel = \"trace\"").await;
    register(&app, "/a", &backend.url(), "oauth_client_credentials", oauth(&authority)).await;
    authority
        .refuse(Some((400, r#"{"error":"invalid_client","error_description":"cl13nt-s3cret is wrong"}"#)));
    let body = json!({ "path": "/b", "proxy_pass_url": backend.url(), "is_enabled": true,
        "auth_scheme": "oauth_client_credentials", "oauth": oauth(&authority) });
    app.admin().send("POST /api/servers/register", body).await.expect(201);
    let unread = app.admin().send("POST /api/servers/b/refresh", json!({})).await;
    assert!(unread.text.contains("the authorization server refused: invalid_client"), "{}", unread.text);
    let client = app.client("/b", &app.reader().await);
    let refused = client.try_initialize().await.error().await.to_string();
    let broken = json!({ "auth_scheme": "oauth_client_credentials",
        "oauth": { "issuer": "x", "client_id": [SECRET], "client_secret": format!("{SECRET}\n") } });
    let mut shown = vec![refused, unread.text, app.admin().send("PATCH /api/servers/a", broken).await.text];
    for path in
        ["/api/servers", "/api/servers/a", "/api/servers/a/versions", "/api/audit", "/v0/servers", "/metrics"]
    {
        shown.push(app.admin().get(path).await.text);
    }
    shown.push(app.log());
    for file in std::fs::read_dir(app.data()).unwrap() {
        shown.push(String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()).into_owned());
    }
    for (index, text) in shown.iter().enumerate() {
        assert!(!text.contains(SECRET), "{index}: {text}");
        assert!(!text.contains("token-1-gateway"), "{index}: {text}");
    }
    // It is not lost by a restart either, and another place does not get it.
    authority.refuse(None);
    app.restart().await;
    app.visit("/a").await.call("search", json!({})).await;
    let moved = json!({ "auth_scheme": "oauth_client_credentials",
        "oauth": { "token_url": "http://127.0.0.1:1/token" } });
    let answer = app.admin().send("PATCH /api/servers/a", moved).await.expect(422);
    assert!(answer.to_string().contains("must have client_id"), "{answer}");
    let same =
        json!({ "auth_scheme": "oauth_client_credentials", "oauth": { "issuer": authority.issuer() } });
    let kept = app.admin().send("PATCH /api/servers/a", same).await.expect(200);
    assert_eq!(kept["oauth"], json!({ "issuer": format!("{}/", authority.issuer()) }));
    let none = app.admin().send("PATCH /api/servers/a", json!({ "auth_scheme": "none" })).await.expect(200);
    assert_eq!((&none["auth_scheme"], &none["oauth"]), (&json!("none"), &Value::Null));
}

#[tokio::test]
async fn an_authorization_server_that_is_down_fails_only_what_needs_it() {
    let authority = Authority::start().await;
    let guarded = LegacyBackend::start("guarded").tool("search").await;
    let open = LegacyBackend::start("open").tool("find").await;
    let app = App::start().await;
    register(&app, "/guarded", &guarded.url(), "oauth_client_credentials", oauth(&authority)).await;
    app.serve("/open", &open.url()).await;
    app.compose("v", &[row("search", "/guarded", ""), row("find", "/open", "")]).await;
    authority.down().await;
    let client = app.visit("/virtual/v").await;
    client.call("search", json!({})).await;
    // A token that is good does not need the server; a place that has none does.
    let other = json!({ "auth_scheme": "oauth_client_credentials",
        "oauth": { "issuer": authority.issuer(), "client_id": "other", "client_secret": SECRET } });
    app.admin().send("PATCH /api/servers/guarded", other).await.expect(200);
    let error = client.try_call("search", json!({})).await.error().await;
    assert_eq!(error["code"], -32000);
    assert_eq!(error["message"], "No credentials for backend server: /guarded");
    assert_eq!(error["data"]["server"], "/guarded");
    let reason = error["data"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("the authorization server failed: "), "{reason}");
    client.call("find", json!({})).await;
    authority.up().await;
    let begun = Instant::now();
    while client.try_call("search", json!({})).await.json().await.get("error").is_some() {
        assert!(begun.elapsed() < PATIENCE, "it comes back");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_token_that_a_backend_refuses_is_replaced_and_the_call_runs_once() {
    let authority = Authority::start().await;
    let backend = LegacyBackend::start("a").tool("search").await;
    let app = App::start().await;
    register(&app, "/a", &backend.url(), "oauth_client_credentials", oauth(&authority)).await;
    app.compose("v", &[row("search", "/a", "")]).await;
    for (path, token) in [("/a", "token-2-gateway"), ("/virtual/v", "token-3-gateway")] {
        let client = app.visit(path).await;
        let tokens = authority.asked().len();
        // As when the backend or its authorization server starts anew.
        backend.set(|script| script.bearer = Some(token.into()));
        backend.forget_history();
        if path == "/virtual/v" {
            // What replaced another is itself replaced only after a while.
            tokio::time::sleep(Duration::from_millis(5_100)).await;
        }
        client.call("search", json!({})).await;
        assert_eq!(backend.runs("search"), 1);
        assert_eq!(authority.asked().len(), tokens + 1);
    }
    backend.set(|script| script.bearer = Some("none".into()));
    let client = app.client("/a", &app.reader().await);
    let error = client.try_initialize().await.error().await;
    assert_eq!(error["message"], "Backend server refused the gateway's credentials: /a");
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let authority = Authority::start().await;
    authority.set_life(2);
    let backend = LegacyBackend::start("a").tool("search").await;
    let app = App::start().await;
    register(&app, "/a", &backend.url(), "oauth_client_credentials", oauth(&authority)).await;
    let client = app.visit("/a").await;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        client.call("search", json!({})).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let asked = authority.asked().len();
    assert!((3..=5).contains(&asked), "{asked} in five seconds");
}

#[tokio::test]
async fn each_caller_s_token_is_exchanged_and_none_is_shared() {
    let authority = Authority::start().await;
    let backend = LegacyBackend::start("a").tool("search").await;
    let app = App::start().await;
    register(&app, "/a", &backend.url(), "oauth_token_exchange", oauth(&authority)).await;
    app.compose("v", &[row("search", "/a", "")]).await;
    backend.forget_history();
    let (alice, bob) = (app.holder("alice", &[]).await, app.holder("bob", &[]).await);
    for path in ["/a", "/virtual/v"] {
        for caller in [&alice, &bob] {
            let mut client = app.client(path, caller);
            client.initialize().await;
            client.call("search", json!({})).await;
            client.call("search", json!({})).await;
            app.modern(path, caller).call("search", json!({})).await;
        }
    }
    let exchanged: Vec<_> =
        authority.asked().into_iter().filter(|asked| asked.form.contains_key("subject_token")).collect();
    assert_eq!(exchanged.len(), 2, "one for each caller");
    for (caller, asked) in [&alice, &bob].iter().zip(&exchanged) {
        assert_eq!(asked.form["subject_token"], *caller.token.as_ref().unwrap());
        assert_eq!(asked.form["subject_token_type"], "urn:ietf:params:oauth:token-type:access_token");
    }
    for seen in backend.calls() {
        let sent = seen.header("authorization");
        // The stub's tokens end with what they were given for; a real one's do not.
        let holders = [&alice, &bob].map(|caller| sent.ends_with(caller.token.as_ref().unwrap()));
        assert!(holders[0] != holders[1], "{sent}");
        assert!(sent.starts_with("Bearer token-"), "never the caller's own: {sent}");
    }
    assert_eq!(backend.calls().len(), 12);
    // An anonymous caller has nothing to exchange; what the gateway asks for itself is its own.
    let probes = authority.asked().len() - exchanged.len();
    assert_eq!(probes, 1);
}
