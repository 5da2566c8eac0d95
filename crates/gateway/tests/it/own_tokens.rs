//! Tokens that callers make for themselves: what they open, and how they end.

use serde_json::{Value, json};
use testkit::LegacyBackend;

use crate::app::App;
use crate::caller::Caller;

#[tokio::test]
async fn a_caller_makes_a_token_for_one_endpoint_and_revokes_it() {
    let backend = LegacyBackend::start("a").tool("search").await;
    let app = App::start().await;
    app.serve("/a", &backend.url()).await;
    app.serve("/b", &backend.url()).await;
    let guarded = json!({ "required_scopes": ["read"] });
    app.admin().send("PATCH /api/servers/a", guarded).await.expect(200);
    let ann = app.holder("ann", &["read"]).await;
    std::fs::write(app.folder().join("ann.token"), ann.token.as_deref().unwrap()).unwrap();
    let make = ["token", "issue", "--scope", "read", "--resource", "/a", "--token-file", "ann.token"];
    let ran = app.run(&make).await;
    assert_eq!(ran.status, 0, "{ran:?}");
    let bound = Caller::new(app.authority(), Some(ran.said.trim()));
    let mut client = app.client("/a", &bound);
    client.initialize().await;
    client.call("search", json!({})).await;
    assert_eq!(app.client("/b", &bound).try_initialize().await.status, 401);
    bound.get("/api/servers").await.expect(401);
    // More than she may herself is refused, and said so.
    let more = ["token", "issue", "--scope", "write", "--token-file", "ann.token"];
    let ran = app.run(&more).await;
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.complained.contains("ann does not hold these scopes: write"), "{ran:?}");
    let ran = app.run(&["token", "issue", "bob", "--token-file", "ann.token"]).await;
    assert!(ran.complained.contains("for themselves only"), "{ran:?}");
    let own = ann.get("/api/tokens").await.expect(200);
    assert_eq!(own["total_count"], 2);
    let listed = own["tokens"].as_array().unwrap().iter().find(|one| one["resource"] == "/a").unwrap();
    assert!(listed["last_used_at"].is_string(), "{listed}");
    let id = listed["id"].as_str().unwrap();
    assert_eq!(ann.send(&format!("DELETE /api/tokens/{id}"), Value::Null).await.status, 204);
    assert_eq!(client.try_call("search", json!({})).await.status, 401);
}

#[tokio::test]
async fn what_was_made_with_a_token_ends_with_it() {
    let backend = LegacyBackend::start("a").tool("search").await;
    let mut app = App::start().await;
    app.serve("/a", &backend.url()).await;
    let ann = app.holder("ann", &[]).await;
    let made = ann.send("POST /api/tokens", json!({})).await.expect(201);
    let second = Caller::new(app.authority(), made["token"].as_str());
    app.client("/a", &second).initialize().await;
    let first = made["made_with"].as_str().unwrap();
    app.admin().send(&format!("DELETE /api/tokens/{first}"), Value::Null).await;
    assert_eq!(app.client("/a", &second).try_initialize().await.status, 401);
    app.restart().await;
    let second = Caller::new(app.authority(), second.token.as_deref());
    assert_eq!(app.client("/a", &second).try_initialize().await.status, 401);
    let kept = app.admin().get("/api/tokens?subject=ann&include_revoked=true").await.expect(200);
    assert!(kept["tokens"][0]["last_used_at"].is_string(), "uses are kept over a restart: {kept}");
}
