//! Backends that act for their users: each is asked once, in their own browser, and nobody acts for another.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Authority, Client, LegacyBackend, ModernBackend};

use super::browser::Browser;
use super::{oauth, register};
use crate::app::{App, PATIENCE};
use crate::caller::Caller;
use crate::compose::row;

/// A backend that acts for its users, behind a server path and, once somebody is connected, a virtual server.
struct Scene {
    authority: Authority,
    backend: LegacyBackend,
    app: App,
}

impl Scene {
    async fn start() -> Self {
        let authority = Authority::start().await;
        let backend = LegacyBackend::start("mail").tool("send").await;
        let app = App::configured("[log]\nlevel = \"trace\"").await;
        let body = json!({ "path": "/mail", "proxy_pass_url": backend.url(), "is_enabled": true,
            "auth_scheme": "oauth_user", "oauth": oauth(&authority) });
        app.admin().send("POST /api/servers/register", body).await.expect(201);
        Self { authority, backend, app }
    }

    /// Has a caller connect as an account of the authorization server.
    async fn connect(&self, caller: &Caller, account: &str) {
        self.authority.set_account(account);
        let url = format!("{}/api/connect?server=%2Fmail", self.app.url);
        let page = Browser::default().connect(&self.app, &url, caller).await;
        assert_eq!(page.status, 200, "{}", page.text);
        assert!(page.text.contains("Connected"), "{}", page.text);
    }

    async fn compose(&self) {
        self.app.refresh("/mail").await;
        self.app.compose("v", &[row("send", "/mail", "")]).await;
    }

    fn modern(&self, path: &str, caller: &Caller) -> Client {
        self.app.modern(path, caller).capabilities(json!({ "elicitation": { "url": {} } }))
    }

    /// What calls were sent with.
    fn sent(&self) -> Vec<String> {
        self.backend.calls().iter().map(|seen| seen.header("authorization").to_owned()).collect()
    }
}

fn asked_url(result: &Value) -> String {
    assert_eq!(result["resultType"], "input_required", "{result}");
    let params = &result["inputRequests"]["switchyard.connect"]["params"];
    assert_eq!(params["mode"], "url");
    params["url"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_user_is_asked_and_then_acts_as_themselves() {
    let scene = Scene::start().await;
    let (alice, bob) = (scene.app.holder("alice", &[]).await, scene.app.holder("bob", &[]).await);
    let client = scene.modern("/mail", &alice);
    let url = asked_url(&client.call("send", json!({})).await);
    assert_eq!(url, format!("{}/api/connect?server=%2Fmail", scene.app.url));
    let page = Browser::default().connect(&scene.app, &url, &alice).await;
    assert_eq!(page.status, 200, "{}", page.text);
    let answers = json!({ "switchyard.connect": { "action": "accept" } });
    let again = json!({ "name": "send", "arguments": {}, "inputResponses": answers });
    let result = client.request("tools/call", again).await.result().await;
    assert!(result["content"].is_array(), "{result}");
    scene.compose().await;
    // Bob is asked on his own account, on each kind of endpoint and in each era.
    for path in ["/mail", "/virtual/v"] {
        asked_url(&scene.modern(path, &bob).call("send", json!({})).await);
        scene.modern(path, &alice).call("send", json!({})).await;
    }
    let mut legacy =
        scene.app.client("/virtual/v", &bob).capabilities(json!({ "elicitation": { "url": {} } }));
    legacy.initialize().await;
    let error = legacy.try_call("send", json!({})).await.error().await;
    assert_eq!(error["code"], -32042);
    assert_eq!(error["data"]["elicitations"][0]["url"], url);
    let mut plain = scene.app.client("/virtual/v", &bob);
    plain.initialize().await;
    let error = plain.try_call("send", json!({})).await.error().await;
    assert_eq!(error["code"], -32000);
    assert!(error["message"].as_str().unwrap().contains(&url), "{error}");
    // Who would not is not asked on and on.
    let no = json!({ "name": "send", "arguments": {}, "inputResponses": { "switchyard.connect": { "action": "decline" } } });
    let error = scene.modern("/mail", &bob).request("tools/call", no).await.error().await;
    assert_eq!(error["data"]["url"], url);
    scene.connect(&bob, "bobcat").await;
    legacy.call("send", json!({})).await;
    let sent = scene.sent();
    assert!(sent[..sent.len() - 1].iter().all(|token| token.ends_with("-octocat")), "{sent:?}");
    assert!(sent.last().unwrap().ends_with("-bobcat"), "{sent:?}");
}

#[tokio::test]
async fn a_modern_backend_is_no_different() {
    let authority = Authority::start().await;
    let backend = ModernBackend::start("mail").tool("send").await;
    let app = App::start().await;
    let body = json!({ "path": "/mail", "proxy_pass_url": backend.url(), "is_enabled": true,
        "auth_scheme": "oauth_user", "oauth": oauth(&authority) });
    app.admin().send("POST /api/servers/register", body).await.expect(201);
    let alice = app.holder("alice", &[]).await;
    let client = app.modern("/mail", &alice).capabilities(json!({ "elicitation": { "url": {} } }));
    let url = asked_url(&client.call("send", json!({})).await);
    assert_eq!(Browser::default().connect(&app, &url, &alice).await.status, 200);
    client.call("send", json!({})).await;
    app.refresh("/mail").await;
    let mut legacy =
        app.client("/mail", &app.reader().await).capabilities(json!({ "elicitation": { "url": {} } }));
    legacy.initialize().await;
    let error = legacy.try_call("send", json!({})).await.error().await;
    assert_eq!((&error["code"], &error["data"]["elicitations"][0]["url"]), (&json!(-32042), &json!(url)));
}

#[tokio::test]
async fn only_the_browser_that_began_connects_and_only_its_own_user() {
    let scene = Scene::start().await;
    let (alice, mallory) = (scene.app.holder("alice", &[]).await, scene.app.holder("mallory", &[]).await);
    let url = format!("{}/api/connect?server=%2Fmail", scene.app.url);
    let (mut hers, mut victims) = (Browser::default(), Browser::default());
    let page = hers.get(&url).await;
    assert!(page.headers["content-security-policy"].to_str().unwrap().contains("frame-ancestors 'none'"));
    let token = mallory.token.clone().unwrap();
    // A page of Mallory's that posts her form from another's browser.
    let posted = victims.send_form(&scene.app, &page, &token).await;
    assert_eq!(posted.status, 403, "{}", posted.text);
    victims.poses_as = Some("https://evil.example.com".into());
    let own = victims.get(&url).await;
    assert_eq!(victims.send_form(&scene.app, &own, &token).await.status, 403);
    // She begins and has another go on.
    let sent = hers.send_form(&scene.app, &page, &token).await;
    let back = victims.get(sent.location()).await.location().to_owned();
    assert_eq!(victims.get(&back).await.status, 403, "another browser began it");
    let forged = back.replace("state=", "state=x");
    assert_eq!(hers.get(&forged).await.status, 403);
    let elsewhere = back.replace("iss=http", "iss=https");
    let page = hers.get(&elsewhere).await;
    assert!(page.text.contains("another authorization server"), "{}", page.text);
    assert!(scene.authority.asked().is_empty(), "no code was shown to anybody");
    assert_eq!(hers.get(&back).await.status, 200);
    let listed = scene.app.admin().get("/api/connections?everybody=true").await.expect(200);
    assert_eq!(listed["total_count"], 1);
    assert_eq!(listed["connections"][0]["subject"], "mallory");
    for caller in [&alice, &scene.app.anonymous()] {
        let token = caller.token.clone().unwrap_or_default();
        let page = hers.get(&url).await;
        let status = hers.send_form(&scene.app, &page, &format!("{token}x")).await.status;
        assert_eq!(status, 401, "no token, no connection");
    }
    let missing = hers.get(&format!("{}/api/connect?server=%2Fnone", scene.app.url)).await;
    assert_eq!(missing.status, 404);
}

#[tokio::test]
async fn a_connection_is_renewed_kept_and_taken_back() {
    let mut scene = Scene::start().await;
    scene.authority.set_life(7);
    let (alice, bob) = (scene.app.holder("alice", &[]).await, scene.app.holder("bob", &[]).await);
    scene.connect(&alice, "octocat").await;
    let client = scene.modern("/mail", &alice);
    let renewals = |scene: &Scene| {
        let asked = scene.authority.asked();
        asked.iter().filter(|asked| asked.form["grant_type"] == "refresh_token").count()
    };
    let begun = Instant::now();
    while renewals(&scene) == 0 {
        let result = client.call("send", json!({})).await;
        assert!(result["content"].is_array(), "{result}");
        assert!(begun.elapsed() < PATIENCE, "it is renewed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    scene.authority.set_life(300);
    scene.app.restart().await;
    let client = scene.modern("/mail", &alice);
    assert!(client.call("send", json!({})).await["content"].is_array(), "a restart loses nothing");
    let listed = alice_s(&scene, &alice).await;
    assert_eq!(listed["connections"][0]["server"], "/mail");
    assert_eq!(listed["connections"][0]["is_renewable"], true);
    let id = listed["connections"][0]["id"].as_str().unwrap().to_owned();
    let delete = format!("DELETE /api/connections/{id}");
    Caller::new(scene.app.authority(), bob.token.as_deref()).send(&delete, Value::Null).await.expect(404);
    Caller::new(scene.app.authority(), bob.token.as_deref())
        .get("/api/connections?everybody=true")
        .await
        .expect(403);
    Caller::new(scene.app.authority(), alice.token.as_deref()).send(&delete, Value::Null).await.expect(204);
    asked_url(&client.call("send", json!({})).await);
    // Taken back at the authorization server, it is noticed with the next renewal.
    scene.authority.set_life(1);
    scene.connect(&alice, "octocat").await;
    scene.authority.forget_refresh_tokens();
    let begun = Instant::now();
    while client.call("send", json!({})).await["content"].is_array() {
        assert!(begun.elapsed() < PATIENCE, "it is over");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(alice_s(&scene, &alice).await["total_count"], 0);
    // And it goes with its server.
    scene.authority.set_life(300);
    scene.connect(&alice, "octocat").await;
    scene.app.admin().send("DELETE /api/servers/mail", Value::Null).await.expect(200);
    assert_eq!(alice_s(&scene, &alice).await["total_count"], 0);
}

async fn alice_s(scene: &Scene, alice: &Caller) -> Value {
    Caller::new(scene.app.authority(), alice.token.as_deref()).get("/api/connections").await.expect(200)
}

#[tokio::test]
async fn nothing_secret_of_a_connection_is_shown() {
    let scene = Scene::start().await;
    let alice = scene.app.holder("alice", &[]).await;
    scene.connect(&alice, "octocat").await;
    scene.compose().await;
    let client = scene.modern("/mail", &alice);
    client.call("send", json!({})).await;
    let mut shown = vec![scene.app.log()];
    for path in
        ["/api/connections?everybody=true", "/api/servers/mail", "/api/audit", "/metrics", "/api/health"]
    {
        shown.push(scene.app.admin().get(path).await.text);
    }
    for file in std::fs::read_dir(scene.app.data()).unwrap() {
        shown.push(String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()).into_owned());
    }
    let token = alice.token.clone().unwrap();
    for (index, text) in shown.iter().enumerate() {
        for secret in [super::SECRET, "-octocat", "code.octocat", &token] {
            assert!(!text.contains(secret), "{index}: {secret} in {text}");
        }
    }
    let trail = scene.app.admin().get("/api/audit?action=connection.create").await.expect(200);
    assert_eq!(
        (&trail["entries"][0]["actor"], &trail["entries"][0]["object"]),
        (&json!("alice"), &json!("/mail"))
    );
}

#[tokio::test]
async fn a_connection_is_for_the_place_it_was_made_for() {
    let scene = Scene::start().await;
    let alice = scene.app.holder("alice", &[]).await;
    scene.connect(&alice, "octocat").await;
    let client = scene.modern("/mail", &alice);
    client.call("send", json!({})).await;
    let other = LegacyBackend::start("other").tool("send").await;
    let moved = json!({ "proxy_pass_url": other.url() });
    scene.app.admin().send("PATCH /api/servers/mail", moved).await.expect(200);
    asked_url(&client.call("send", json!({})).await);
    assert!(
        other.seen().iter().all(|seen| seen.header("authorization").is_empty()),
        "nothing went elsewhere"
    );
    // A secret is shown to nobody whom the backend names.
    let bad = json!({ "auth_scheme": "oauth_user", "oauth": { "client_id": "a", "client_secret": "b" } });
    scene.app.admin().send("PATCH /api/servers/mail", bad).await.expect(422);
    register(&scene.app, "/open", &other.url(), "oauth_client_credentials", oauth(&scene.authority)).await;
    let url = format!("{}/api/connect?server=%2Fopen", scene.app.url);
    assert_eq!(Browser::default().get(&url).await.status, 422, "its users are asked for nothing");
}
