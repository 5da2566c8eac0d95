//! `subscriptions/listen`: one stream with what a client asked for, whatever stands behind.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::events::Answer;
use testkit::{Client, LegacyBackend, ModernBackend};

use super::Stage;
use crate::app::App;
use crate::compose::row;

/// How long a stream is watched for something that must not come.
const A_WHILE: Duration = Duration::from_millis(700);

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// Opens a stream and returns what of the filter is honoured.
async fn listen(client: &Client, filter: Value) -> (Answer, Value) {
    let mut stream = client.request("subscriptions/listen", json!({ "notifications": filter })).await;
    assert_eq!((stream.status.as_u16(), stream.is_events()), (200, true));
    let mut first = stream.message().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert!(tag(&first).is_number(), "{first}");
    (stream, first["params"]["notifications"].take())
}

fn tag(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

/// Waits for the next message, which must be of this method, and for nothing after it.
async fn hears_once(stream: &mut Answer, method: &str) -> Value {
    let message = stream.message().await;
    assert_eq!(message["method"], method, "{message}");
    assert!(tag(&message).is_number(), "{message}");
    assert!(stream.is_silent_for(A_WHILE).await, "{method} came once");
    message
}

/// The stream ends in good order: its request is answered.
async fn ends(stream: &mut Answer) {
    let last = stream.message().await;
    assert_eq!(last["result"]["resultType"], "complete", "{last}");
    assert_eq!(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], last["id"]);
    assert!(stream.event().await.is_none());
}

fn all(uris: &[&str]) -> Value {
    json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": uris })
}

#[tokio::test]
async fn backends_of_both_eras_are_heard_on_one_stream() {
    let stage = Stage::start().await;
    let client = stage.modern("/virtual/both");
    let (mut stream, honoured) = listen(&client, all(&["file:///old", "file:///new"])).await;
    assert_eq!(honoured, all(&["file:///old", "file:///new"]));
    // It is acknowledged when the backends listen, so nothing is missed from here on.
    assert_eq!((stage.old.streams(), stage.new.listens()), (1, 1));
    for (uri, from_old) in [("file:///old", true), ("file:///new", false)] {
        stage.new.resource_updated(uri);
        stage.old.resource_updated(uri);
        let message = hears_once(&mut stream, UPDATED).await;
        assert_eq!(message["params"]["uri"], uri, "from its owner only, the old one: {from_old}");
    }
    stage.old.set_tools([testkit::Tool::new("echo").description("better")]);
    stage.old.tools_changed();
    hears_once(&mut stream, TOOLS_CHANGED).await;
    stage.new.set(|script| script.prompts.push(json!({ "name": "fresh" })));
    stage.new.prompts_changed();
    hears_once(&mut stream, "notifications/prompts/list_changed").await;
}

#[tokio::test]
async fn only_what_was_asked_for_comes() {
    let stage = Stage::start().await;
    for path in ["/virtual/both", "/old", "/new"] {
        let (mut stream, honoured) = listen(&stage.modern(path), json!({ "promptsListChanged": true })).await;
        assert_eq!(honoured, json!({ "promptsListChanged": true }), "{path}");
        for uri in ["file:///old", "file:///new"] {
            stage.old.resource_updated(uri);
            stage.new.resource_updated(uri);
        }
        stage.old.tools_changed();
        stage.new.tools_changed();
        assert!(stream.is_silent_for(A_WHILE).await, "{path}");
    }
    let (mut stream, honoured) = listen(&stage.modern("/virtual/both"), json!({})).await;
    assert_eq!(honoured, json!({}));
    assert!(stream.is_silent_for(A_WHILE).await);
}

#[tokio::test]
async fn what_nobody_can_tell_of_is_not_honoured() {
    let plain = LegacyBackend::start("plain").tool("echo").capabilities(json!({ "tools": {} })).await;
    let app = App::start().await;
    app.serve("/plain", &plain.url()).await;
    app.compose("v", &[row("echo", "/plain", "")]).await;
    let caller = app.reader().await;
    let client = app.modern("/plain", &caller);
    let (_stream, honoured) = listen(&client, all(&["file:///x"])).await;
    assert_eq!(honoured, json!({}));
    let client = client.at(&format!("{}/virtual/v", app.url));
    let (mut stream, honoured) = listen(&client, all(&["file:///x"])).await;
    assert_eq!(honoured, json!({ "toolsListChanged": true }));
    // The list is the gateway's own, so it knows of changes that no backend tells of.
    app.recompose("v", json!({ "tool_mappings": [row("echo", "/plain", "renamed")] })).await;
    hears_once(&mut stream, TOOLS_CHANGED).await;
}

#[tokio::test]
async fn a_switch_is_told_and_the_new_version_is_heard() {
    let stage = Stage::start().await;
    let next = ModernBackend::start("next").tools(super::TOOLS).resource("file:///old").await;
    stage.app.serve_version("/old", "v2.0.0", &next.url()).await;
    let (mut stream, _) = listen(&stage.modern("/virtual/both"), all(&["file:///old"])).await;
    stage.app.activate("/old", "v2.0.0").await;
    assert_eq!(stream.message().await["method"], TOOLS_CHANGED);
    next.until("it is listened to for the resource", |next| {
        let asked = next.asked("subscriptions/listen");
        asked.last().is_some_and(|one| {
            one.params()["notifications"]["resourceSubscriptions"] == json!(["file:///old"])
        })
    })
    .await;
    next.until("the streams before are closed", |next| next.listens() == 1).await;
    next.resource_updated("file:///old");
    while stream.message().await["method"] != UPDATED {}
}

#[tokio::test]
async fn a_client_that_closes_is_not_listened_for_any_more() {
    let stage = Stage::start().await;
    for path in ["/virtual/both", "/old", "/new"] {
        stage.old.forget_history();
        let sessions = stage.old.sessions().len();
        let (stream, _) = listen(&stage.modern(path), all(&["file:///old", "file:///new"])).await;
        drop(stream);
        let is_over = |one: &testkit::stub::Stub| one.streams() == 0 && one.sessions().len() <= sessions;
        stage.old.until("its session is ended", is_over).await;
        stage.new.until("its stream is closed", |new| new.listens() == 0).await;
    }
}

#[tokio::test]
async fn a_server_path_tells_what_its_legacy_backend_tells() {
    let stage = Stage::start().await;
    let client = stage.modern("/old");
    let (mut stream, honoured) = listen(&client, all(&["file:///old"])).await;
    assert_eq!(honoured, all(&["file:///old"]));
    assert_eq!(stage.old.asked("resources/subscribe").len(), 1);
    stage.old.resource_updated("file:///old");
    assert_eq!(hears_once(&mut stream, UPDATED).await["params"]["uri"], "file:///old");
    stage.old.tools_changed();
    hears_once(&mut stream, TOOLS_CHANGED).await;
    stage.old.log("error", "for nobody");
    assert!(stream.is_silent_for(A_WHILE).await);
}

#[tokio::test]
async fn a_stream_of_a_server_ends_when_another_version_answers() {
    let stage = Stage::start().await;
    let next = LegacyBackend::start("next").tools(super::TOOLS).await;
    for path in ["/old", "/new"] {
        stage.app.serve_version(path, "v2.0.0", &next.url()).await;
        let client = stage.modern(path);
        let (mut stream, _) = listen(&client, all(&[])).await;
        let pinned = client.header("x-mcp-server-version", "v1.0.0");
        let (mut pinned, _) = listen(&pinned, all(&[])).await;
        stage.app.activate(path, "v2.0.0").await;
        ends(&mut stream).await;
        assert!(pinned.is_silent_for(A_WHILE).await, "{path}: it asked for that version");
    }
}

#[tokio::test]
async fn a_stream_ends_with_the_right_to_it_and_with_its_endpoint() {
    let stage = Stage::start().await;
    let admin = stage.app.admin();
    for path in ["/virtual/both", "/old", "/new"] {
        let issued = admin.send("POST /api/tokens", json!({ "subject": "guest" })).await.expect(201);
        let guest = Client::modern(&format!("{}{path}", stage.app.url));
        let guest = guest.bearer(issued["token"].as_str().unwrap());
        let (mut stream, _) = listen(&guest, all(&[])).await;
        let (mut other, _) = listen(&stage.modern(path), json!({})).await;
        admin
            .send(&format!("DELETE /api/tokens/{}", issued["id"].as_str().unwrap()), Value::Null)
            .await
            .expect(204);
        ends(&mut stream).await;
        assert!(other.is_silent_for(A_WHILE).await, "{path}");
    }
    let (mut stream, _) = listen(&stage.modern("/virtual/both"), all(&[])).await;
    admin.send("POST /api/virtual-servers/both/toggle", json!({ "enabled": false })).await.expect(200);
    ends(&mut stream).await;
}

#[tokio::test]
async fn a_backend_that_is_down_is_heard_when_it_is_back() {
    let stage = Stage::start().await;
    stage.new.down().await;
    let (mut stream, _) = listen(&stage.modern("/virtual/both"), all(&["file:///new"])).await;
    stage.new.up().await;
    stage.new.until("it is listened to", |new| new.listens() == 1).await;
    stage.new.resource_updated("file:///new");
    assert_eq!(stream.message().await["params"]["uri"], "file:///new");
}

#[tokio::test]
async fn what_is_no_filter_is_refused() {
    let stage = Stage::start().await;
    for path in ["/virtual/both", "/old"] {
        let client = stage.modern(path);
        for params in [
            json!({}),
            json!({ "notifications": [] }),
            json!({ "notifications": { "resourceSubscriptions": [1] } }),
        ] {
            let answer = client.request("subscriptions/listen", params.clone()).await;
            assert_eq!(answer.error().await["code"], -32602, "{path} {params}");
        }
        let message = client.message("subscriptions/listen", json!({ "notifications": {} }));
        let mut headers = client.headers_for(&message);
        headers.insert("accept", "application/json".parse().unwrap());
        assert_eq!(client.post_bytes(headers, message.to_string()).await.status, 406, "{path}");
    }
}
