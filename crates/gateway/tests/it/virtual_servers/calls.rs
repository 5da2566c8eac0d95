//! Calls: what goes along with one, what may come before its answer, and calls that meet.

use std::time::Duration;

use serde_json::json;
use testkit::LegacyBackend;

use crate::app::App;
use crate::compose::row;
use crate::heard::greetings;

/// A backend with these tools behind a virtual server that shows each as `the_<tool>`.
async fn stage(tools: &[&str]) -> (App, LegacyBackend) {
    let backend = LegacyBackend::start("a").tools(tools.iter().copied()).await;
    let app = App::start().await;
    app.serve("/a", &backend.url()).await;
    let rows: Vec<_> = tools.iter().map(|tool| row(tool, "/a", &format!("the_{tool}"))).collect();
    app.compose("v", &rows).await;
    (app, backend)
}

#[tokio::test]
async fn arguments_and_unknown_members_pass_byte_for_byte() {
    let (app, backend) = stage(&["echo"]).await;
    let client = app.visit("/virtual/v").await;
    let params = |name: &str| {
        format!(
            r#"{{ "_meta":{{"vendor/x":1.0,"progressToken":"p"}}, "name" : "{name}","arguments":{{"n":1E5,"s":"\u00e9\/","name":"the_echo"}},"vendor":[]}}"#
        )
    };
    let body = |name: &str| {
        format!(r#"{{"id" : "a\u0062","method":"tools/call","jsonrpc":"2.0", "params":{}}}"#, params(name))
    };
    let shape = client.message("tools/call", json!({ "name": "the_echo" }));
    let answer = client.post_bytes(client.headers_for(&shape), body("the_echo")).await;
    let answer = answer.text().await;
    assert!(answer.contains(r#""id":"ab""#), "{answer}");
    let arrived = backend.calls().pop().unwrap();
    assert_eq!(String::from_utf8(arrived.body.to_vec()).unwrap(), body("echo"));
}

#[tokio::test]
async fn progress_comes_on_the_stream_of_its_call() {
    let (app, _backend) = stage(&["progress"]).await;
    let client = app.visit("/virtual/v").await;
    let params =
        json!({ "name": "the_progress", "arguments": { "steps": 4 }, "_meta": { "progressToken": "mine" } });
    let answer = client.request("tools/call", params).await;
    assert!(answer.is_events());
    assert_eq!(
        (answer.header("x-accel-buffering"), answer.header("cache-control")),
        ("no", "no-cache, no-transform")
    );
    let messages = answer.messages().await;
    let steps: Vec<_> = messages.iter().filter(|one| one["method"] == "notifications/progress").collect();
    assert_eq!(steps.len(), 4);
    assert!(steps.iter().all(|step| step["params"]["progressToken"] == "mine"), "{steps:?}");
    assert_eq!(messages.last().unwrap()["result"]["isError"], false);
}

#[tokio::test]
async fn an_event_arrives_before_the_answer_is_ready() {
    let (app, _backend) = stage(&["progress"]).await;
    let client = app.visit("/virtual/v").await;
    let params = json!({ "name": "the_progress", "arguments": { "steps": 2, "pause_ms": 60_000 },
        "_meta": { "progressToken": 1 } });
    let mut answer = client.request("tools/call", params).await;
    assert_eq!(answer.message().await["params"]["progress"], 1);
}

#[tokio::test]
async fn the_log_level_is_told_to_every_backend_and_logs_come_with_the_call() {
    let (app, backend) = stage(&["log"]).await;
    let other = LegacyBackend::start("b").tool("log").await;
    app.serve("/b", &other.url()).await;
    app.compose("w", &[row("log", "/a", "a"), row("log", "/b", "b")]).await;
    let client = app.visit("/virtual/w").await;
    let silent = client.try_call("a", json!({ "level": "error", "text": "x" })).await.messages().await;
    assert_eq!(silent.len(), 1, "no level was set");
    // However long the backend takes to hear of it, the call after it is logged.
    backend.delay("logging/setLevel", Duration::from_millis(300));
    assert_eq!(
        client.request("logging/setLevel", json!({ "level": "warning" })).await.result().await,
        json!({})
    );
    for (tool, logger) in [("a", "a"), ("b", "b")] {
        let messages = client.try_call(tool, json!({ "level": "error", "text": "x" })).await.messages().await;
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert_eq!(messages[0]["params"], json!({ "level": "error", "logger": logger, "data": "x" }));
        let mild = client.try_call(tool, json!({ "level": "info", "text": "x" })).await.messages().await;
        assert_eq!(mild.len(), 1, "below the level");
    }
    let error = client.request("logging/setLevel", json!({ "level": "loud" })).await.error().await;
    assert_eq!(error["code"], -32602);
}

#[tokio::test]
async fn a_log_level_reaches_a_backend_that_is_just_being_told_another() {
    let (app, backend) = stage(&["log"]).await;
    let client = app.visit("/virtual/v").await;
    let set = |level: &'static str| client.request("logging/setLevel", json!({ "level": level }));
    let log = || client.try_call("the_log", json!({ "level": "error", "text": "x" }));
    set("emergency").await.result().await;
    backend.delay("logging/setLevel", Duration::from_millis(300));
    let first = async { log().await.messages().await };
    let second = async {
        backend.until("its new session hears of a level", |a| a.asked("logging/setLevel").len() == 1).await;
        set("warning").await.result().await;
        log().await.messages().await
    };
    let (_, messages) = tokio::join!(first, second);
    assert_eq!(messages.len(), 2, "{messages:?}");
}

#[tokio::test]
async fn a_failed_tool_and_an_error_pass_unchanged() {
    let (app, _backend) = stage(&["fail", "error"]).await;
    let client = app.visit("/virtual/v").await;
    assert_eq!(client.call("the_fail", json!({})).await["isError"], true);
    let answer = client.try_call("the_error", json!({ "code": -32099, "message": "no" })).await;
    assert_eq!(answer.status, 200);
    let expected = json!({ "code": -32099, "message": "no", "data": { "backend": "a" } });
    assert_eq!(answer.error().await, expected);
}

#[tokio::test]
async fn large_bodies_pass_both_ways() {
    let (app, backend) = stage(&["big", "echo"]).await;
    let client = app.visit("/virtual/v").await;
    let big = client.call("the_big", json!({ "bytes": 20_000_000 })).await;
    assert_eq!(big["content"][0]["text"].as_str().unwrap().len(), 20_000_000);
    let text = "ü".repeat(1_500_000);
    client.call("the_echo", json!({ "text": text })).await;
    assert_eq!(backend.ran().pop().unwrap().arguments["text"], text);
}

#[tokio::test]
async fn two_requests_of_one_id_never_cross() {
    let (app, backend) = stage(&["slow"]).await;
    let client = app.visit("/virtual/v").await;
    let call = |seconds: f64| {
        let params = json!({ "name": "the_slow", "arguments": { "seconds": seconds } });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
    };
    let (slow, quick, middle) = (call(0.6), call(0.0), call(0.3));
    let (slow, quick, middle) = tokio::join!(client.post(&slow), client.post(&quick), client.post(&middle));
    for (answer, seconds) in [(slow, 0.6), (quick, 0.0), (middle, 0.3)] {
        let reply = answer.reply().await;
        assert_eq!(reply["id"], 1);
        assert_eq!(reply["result"]["structuredContent"]["arguments"]["seconds"], seconds);
    }
    let ids: std::collections::BTreeSet<_> = backend.ran().iter().map(|run| run.id.to_string()).collect();
    assert_eq!(ids.len(), 3, "each has an id of its own at the backend: {ids:?}");
}

#[tokio::test]
async fn a_cancellation_reaches_the_backend_that_runs_the_call() {
    let (app, backend) = stage(&["slow"]).await;
    let client = app.visit("/virtual/v").await;
    let message =
        client.message("tools/call", json!({ "name": "the_slow", "arguments": { "seconds": 600 } }));
    let calling = tokio::spawn({
        let (client, message) = (client.clone(), message.clone());
        async move { client.post(&message).await }
    });
    backend.until("it runs", |a| a.runs("slow") == 1).await;
    let told = client.notify("notifications/cancelled", json!({ "requestId": message["id"] })).await;
    assert_eq!(told.status, 202);
    backend.until("it is stopped", |a| a.cancelled().len() == 1).await;
    calling.abort();
}

#[tokio::test]
async fn of_two_calls_with_one_id_each_can_be_cancelled() {
    let (app, backend) = stage(&["slow"]).await;
    let client = app.visit("/virtual/v").await;
    let params = json!({ "name": "the_slow", "arguments": { "seconds": 600 } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let mut calls = Vec::new();
    for running in 1..=2 {
        let (client, call) = (client.clone(), call.clone());
        calls.push(tokio::spawn(async move { client.post(&call).await.try_bytes().await }));
        backend.until("it runs", |a| a.runs("slow") == running).await;
    }
    for (stopped, call) in calls.into_iter().enumerate() {
        client.notify("notifications/cancelled", json!({ "requestId": 1 })).await;
        backend.until("one is stopped", |a| a.cancelled().len() == stopped + 1).await;
        call.await.unwrap();
    }
    let ran: Vec<_> = backend.ran().into_iter().map(|run| run.id).collect();
    assert_eq!(backend.cancelled(), ran, "the older one first, each under its id at the backend");
}

#[tokio::test]
async fn a_client_that_goes_away_does_not_cancel() {
    let (app, backend) = stage(&["slow", "echo"]).await;
    let client = app.visit("/virtual/v").await;
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.try_call("the_slow", json!({ "seconds": 0.3 })).await }
    });
    backend.until("it runs", |a| a.runs("slow") == 1).await;
    calling.abort();
    let gone = calling.await;
    assert!(gone.is_err_and(|error| error.is_cancelled()));
    // The call would have ended by then, if it was to be stopped.
    client.call("the_echo", json!({})).await;
    let log = async { backend.until("it is cancelled", |a| !a.cancelled().is_empty()).await };
    assert!(tokio::time::timeout(Duration::from_millis(600), log).await.is_err());
}

#[tokio::test]
async fn thirty_calls_at_once_greet_once() {
    let (app, backend) = stage(&["echo"]).await;
    let client = app.visit("/virtual/v").await;
    backend.delay("initialize", Duration::from_millis(300));
    backend.forget_history();
    let calls = (0..30).map(|n| {
        let client = client.clone();
        tokio::spawn(async move { client.call("the_echo", json!({ "n": n })).await })
    });
    let calls: Vec<_> = calls.collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap()["structuredContent"]["arguments"]["n"], n);
    }
    assert_eq!(backend.runs("echo"), 30);
    assert_eq!(greetings(&backend).len(), 1);
}

#[tokio::test]
async fn a_session_is_needed() {
    let (app, _backend) = stage(&["echo"]).await;
    let client = app.client("/virtual/v", &app.reader().await);
    let answer = client.request("tools/list", json!({})).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.error().await["code"], -32600);
    assert_eq!(client.request("ping", json!({})).await.status, 400);
    let client = app.visit("/virtual/v").await;
    assert_eq!(client.request("ping", json!({})).await.result().await, json!({}));
    assert_eq!(client.request("initialize", json!({})).await.error().await["code"], -32602);
    let unknown = client.clone().in_session("vs-nonsense").request("ping", json!({})).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn backends_of_every_kind_serve() {
    let app = App::start().await;
    let stateless = LegacyBackend::start("a").tool("echo").without_sessions().without_get_stream().await;
    let streaming = LegacyBackend::start("b").tool("echo").with_events().await;
    let old = LegacyBackend::start("c").tool("echo").speaks("2024-11-05").await;
    for (path, url) in [("/a", stateless.url()), ("/b", streaming.url()), ("/c", old.url())] {
        app.serve(path, &url).await;
    }
    app.compose("v", &["a", "b", "c"].map(|name| row("echo", &format!("/{name}"), name))).await;
    let client = app.visit("/virtual/v").await;
    for name in ["a", "b", "c"] {
        let told = client.call(name, json!({ "x": 1 })).await["structuredContent"].take();
        assert_eq!((&told["backend"], &told["arguments"]["x"]), (&json!(name), &json!(1)));
        assert_eq!(told["session"].is_null(), name == "a");
    }
    assert!(old.revisions().iter().all(|revision| revision == "2024-11-05"));
    assert_eq!(old.calls()[0].header("mcp-protocol-version"), "", "the header came later");
}
