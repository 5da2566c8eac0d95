//! What another node writes.

use std::sync::Arc;

use catalog::access::Group;
use serde_json::json;
use store::change::{Change, Edit};

use crate::scene::Scene;

#[tokio::test]
async fn what_another_node_writes_is_published() {
    let scene = Scene::start().await;
    let group = Group { name: "theirs".into(), description: String::new(), scopes: Vec::new(), revision: 1 };
    let change = Change::new(vec![Edit::PutGroup(Arc::new(group))]);
    let revision = scene.registry.parts.store.apply(change).await.unwrap();
    scene.until("GET /api/health", |_| scene.registry.catalog().revision == revision).await;
    assert_eq!(scene.registry.parts.live.full().revision, revision);
    assert!(scene.registry.catalog().groups.contains_key("theirs"));
}

#[tokio::test]
async fn what_cannot_be_routed_is_told() {
    let scene = Scene::start().await;
    let backend = testkit::LegacyBackend::start("one").tool("echo").await;
    scene.register("/a", &backend.url()).await;
    let row = json!({ "tool_name": "echo", "backend_server_path": "/a" });
    let body =
        json!({ "server_name": "dev", "path": "/virtual/dev", "tool_mappings": [row], "is_enabled": true });
    scene.admin("POST /api/virtual-servers", body).await.expect(201);
    let removed = scene.admin("DELETE /api/servers/a", serde_json::Value::Null).await.expect(200);
    assert_eq!(removed["virtual_servers"], json!(["/virtual/dev"]));
    let board = scene.admin("GET /api/health", serde_json::Value::Null).await.expect(200);
    assert!(board["left_out"][0]["what"].as_str().is_some_and(|what| what.contains("dev")), "{board}");
}
