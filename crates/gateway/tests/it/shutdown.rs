//! Stopping: nothing new is taken, what runs is finished, and a second signal ends it at once.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::client::Connection;
use testkit::steps::{Step, Steps};
use testkit::{LegacyBackend, Tool};

use crate::app::App;

async fn busy(grace: &str) -> (App, LegacyBackend) {
    let backend = LegacyBackend::start("busy").tool(Tool::new("slow")).await;
    let app = App::configured(&format!("[server]\nshutdown_grace = \"{grace}\"")).await;
    app.serve("/busy", &backend.url()).await;
    (app, backend)
}

#[tokio::test]
async fn a_running_call_is_finished_and_new_connections_are_refused() {
    let (mut app, backend) = busy("20s").await;
    let mut client = app.client("/busy", &app.reader().await);
    client.initialize().await;
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.call("slow", json!({ "seconds": 2 })).await }
    });
    backend.until("the call runs", |stub| stub.runs("slow") == 1).await;
    app.terminate();
    let begun = Instant::now();
    while Connection::open(app.authority()).await.is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(1), "connections are still taken");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!running.is_finished());
    let result = running.await.unwrap();
    assert!(result.get("content").is_some(), "{result}");
    assert!(app.ended().await.success());
    assert!(begun.elapsed() < Duration::from_secs(10), "it waited for more than the call");
}

#[tokio::test]
async fn a_stream_that_begins_while_it_stops_is_finished() {
    let steps = [Step::Pause(500), Step::Progress(10), Step::Pause(1000)];
    let end = |_: &Value, _: &Value| json!({ "content": [{ "type": "text", "text": "done" }] });
    let backend = LegacyBackend::start("busy").tool(Tool::new("late").plays(Steps::new(steps, end))).await;
    let mut app = App::configured("[server]\nshutdown_grace = \"20s\"").await;
    app.serve("/busy", &backend.url()).await;
    let mut client = app.client("/busy", &app.reader().await);
    client.initialize().await;
    let params = json!({ "name": "late", "_meta": { "progressToken": "p" } });
    let running = tokio::spawn(async move { client.request("tools/call", params).await.messages().await });
    backend.until("the call runs", |stub| stub.runs("late") == 1).await;
    app.terminate();
    let messages = running.await.unwrap();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(messages[1]["result"]["content"][0]["text"], "done", "{messages:?}");
    assert!(app.ended().await.success());
}

#[tokio::test]
async fn idle_connections_and_streams_do_not_hold_it_up() {
    let (mut app, _backend) = busy("20s").await;
    let mut client = app.client("/busy", &app.reader().await);
    client.initialize().await;
    let mut stream = client.get().await;
    assert_eq!(stream.status, 200);
    let mut idle = Connection::open(app.authority()).await.unwrap();
    app.anonymous().send_on(&mut idle, "GET /healthz", Value::Null).await.expect(200);
    let silent = Connection::open(app.authority()).await.unwrap();
    let begun = Instant::now();
    app.terminate();
    assert!(app.ended().await.success());
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}: {}", begun.elapsed(), app.log());
    assert!(stream.event().await.is_none());
    drop(silent);
}

#[tokio::test]
async fn what_outlives_the_grace_period_is_cut_off() {
    let (mut app, backend) = busy("1s").await;
    let mut client = app.client("/busy", &app.reader().await);
    client.initialize().await;
    let message = client.message("tools/call", json!({ "name": "slow", "arguments": { "seconds": 25 } }));
    let running = tokio::spawn({
        let client = client.clone();
        async move { tokio::time::timeout(Duration::from_secs(20), client.post(&message)).await.is_ok() }
    });
    backend.until("the call runs", |stub| stub.runs("slow") == 1).await;
    let begun = Instant::now();
    app.terminate();
    assert!(app.ended().await.success());
    assert!(begun.elapsed() < Duration::from_secs(6), "it took {:?}", begun.elapsed());
    assert!(app.log().contains("grace period is over"), "{}", app.log());
    running.abort();
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let (mut app, backend) = busy("25s").await;
    let mut client = app.client("/busy", &app.reader().await);
    client.initialize().await;
    let message = client.message("tools/call", json!({ "name": "slow", "arguments": { "seconds": 20 } }));
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.post(&message).await.status }
    });
    backend.until("the call runs", |stub| stub.runs("slow") == 1).await;
    app.signal("INT");
    while !app.log().contains("stopping") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let begun = Instant::now();
    app.signal("INT");
    assert_eq!(app.ended().await.code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(2));
    running.abort();
}

#[tokio::test]
async fn it_says_that_it_is_not_ready_any_more() {
    let (mut app, backend) = busy("20s").await;
    let reader = app.reader().await;
    let mut client = app.client("/busy", &reader);
    client.initialize().await;
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.call("slow", json!({ "seconds": 1 })).await }
    });
    backend.until("the call runs", |stub| stub.runs("slow") == 1).await;
    // Sent in part before the signal and finished after it: such a connection is not idle.
    let mut half = tokio::net::TcpStream::connect(app.authority()).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut half, b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    app.terminate();
    while !app.log().contains("stopping") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let _ = tokio::io::AsyncWriteExt::write_all(&mut half, b"\r\n").await;
    let mut answer = String::new();
    // A gateway that closed it already is not ready either.
    let _ = tokio::io::AsyncReadExt::read_to_string(&mut half, &mut answer).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 503"), "{answer}");
    running.await.unwrap();
    assert!(app.ended().await.success());
}
