//! The GET stream: what any backend has to say, and changes of lists, each once.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::events::Answer;
use testkit::{Client, LegacyBackend};

use crate::app::App;
use crate::compose::row;
use crate::heard::greetings;

/// How long a stream is watched for something that must not come.
const A_WHILE: Duration = Duration::from_millis(700);

struct Stage {
    app: App,
    a: LegacyBackend,
    b: LegacyBackend,
    next: LegacyBackend,
    client: Client,
    stream: Answer,
}

impl Stage {
    /// Two servers, the first in two versions, and a client whose stream is open.
    async fn start() -> Self {
        let backend = |name: &str| {
            LegacyBackend::start(name).tools(["search", "other"]).prompt("p").resource("file:///x")
        };
        let (a, b) = (backend("a").await, backend("b").resource("file:///b").await);
        let next = backend("next").await;
        next.set_tools([testkit::Tool::new("search").description("another"), "other".into()]);
        let app = App::start().await;
        app.serve("/a", &a.url()).await;
        app.serve_version("/a", "v2.0.0", &next.url()).await;
        app.serve("/b", &b.url()).await;
        app.compose("v", &[row("search", "/a", "one"), row("search", "/b", "two")]).await;
        let client = app.visit("/virtual/v").await;
        let stream = client.get().await;
        assert!(stream.is_events());
        for backend in [&a, &b] {
            backend.until("its stream is open", |one| one.streams() == 1).await;
        }
        Self { app, a, b, next, client, stream }
    }

    /// Waits for the next message, which must be of this method, and for nothing after it.
    async fn hears_once(&mut self, method: &str) -> Value {
        let message = self.stream.message().await;
        assert_eq!(message["method"], method);
        assert!(self.stream.is_silent_for(A_WHILE).await, "{method} came once");
        message
    }
}

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

#[tokio::test]
async fn messages_of_all_backends_come_on_one_stream() {
    let mut stage = Stage::start().await;
    stage.client.request("logging/setLevel", json!({ "level": "info" })).await.result().await;
    for (backend, text) in [(&stage.a, "from a"), (&stage.b, "from b"), (&stage.a, "again")] {
        backend.log("warning", text);
        let message = stage.stream.message().await;
        assert_eq!(message["params"]["data"], text);
        assert_eq!(message["params"]["logger"], backend.name());
    }
}

#[tokio::test]
async fn an_update_of_a_subscribed_resource_comes_from_its_owner_only() {
    let mut stage = Stage::start().await;
    let client = &stage.client;
    client.request("resources/subscribe", json!({ "uri": "file:///x" })).await.result().await;
    assert_eq!(stage.a.asked("resources/subscribe").len(), 1);
    assert!(stage.b.asked("resources/subscribe").is_empty(), "mapped second");
    stage.b.resource_updated("file:///x");
    stage.a.resource_updated("file:///x");
    let message = stage.hears_once("notifications/resources/updated").await;
    assert_eq!(message["params"]["uri"], "file:///x");
    stage.client.request("resources/unsubscribe", json!({ "uri": "file:///x" })).await.result().await;
    stage.a.resource_updated("file:///x");
    assert!(stage.stream.is_silent_for(A_WHILE).await);
}

#[tokio::test]
async fn a_subscription_and_a_level_outlive_the_backends_session() {
    let mut stage = Stage::start().await;
    stage.client.request("resources/subscribe", json!({ "uri": "file:///x" })).await.result().await;
    stage.client.request("logging/setLevel", json!({ "level": "info" })).await.result().await;
    stage.a.restart().await;
    stage.client.call("one", json!({})).await;
    stage.a.until("its new stream is open", |a| a.streams() == 1).await;
    stage.a.resource_updated("file:///x");
    assert_eq!(stage.stream.message().await["params"]["uri"], "file:///x");
    stage.a.log("error", "still here");
    assert_eq!(stage.stream.message().await["params"]["data"], "still here");
}

#[tokio::test]
async fn an_alias_a_mapping_and_a_description_are_told_once() {
    let mut stage = Stage::start().await;
    let rows = [row("search", "/a", "renamed"), row("search", "/b", "two")];
    stage.app.recompose("v", json!({ "tool_mappings": rows })).await;
    stage.hears_once(TOOLS_CHANGED).await;
    assert_eq!(stage.client.tools().await, ["renamed", "two"]);
    stage.app.recompose("v", json!({ "tool_mappings": rows[..1] })).await;
    assert_eq!(stage.stream.message().await["method"], TOOLS_CHANGED);
    assert_eq!(stage.client.tools().await, ["renamed"]);
}

#[tokio::test]
async fn a_switch_is_told_once_and_the_new_version_joins_the_stream() {
    let mut stage = Stage::start().await;
    stage.app.activate("/a", "v2.0.0").await;
    stage.hears_once(TOOLS_CHANGED).await;
    stage.next.until("its stream is open", |next| next.streams() == 1).await;
    let told = stage.client.call("one", json!({})).await;
    assert_eq!(told["structuredContent"]["backend"], "next");
    stage.client.request("logging/setLevel", json!({ "level": "info" })).await.result().await;
    stage.next.log("info", "hello");
    assert_eq!(stage.stream.message().await["params"]["data"], "hello");
}

#[tokio::test]
async fn a_change_that_a_backend_tells_of_is_told_once() {
    let mut stage = Stage::start().await;
    stage.a.set_tools([testkit::Tool::new("search").description("better"), "other".into()]);
    stage.a.tools_changed();
    stage.hears_once(TOOLS_CHANGED).await;
    let tools = stage.client.list("tools/list").await;
    assert_eq!(tools[0]["description"], "better");
    stage.b.set(|script| script.prompts.push(json!({ "name": "fresh" })));
    stage.b.prompts_changed();
    stage.hears_once("notifications/prompts/list_changed").await;
    stage.b.set(|script| script.resources.push(json!({ "uri": "file:///new", "name": "new" })));
    stage.b.resources_changed();
    stage.hears_once("notifications/resources/list_changed").await;
}

#[tokio::test]
async fn what_does_not_concern_the_virtual_server_is_not_told() {
    let mut stage = Stage::start().await;
    stage.app.compose("w", &[row("other", "/a", "")]).await;
    stage.app.admin().send("PATCH /api/servers/a", json!({ "description": "new" })).await.expect(200);
    stage.b.set_tools([testkit::Tool::new("search"), testkit::Tool::new("unmapped")]);
    stage.app.refresh("/b").await;
    assert!(stage.stream.is_silent_for(A_WHILE).await);
}

#[tokio::test]
async fn every_open_stream_hears_of_a_change() {
    let mut stage = Stage::start().await;
    let other = stage.app.visit("/virtual/v").await;
    let mut second = other.get().await;
    stage.a.until("both streams are open", |a| a.streams() == 2).await;
    stage.app.recompose("v", json!({ "tool_mappings": [row("search", "/a", "x")] })).await;
    assert_eq!(stage.stream.message().await["method"], TOOLS_CHANGED);
    assert_eq!(second.message().await["method"], TOOLS_CHANGED);
}

#[tokio::test]
async fn a_session_has_one_stream_and_delete_ends_it() {
    let mut stage = Stage::start().await;
    let mut newer = stage.client.get().await;
    assert!(stage.stream.event().await.is_none(), "the older one ends");
    stage.app.recompose("v", json!({ "tool_mappings": [row("search", "/b", "x")] })).await;
    assert_eq!(newer.message().await["method"], TOOLS_CHANGED);
    assert_eq!(stage.client.delete().await.status, 204);
    assert!(newer.event().await.is_none());
    stage.b.until("its stream is closed", |b| b.streams() == 0).await;
    assert_eq!(stage.client.get().await.status, 404);
}

#[tokio::test]
async fn without_a_session_there_is_no_stream() {
    let stage = Stage::start().await;
    let mut stranger = stage.client.clone();
    stranger.session = None;
    for answer in [stranger.get().await, stranger.delete().await] {
        assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, "POST"));
    }
}

#[tokio::test]
async fn the_stream_greets_all_backends_side_by_side() {
    let mut backends = Vec::new();
    let app = App::start().await;
    for name in ["a", "b", "c"] {
        let backend = LegacyBackend::start(name).tool("search").await;
        app.serve(&format!("/{name}"), &backend.url()).await;
        backend.delay("initialize", Duration::from_secs(60));
        backend.forget_history();
        backends.push(backend);
    }
    app.compose("v", &["a", "b", "c"].map(|name| row("search", &format!("/{name}"), name))).await;
    let client = app.visit("/virtual/v").await;
    let _stream = client.get().await;
    for backend in &backends {
        backend.until("it is greeted", |one| greetings(one).len() == 1).await;
    }
}
