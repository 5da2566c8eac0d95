//! The clock: it notices what nobody asked for, and asks no one it should not.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{LegacyBackend, ModernBackend};

use crate::Settings;
use crate::scene::Scene;

async fn with_fast_clock() -> Scene {
    Scene::start_with(Settings { probe_every: Duration::from_millis(100), ..Settings::default() }).await
}

#[tokio::test]
async fn a_changed_reported_version_is_noticed_on_the_clock() {
    let scene = with_fast_clock().await;
    let legacy = LegacyBackend::start("one").tool("echo").version("1.0.0").await;
    let modern = ModernBackend::start("two").tool("echo").version("1.0.0").await;
    scene.register("/legacy", &legacy.url()).await;
    scene.register("/modern", &modern.url()).await;
    legacy.set_version("1.0.1");
    modern.set_version("1.0.1");
    for what in ["GET /api/servers/legacy", "GET /api/servers/modern"] {
        let document = scene.until(what, |one| one["mcp_server_version"] == "1.0.1").await;
        assert_eq!(document["mcp_server_version_previous"], "1.0.0");
    }
    // Each greeting of a probe ends its session, or the backend would fill up.
    scene.until("GET /api/health", |_| legacy.asked("initialize").len() > 3).await;
    legacy.until("sessions are ended", |one| one.sessions().len() <= 1).await;
}

#[tokio::test]
async fn a_backend_that_goes_and_comes_back_shows_on_the_board() {
    let scene = with_fast_clock().await;
    let backend = LegacyBackend::start("one").tool("echo").await;
    scene.register("/a", &backend.url()).await;
    backend.down().await;
    let board = scene.until("GET /api/health", |one| one["servers"][0]["status"] == "unhealthy").await;
    assert!(board["servers"][0]["error"].as_str().is_some_and(|text| !text.is_empty()), "{board}");
    assert_eq!(board["summary"]["unhealthy"], 1);
    let server = scene.admin("GET /api/servers/a", Value::Null).await.expect(200);
    assert_eq!((&server["num_tools"], &server["health_status"]), (&json!(1), &json!("unhealthy")));
    assert!(scene.registry.parts.live.full().server("/a").is_some());
    backend.up().await;
    scene.until("GET /api/health", |one| one["servers"][0]["status"] == "healthy").await;
}

#[tokio::test]
async fn only_active_versions_of_enabled_servers_are_probed() {
    let scene = with_fast_clock().await;
    let active = LegacyBackend::start("active").tool("echo").await;
    let inactive = LegacyBackend::start("inactive").tool("echo").await;
    let disabled = LegacyBackend::start("disabled").tool("echo").await;
    scene.register("/a", &active.url()).await;
    scene.add_version("/a", "v2", &inactive.url()).await;
    scene.register("/b", &disabled.url()).await;
    scene.admin("POST /api/servers/b/toggle", json!({ "enabled": false })).await.expect(200);
    // A probe that was under way when the server was disabled may still end.
    tokio::time::sleep(Duration::from_millis(300)).await;
    for backend in [&active, &inactive, &disabled] {
        backend.forget_history();
    }
    active.until("some probes", |one| one.asked("initialize").len() >= 3).await;
    assert_eq!((inactive.seen().len(), disabled.seen().len()), (0, 0));
    let board = scene.admin("GET /api/health", Value::Null).await.expect(200);
    assert_eq!(board["summary"], json!({ "healthy": 1, "unhealthy": 0, "unknown": 0, "disabled": 1 }));
}
