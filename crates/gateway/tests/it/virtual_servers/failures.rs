//! Backends that are down, slow, forgetful or broken: what a call to them answers, and what runs how often.

use serde_json::{Value, json};
use testkit::script::Reply;
use testkit::{Client, LegacyBackend};

use crate::app::App;
use crate::compose::{DevTools, row};
use crate::heard::greetings;

async fn stage(toml: &str, tools: &[&str]) -> (App, LegacyBackend, Client) {
    let backend = LegacyBackend::start("a").tools(tools.iter().copied()).await;
    let app = App::configured(toml).await;
    app.serve("/a", &backend.url()).await;
    let rows: Vec<_> = tools.iter().map(|tool| row(tool, "/a", "")).collect();
    app.compose("v", &rows).await;
    let client = app.visit("/virtual/v").await;
    (app, backend, client)
}

async fn error(client: &Client, tool: &str) -> Value {
    let answer = client.try_call(tool, json!({ "seconds": 600 })).await;
    assert_eq!(answer.status, 200, "clients read an error only from 200");
    answer.error().await
}

#[tokio::test]
async fn a_dead_backend_costs_only_its_own() {
    let stage = DevTools::start().await;
    let client = stage.visit().await;
    stage.github.down().await;
    assert_eq!(client.tools().await, ["github_search", "jira_search", "send_message"]);
    assert_eq!(error(&client, "github_search").await["code"], -32000);
    client.call("jira_search", json!({})).await;
    let other = stage.visit().await;
    other.call("send_message", json!({})).await;
    stage.github.up().await;
    client.call("github_search", json!({})).await;
}

#[tokio::test]
async fn a_backend_that_restarted_is_greeted_again_and_nothing_runs_twice() {
    let (_app, backend, client) = stage("", &["count"]).await;
    assert_eq!(client.call("count", json!({})).await["structuredContent"]["count"], 1);
    backend.restart().await;
    backend.forget_history();
    let told = client.call("count", json!({})).await["structuredContent"].take();
    assert_eq!(told["count"], 1, "a fresh session");
    assert_eq!((backend.runs("count"), greetings(&backend).len()), (1, 1));
    assert_eq!(client.call("count", json!({})).await["structuredContent"]["count"], 2);
}

#[tokio::test]
async fn many_calls_into_a_lost_session_greet_once_and_run_once_each() {
    let (_app, backend, client) = stage("", &["echo"]).await;
    client.call("echo", json!({})).await;
    backend.forget_sessions();
    backend.forget_history();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            tokio::spawn({
                let client = client.clone();
                async move { client.call("echo", json!({})).await }
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!((backend.runs("echo"), greetings(&backend).len()), (20, 1));
}

#[tokio::test]
async fn a_backend_that_forgets_at_once_is_not_asked_for_ever() {
    let (_app, backend, client) = stage("", &["echo"]).await;
    for status in [404, 400] {
        let refusal = Reply::new(status, "application/json", r#"{"error":"Session not found"}"#);
        backend.reply("tools/call", refusal);
        backend.forget_history();
        assert_eq!(error(&client, "echo").await["code"], -31003);
        assert_eq!(backend.calls().len(), 2, "once, and once more");
    }
    backend.reply_normally("tools/call");
    client.call("echo", json!({})).await;
}

#[tokio::test]
async fn a_400_about_something_else_is_no_lost_session() {
    let (_app, backend, client) = stage("", &["echo"]).await;
    client.call("echo", json!({})).await;
    backend.forget_history();
    let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad arguments"}}"#;
    backend.reply("tools/call", Reply::new(400, "application/json", body));
    let answer = client.try_call("echo", json!({})).await;
    assert_eq!((answer.status.as_u16(), answer.error().await["code"].clone()), (400, json!(-32602)));
    assert_eq!((backend.calls().len(), greetings(&backend).len()), (1, 0));
}

#[tokio::test]
async fn a_tool_that_failed_with_500_runs_once() {
    let (_app, backend, client) = stage("", &["crash"]).await;
    assert_eq!(error(&client, "crash").await["code"], -31003);
    assert_eq!((backend.runs("crash"), backend.calls().len()), (1, 1));
}

#[tokio::test]
async fn a_connection_that_breaks_in_a_call_is_not_tried_again() {
    let (_app, backend, client) = stage("", &["break"]).await;
    let error = error(&client, "break").await;
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32000), &json!("Backend server unreachable: /a"))
    );
    assert_eq!((backend.runs("break"), backend.calls().len()), (1, 1));
}

#[tokio::test]
async fn a_backend_that_takes_too_long_is_given_up() {
    let (_app, backend, client) = stage("[backends]\nanswer_timeout = \"1s\"", &["slow", "echo"]).await;
    let error = error(&client, "slow").await;
    assert_eq!((&error["code"], &error["message"]), (&json!(-31002), &json!("Backend server timed out: /a")));
    assert_eq!(backend.runs("slow"), 1);
    client.call("echo", json!({})).await;
}

#[tokio::test]
async fn useless_answers_are_said_to_be_so() {
    let (_app, backend, client) = stage("", &["echo"]).await;
    let html = "<html><body>502 Bad Gateway</body></html>";
    let useless = [
        Reply::new(200, "text/html", html),
        Reply::new(502, "text/html", html),
        Reply::new(200, "application/json", ""),
        Reply::new(200, "application/json", r#"{"jsonrpc":"2.0","id":1,"resu"#),
        Reply::new(302, "text/html", "").header("location", "http://127.0.0.1:9/"),
        Reply::new(200, "text/event-stream", ": nothing\n\n"),
        Reply::new(403, "text/plain", "go away"),
    ];
    for reply in useless {
        let what = format!("{reply:?}");
        backend.reply("tools/call", reply);
        assert_eq!(error(&client, "echo").await["code"], -31003, "{what}");
    }
    backend.reply("tools/call", Reply::new(401, "text/plain", ""));
    assert_eq!(error(&client, "echo").await["code"], -32000);
    backend.reply_normally("tools/call");
    client.call("echo", json!({})).await;
}

#[tokio::test]
async fn a_greeting_that_is_refused_is_told_and_tried_again_later() {
    let (app, backend, _) = stage("", &["echo"]).await;
    let refusal = json!({ "jsonrpc": "2.0", "id": 0, "error": { "code": -32050, "message": "not today" } });
    backend.reply("initialize", Reply::json(&refusal));
    let client = app.visit("/virtual/v").await;
    assert_ne!(error(&client, "echo").await["code"], Value::Null);
    backend.reply_normally("initialize");
    client.call("echo", json!({})).await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error() {
    let (_app, backend, client) = stage("", &["progress"]).await;
    let params = json!({ "name": "progress", "arguments": { "steps": 2, "pause_ms": 600_000 },
        "_meta": { "progressToken": 1 } });
    let message = client.message("tools/call", params);
    let mut stream = client.post(&message).await;
    assert_eq!(stream.message().await["params"]["progress"], 1);
    backend.down().await;
    let last = stream.message().await;
    assert_eq!((&last["id"], &last["error"]["code"]), (&message["id"], &json!(-31003)));
    assert!(last["error"]["message"].as_str().unwrap().ends_with("/a"), "{last}");
    assert!(stream.event().await.is_none());
    assert_eq!(backend.runs("progress"), 1);
}

#[tokio::test]
async fn a_virtual_server_that_is_switched_off_keeps_its_sessions() {
    let (app, backend, client) = stage("", &["echo"]).await;
    client.call("echo", json!({})).await;
    let toggle = async |enabled: bool| {
        let body = json!({ "enabled": enabled });
        app.admin().send("POST /api/virtual-servers/v/toggle", body).await.expect(200);
    };
    toggle(false).await;
    assert_eq!(client.try_call("echo", json!({})).await.status, 404);
    toggle(true).await;
    client.call("echo", json!({})).await;
    let ran = backend.ran();
    assert_eq!(ran[0].session, ran[1].session);
    app.admin().send("DELETE /api/virtual-servers/v", Value::Null).await.expect(204);
    assert_eq!(client.try_call("echo", json!({})).await.status, 404);
}
