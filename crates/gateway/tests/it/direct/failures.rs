//! Backends that cannot be reached, break, or answer something that is not MCP.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::LegacyBackend;
use testkit::script::Reply;

use super::Stage;
use crate::app::App;

async fn error(stage: &Stage, tool: &str) -> Value {
    let answer = stage.client.try_call(tool, json!({})).await;
    assert_eq!(answer.status, 200, "clients read an error only from 200");
    assert_ne!(answer.header("x-mcp-error-class"), "");
    assert_eq!(answer.header("www-authenticate"), "");
    answer.error().await
}

#[tokio::test]
async fn a_refused_port_is_unreachable() {
    let stage = Stage::start(&["echo"]).await;
    stage.backend.down().await;
    let expected = json!({
        "code": -32000,
        "message": "Backend server unreachable: /a",
        "data": { "server": "/a", "reason": "connection refused" },
    });
    assert_eq!(error(&stage, "echo").await, expected);
    let mut newcomer = stage.client.clone();
    newcomer.session = None;
    assert_eq!(newcomer.try_initialize().await.error().await, expected);
    stage.backend.up().await;
    stage.client.call("echo", json!({})).await;
}

#[tokio::test]
async fn a_server_can_be_registered_before_its_backend_runs() {
    let app = App::start().await;
    let backend = LegacyBackend::start("late").tool("echo").await;
    backend.down().await;
    let body = json!({ "path": "/late", "proxy_pass_url": backend.url(), "is_enabled": true });
    app.admin().send("POST /api/servers/register", body).await.expect(201);
    let client = app.client("/late", &app.reader().await);
    assert_eq!(client.try_initialize().await.error().await["code"], -32000);
    backend.up().await;
    // Health never decides whether a route exists: the next request finds it.
    app.visit("/late").await.call("echo", json!({})).await;
}

#[tokio::test]
async fn a_connection_that_breaks_in_a_call_runs_it_once() {
    let stage = Stage::start(&["break", "crash"]).await;
    assert_eq!(error(&stage, "break").await["code"], -32000);
    assert_eq!((stage.backend.runs("break"), stage.backend.calls().len()), (1, 1));
    stage.backend.forget_history();
    assert_eq!(error(&stage, "crash").await["code"], -31003);
    assert_eq!((stage.backend.runs("crash"), stage.backend.calls().len()), (1, 1));
}

#[tokio::test]
async fn a_stream_that_breaks_off_breaks_off_so_that_it_can_be_resumed() {
    let stage = Stage::start(&["progress"]).await;
    let params = json!({ "name": "progress", "arguments": { "steps": 2, "pause_ms": 600_000 },
        "_meta": { "progressToken": 1 } });
    let message = stage.client.message("tools/call", params);
    let mut stream = stage.client.post(&message).await;
    assert_eq!(stream.message().await["params"]["progress"], 1);
    stage.backend.down().await;
    assert_eq!(stream.try_bytes().await, None, "no end and no answer of ours");
    assert_eq!(stage.backend.runs("progress"), 1);
}

#[tokio::test]
async fn a_backend_that_restarts_between_calls_costs_none() {
    let stage = Stage::of(LegacyBackend::start("a").tool("echo").without_sessions().await).await;
    for _ in 0..5 {
        stage.client.call("echo", json!({})).await;
        // The kept connection is gone, which shows only when it is used.
        stage.backend.restart().await;
    }
    assert_eq!(stage.backend.runs("echo"), 5);
}

#[tokio::test]
async fn useless_answers_are_said_to_be_so() {
    let stage = Stage::start(&["echo"]).await;
    let html = "<html><body>502 Bad Gateway</body></html>";
    let useless = [
        Reply::new(200, "text/html", html),
        Reply::new(502, "text/html", html),
        Reply::new(503, "text/plain", "later"),
        Reply::new(200, "application/json", ""),
        Reply::new(200, "application/json", r#"{"jsonrpc":"2.0","id":1,"resu"#),
        Reply::new(302, "text/html", "").header("location", "http://127.0.0.1:9/mcp"),
        Reply::new(307, "application/json", "{}").header("location", "http://127.0.0.1:9/mcp"),
    ];
    for reply in useless {
        let what = format!("{reply:?}");
        stage.backend.reply("tools/call", reply);
        let error = error(&stage, "echo").await;
        assert_eq!(error["code"], -31003, "{what}");
        assert_eq!(error["message"], "Backend server gave an unusable answer: /a", "{what}");
        assert_eq!(error["data"]["server"], "/a", "{what}");
    }
    stage.backend.reply_normally("tools/call");
    stage.client.call("echo", json!({})).await;
}

#[tokio::test]
async fn a_backends_401_is_an_error_of_the_backend() {
    let stage = Stage::start(&["echo"]).await;
    let challenge = "Bearer resource_metadata=\"http://evil.example/\"";
    stage
        .backend
        .reply("tools/call", Reply::new(401, "application/json", "{}").header("www-authenticate", challenge));
    let error = error(&stage, "echo").await;
    assert_eq!(error["code"], -32000);
    assert_eq!(error["message"], "Backend server refused the gateway's credentials: /a");
}

#[tokio::test]
async fn only_what_a_client_needs_is_in_the_head_of_an_answer() {
    let stage = Stage::start(&["echo"]).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let reply = Reply::new(200, "application/json", body)
        .header("set-cookie", "session=secret")
        .header("server", "backend/1.0")
        .header("access-control-allow-origin", "*")
        .header("location", "http://10.0.0.1/");
    stage.backend.reply("tools/call", reply);
    let answer = stage.client.try_call("echo", json!({})).await;
    for name in ["set-cookie", "server", "access-control-allow-origin", "location"] {
        assert_eq!(answer.header(name), "", "{name}");
    }
}

#[tokio::test]
async fn a_slow_backend_is_given_up_and_others_go_on() {
    let app = App::configured("[backends]\nanswer_timeout = \"1s\"").await;
    let (slow, quick) =
        (LegacyBackend::start("slow").tool("echo").await, LegacyBackend::start("quick").tool("echo").await);
    app.serve("/slow", &slow.url()).await;
    app.serve("/quick", &quick.url()).await;
    let (waiting, passing) = (app.visit("/slow").await, app.visit("/quick").await);
    slow.delay("tools/call", Duration::from_secs(60));
    let calling = tokio::spawn(async move { waiting.try_call("echo", json!({})).await.error().await });
    slow.until("it is asked", |one| one.calls().len() == 1).await;
    passing.call("echo", json!({})).await;
    let error = calling.await.unwrap();
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-31002), &json!("Backend server timed out: /slow"))
    );
    assert_eq!(slow.calls().len(), 1);
}
