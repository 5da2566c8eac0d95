//! Batches of revision 2025-03-26, which no backend sees.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Client, LegacyBackend, ModernBackend};

use crate::app::App;
use crate::compose::row;

/// A backend of each era, both composed at `/virtual/v`, one of its tools guarded.
struct Stage {
    app: App,
    old: LegacyBackend,
    new: ModernBackend,
}

impl Stage {
    async fn start() -> Self {
        let old = LegacyBackend::start("old").tools(["echo", "slow", "progress"]).await;
        let new = ModernBackend::start("new").tool("search").await;
        let app = App::start().await;
        app.serve("/old", &old.url()).await;
        app.serve("/new", &new.url()).await;
        let rows = [
            row("echo", "/old", "say"),
            row("slow", "/old", ""),
            row("search", "/new", ""),
            row("progress", "/old", ""),
        ];
        let guarded = json!({
            "tool_mappings": rows,
            "tool_scope_overrides": [{ "tool_alias": "slow", "required_scopes": ["patience"] }],
        });
        app.compose_with("v", guarded).await;
        Self { app, old, new }
    }

    async fn visit(&self, path: &str, scopes: &[&str], revision: &str) -> Client {
        let mut client = self.app.client(path, &self.app.holder("ann", scopes).await).revision(revision);
        client.initialize().await;
        client
    }
}

fn call(client: &Client, tool: &str, arguments: Value) -> Value {
    client.message("tools/call", json!({ "name": tool, "arguments": arguments }))
}

fn by_id<'a>(answers: &'a [Value], asked: &Value) -> &'a Value {
    answers.iter().find(|answer| answer["id"] == asked["id"]).expect("each request is answered")
}

async fn answers(client: &Client, batch: &Value) -> Vec<Value> {
    let answer = client.post(batch).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
    answer.json().await.as_array().expect("an array").clone()
}

#[tokio::test]
async fn messages_go_to_backends_of_both_eras_and_fail_alone() {
    let stage = Stage::start().await;
    let client = stage.visit("/virtual/v", &[], "2025-03-26").await;
    let said = call(&client, "say", json!({ "n": 1 }));
    let found = call(&client, "search", json!({}));
    let forbidden = call(&client, "slow", json!({}));
    let unknown = call(&client, "nothing", json!({}));
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let answers = answers(&client, &json!([said, found, note, forbidden, unknown])).await;
    assert_eq!(answers.len(), 4);
    assert_eq!(by_id(&answers, &said)["result"]["structuredContent"]["tool"], "echo");
    assert_eq!(by_id(&answers, &found)["result"]["structuredContent"]["tool"], "search");
    assert_eq!(by_id(&answers, &forbidden)["error"]["code"], -31008);
    assert_eq!(by_id(&answers, &unknown)["error"]["code"], -32602);
    assert!(stage.old.seen().iter().chain(&stage.new.seen()).all(|seen| !seen.message.is_array()));
    // Where all fail alike, the status says so, and what to do about it.
    let refused = client.post(&json!([forbidden])).await;
    assert_eq!(refused.status, 403);
    assert!(refused.header("www-authenticate").contains("patience"));
}

#[tokio::test]
async fn messages_run_side_by_side_but_not_all_at_once() {
    let stage = Stage::start().await;
    let client = stage.visit("/virtual/v", &["patience"], "2025-03-26").await;
    let slow: Vec<_> = (0..12).map(|_| call(&client, "slow", json!({ "seconds": 1 }))).collect();
    let begun = Instant::now();
    assert_eq!(answers(&client, &json!(slow)).await.len(), 12);
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(1_900) && took < Duration::from_secs(6), "two rounds: {took:?}");
}

#[tokio::test]
async fn on_server_paths_too_whatever_their_era() {
    let stage = Stage::start().await;
    for (path, tool) in [("/old", "echo"), ("/new", "search")] {
        let client = stage.visit(path, &[], "2025-03-26").await;
        let (one, two) = (call(&client, tool, json!({})), call(&client, tool, json!({})));
        let answers = answers(&client, &json!([one, two])).await;
        assert!(by_id(&answers, &one)["result"].is_object() && by_id(&answers, &two)["result"].is_object());
        let other = stage.visit(path, &[], "2025-06-18").await;
        let refused = other.post(&json!([call(&other, tool, json!({}))])).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.error().await["code"]),
            (400, &json!(-32600)),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_stream_brings_the_answers_as_they_come() {
    let stage = Stage::start().await;
    let client = stage.visit("/virtual/v", &[], "2025-03-26").await;
    let params = json!({ "name": "progress", "arguments": {}, "_meta": { "progressToken": 5 } });
    let (long, short) = (client.message("tools/call", params), call(&client, "search", json!({})));
    let answer = client.post(&json!([long, short])).await;
    assert!(answer.is_events());
    let messages = answer.messages().await;
    assert_eq!(messages.iter().filter(|message| message["params"]["progressToken"] == 5).count(), 3);
    assert!(by_id(&messages, &long)["result"].is_object());
    assert!(by_id(&messages, &short)["result"].is_object());
}
