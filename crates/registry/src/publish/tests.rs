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

#[tokio::test]
async fn what_others_wrote_forges_no_line_of_the_log() {
    let scene = Scene::start().await;
    let mut catalog = catalog::Catalog::clone(&scene.registry.catalog());
    let place = catalog::unreadable::Place::Other("tool a\nb".into());
    Arc::make_mut(&mut catalog.unreadable).insert(place, "\u{1b}[2K\nforged".into());
    let heard = Heard::default();
    tracing::subscriber::with_default(heard.clone(), || scene.registry.publish(catalog));
    let lines = heard.0.lock().unwrap().clone();
    assert!(lines.iter().any(|line| line.contains("forged")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.chars().any(char::is_control)), "{lines:?}");
}

/// Takes down each field of each event as a text log would show it.
#[derive(Clone, Default)]
struct Heard(Arc<std::sync::Mutex<Vec<String>>>);

impl tracing::field::Visit for Heard {
    fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        self.0.lock().unwrap().push(format!("{value:?}"));
    }
}

impl tracing::Subscriber for Heard {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
