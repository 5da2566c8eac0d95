//! `resources/subscribe` of older clients to a backend of 2026-07-28, which knows only `subscriptions/listen`.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::ModernBackend;

use super::Stage;

/// How long a stream is watched for something that must not come.
const A_WHILE: Duration = Duration::from_millis(700);

/// What the backend was last asked to tell of.
fn listened_for(backend: &ModernBackend) -> Value {
    let last = backend.asked("subscriptions/listen").pop();
    last.map_or(Value::Null, |one| one.params()["notifications"]["resourceSubscriptions"].clone())
}

#[tokio::test]
async fn a_subscription_is_listened_for_until_it_is_taken_back() {
    let stage = Stage::start().await;
    for path in ["/new", "/virtual/both"] {
        let client = stage.legacy(path).await;
        let mut stream = client.get().await;
        stage.new.until("it is listened to", |new| new.listens() == 1).await;
        let params = json!({ "uri": "file:///new" });
        let result = client.request("resources/subscribe", params.clone()).await.result().await;
        assert_eq!(result, json!({}), "{path}");
        assert_eq!(listened_for(&stage.new), json!(["file:///new"]), "{path}");
        stage.new.until("the stream before is closed", |new| new.listens() == 1).await;
        stage.new.resource_updated("file:///new");
        let message = stream.message().await;
        assert_eq!(message["params"]["uri"], "file:///new", "{path}");
        assert!(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].is_null(), "{message}");
        client.request("resources/unsubscribe", params).await.result().await;
        stage
            .new
            .until("it is not listened for", |new| {
                new.listens() == 1 && new.asked("subscriptions/listen").len().is_multiple_of(3)
            })
            .await;
        stage.new.resource_updated("file:///new");
        assert!(stream.is_silent_for(A_WHILE).await, "{path}");
        // One that only closes its stream may come back for it.
        client.delete().await;
        stage.new.until("its stream is closed", |new| new.listens() == 0).await;
    }
}

#[tokio::test]
async fn a_subscription_before_the_stream_counts_with_it() {
    let stage = Stage::start().await;
    let client = stage.legacy("/new").await;
    client.request("resources/subscribe", json!({ "uri": "file:///new" })).await.result().await;
    assert_eq!(stage.new.listens(), 0);
    let mut stream = client.get().await;
    stage.new.until("it is listened to", |new| new.listens() == 1).await;
    stage.new.resource_updated("file:///new");
    assert_eq!(stream.message().await["params"]["uri"], "file:///new");
    stage.new.down().await;
    stage.new.up().await;
    stage.new.until("it is listened to again", |new| new.listens() == 1).await;
    stage.new.resource_updated("file:///new");
    assert_eq!(stream.message().await["params"]["uri"], "file:///new");
}

#[tokio::test]
async fn lists_that_change_are_told_to_older_clients() {
    let stage = Stage::start().await;
    for path in ["/new", "/virtual/both"] {
        let client = stage.legacy(path).await;
        let mut stream = client.get().await;
        stage.new.until("it is listened to", |new| new.listens() == 1).await;
        stage.new.set_tools([testkit::Tool::new("echo").description(path)]);
        stage.new.tools_changed();
        let message = stream.message().await;
        assert_eq!(message["method"], "notifications/tools/list_changed", "{path}");
        // One that only closes its stream may come back for it.
        client.delete().await;
        stage.new.until("its stream is closed", |new| new.listens() == 0).await;
    }
}

#[tokio::test]
async fn what_the_backend_does_not_tell_of_cannot_be_subscribed_to() {
    let stage = Stage::start().await;
    stage.new.set(|script| script.capabilities = Some(json!({ "tools": {}, "resources": {} })));
    stage.app.refresh("/new").await;
    let client = stage.legacy("/new").await;
    let answer = client.request("resources/subscribe", json!({ "uri": "file:///new" })).await;
    assert_eq!(answer.error().await["code"], -32601);
}
