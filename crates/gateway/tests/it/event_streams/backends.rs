//! Backends over HTTP+SSE: found out, used by clients of both eras, and what becomes of calls when a stream is lost.

use serde_json::{Value, json};
use testkit::{EventBackend, LegacyBackend};

use super::TOOLS;
use crate::app::App;
use crate::caller::Caller;
use crate::compose::row;

/// A backend at `/old`, its tools also at `/virtual/v`.
struct Stage {
    app: App,
    old: EventBackend,
    caller: Caller,
}

impl Stage {
    async fn start() -> Self {
        let old = EventBackend::start("old").speaks("2024-11-05").tools(TOOLS).resource("file:///old").await;
        let app = App::start().await;
        app.serve("/old", &old.url()).await;
        app.compose("v", &TOOLS.map(|tool| row(tool, "/old", ""))).await;
        let caller = app.reader().await;
        Self { app, old, caller }
    }
}

#[tokio::test]
async fn it_is_found_out_and_used_by_clients_of_both_eras() {
    let stage = Stage::start().await;
    let shown = stage.app.admin().get("/api/servers/old").await.expect(200);
    assert_eq!((&shown["transport"], &shown["num_tools"]), (&json!("sse"), &json!(TOOLS.len())));
    for path in ["/old", "/virtual/v"] {
        let legacy = stage.app.greeted(path, &stage.caller).await;
        let modern = stage.app.modern(path, &stage.caller);
        for client in [&legacy, &modern] {
            let way = format!("{} at {path}", client.revision);
            let params =
                json!({ "name": "progress", "arguments": { "n": 1 }, "_meta": { "progressToken": "t" } });
            let messages = client.request("tools/call", params).await.messages().await;
            let steps = messages.iter().filter(|one| one["params"]["progressToken"] == "t").count();
            assert_eq!(steps, 3, "{way}: {messages:?}");
            assert_eq!(messages.last().unwrap()["result"]["structuredContent"]["arguments"]["n"], 1, "{way}");
            let read = client.request("resources/read", json!({ "uri": "file:///old" })).await.result().await;
            assert!(read.to_string().contains("old file:///old"), "{way}: {read}");
        }
        let mut asked = legacy.try_call("ask", json!({})).await;
        let question = asked.message().await;
        assert_eq!(question["method"], "elicitation/create", "{path}");
        legacy.answer(&question["id"], json!({ "action": "accept", "content": { "name": "Ada" } })).await;
        assert!(asked.messages().await.last().unwrap().to_string().contains("Ada"), "{path}");
        let mut news = legacy.get().await;
        let subscribe = json!({ "uri": "file:///old" });
        legacy.request("resources/subscribe", subscribe).await.result().await;
        stage.old.resource_updated("file:///old");
        assert_eq!(news.message().await["params"]["uri"], "file:///old", "{path}");
    }
    let revisions = stage.old.revisions();
    assert!(revisions.iter().all(|one| one == "2024-11-05") && !revisions.is_empty(), "{revisions:?}");
}

#[tokio::test]
async fn an_endpoint_of_another_origin_is_refused() {
    let stranger = LegacyBackend::start("stranger").tool("echo").await;
    let stage = Stage::start().await;
    let foreign =
        [stranger.url(), stranger.url().replace("http:", ""), "https://example.com/messages".into()];
    for posts_to in foreign {
        stage.old.set(|script| script.posts_to = Some(posts_to.clone()));
        let refused = stage.app.admin().send("POST /api/servers/old/refresh", json!({})).await.expect(502);
        assert!(refused.to_string().contains("own origin"), "{posts_to}: {refused}");
        // What begins a session meets the same.
        let fresh = stage.app.visit("/virtual/v").await;
        let error = fresh.try_call("echo", json!({})).await.error().await;
        assert!(error["message"].as_str().unwrap().ends_with(": /old"), "{posts_to}: {error}");
    }
    assert!(stranger.seen().is_empty(), "nothing is posted there: {:?}", stranger.seen());
    stage.old.set(|script| script.posts_to = None);
    stage.app.visit("/virtual/v").await.call("echo", json!({})).await;
}

#[tokio::test]
async fn a_stream_that_is_lost_costs_its_calls_and_the_next_call_has_another() {
    let stage = Stage::start().await;
    let client = stage.app.visit("/virtual/v").await;
    client.call("echo", json!({})).await;
    let modern = stage.app.modern("/virtual/v", &stage.caller);
    modern.call("echo", json!({})).await;
    for client in [&client, &modern] {
        let way = &client.revision;
        let before = stage.old.sessions();
        let runs = stage.old.runs("slow");
        let hanging = tokio::spawn({
            let client = client.clone();
            async move { client.try_call("slow", json!({ "seconds": 60 })).await.error().await }
        });
        stage.old.until("the call runs", |old| old.runs("slow") > runs).await;
        stage.old.forget_sessions();
        let error: Value = hanging.await.unwrap();
        assert_eq!(error["message"], "Backend server unreachable: /old", "{way}: {error}");
        client.call("echo", json!({})).await;
        assert_eq!(stage.old.runs("slow"), runs + 1, "{way}: what may have run is not repeated");
        assert!(stage.old.sessions().iter().all(|one| !before.contains(one)), "{way}");
    }
    let direct = stage.app.greeted("/old", &stage.caller).await;
    stage.old.restart().await;
    assert_eq!(direct.try_call("echo", json!({})).await.status, 404, "a session of the server's own is lost");
    stage.app.greeted("/old", &stage.caller).await.call("echo", json!({})).await;
    client.call("echo", json!({})).await;
}
