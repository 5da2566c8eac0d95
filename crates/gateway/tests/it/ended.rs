//! What belongs to a caller, a version or a virtual server ends with it.

use serde_json::{Value, json};
use testkit::LegacyBackend;
use testkit::events::Answer;

use crate::app::App;
use crate::caller::Caller;
use crate::compose::row;

/// Reads a stream until it is over; comments that keep it open do not count.
async fn is_over(mut stream: Answer) {
    while stream.block().await.is_some() {}
}

#[tokio::test]
async fn streams_end_when_their_callers_token_is_revoked() {
    let github = LegacyBackend::start("github").tool("search").await;
    let app = App::start().await;
    app.serve("/github", &github.url()).await;
    app.compose("v", &[row("search", "/github", "find")]).await;
    let issued = app.admin().send("POST /api/tokens", json!({ "subject": "ann" })).await.expect(201);
    let ann = Caller::new(app.authority(), issued["token"].as_str());
    let mut streams = Vec::new();
    for path in ["/github", "/virtual/v"] {
        let mut client = app.client(path, &ann);
        client.initialize().await;
        let stream = client.get().await;
        assert!(stream.is_events(), "{path}");
        streams.push(stream);
    }
    let kept = app.visit("/github").await.get().await;
    let revoke = format!("DELETE /api/tokens/{}", issued["id"].as_str().unwrap());
    app.admin().send(&revoke, Value::Null).await.expect(204);
    for stream in streams {
        is_over(stream).await;
    }
    github.until("another's stream is open", |one| one.streams() >= 1).await;
    drop(kept);
}

#[tokio::test]
async fn streams_end_with_their_server_and_their_virtual_server() {
    let github = LegacyBackend::start("github").tool("search").await;
    let app = App::start().await;
    app.serve("/github", &github.url()).await;
    app.compose("v", &[row("search", "/github", "find")]).await;
    let direct = app.visit("/github").await.get().await;
    let joined = app.visit("/virtual/v").await.get().await;
    app.admin().send("DELETE /api/virtual-servers/v", Value::Null).await.expect(204);
    is_over(joined).await;
    app.admin().send("POST /api/servers/github/toggle", json!({ "enabled": false })).await.expect(200);
    is_over(direct).await;
}

#[tokio::test]
async fn a_label_that_comes_again_revives_no_session() {
    let (first, second) =
        (LegacyBackend::start("first").tool("find").await, LegacyBackend::start("second").tool("find").await);
    let app = App::start().await;
    app.serve("/a", &first.url()).await;
    app.serve_version("/a", "v2.0.0", &first.url()).await;
    app.compose(
        "v",
        &[json!({ "tool_name": "find", "backend_server_path": "/a", "backend_version": "v2.0.0" })],
    )
    .await;
    let mut direct = app.client("/a", &app.admin()).header("X-MCP-Server-Version", "v2.0.0");
    direct.initialize().await;
    let joined = app.visit("/virtual/v").await;
    for client in [&direct, &joined] {
        assert_eq!(client.try_call("find", json!({})).await.status, 200);
    }
    app.admin().send("DELETE /api/servers/a/versions/v2.0.0?force=true", Value::Null).await.expect(200);
    app.serve_version("/a", "v2.0.0", &second.url()).await;
    app.refresh("/a").await;
    assert_eq!(direct.try_call("find", json!({})).await.status, 404, "a session of the version before");
    assert_eq!(joined.try_call("find", json!({})).await.status, 200, "a virtual server greets anew");
    let old: Vec<String> = first.sessions();
    assert!(second.seen().iter().all(|seen| {
        !seen.headers.get("mcp-session-id").is_some_and(|id| old.iter().any(|known| known == id))
    }));
}
