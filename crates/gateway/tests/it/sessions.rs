//! Sessions over time: restarts, crashes, memory that is cleared, and ends that last.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::events::Answer;
use testkit::{Client, LegacyBackend};

use crate::app::{App, PATIENCE};
use crate::compose::row;
use crate::heard::greetings;

/// A backend at `/a` and, composed, at `/virtual/v`.
async fn stage(toml: &str) -> (App, LegacyBackend) {
    let backend = LegacyBackend::start("a").tools(["count", "ask", "echo"]).await;
    let app = App::configured(toml).await;
    app.serve("/a", &backend.url()).await;
    app.compose("v", &["count", "ask", "echo"].map(|tool| row(tool, "/a", ""))).await;
    (app, backend)
}

const PATHS: [&str; 2] = ["/a", "/virtual/v"];

async fn count(client: &Client) -> serde_json::Value {
    client.call("count", json!({})).await["structuredContent"]["count"].take()
}

#[tokio::test]
async fn a_restart_loses_no_session() {
    let (mut app, backend) = stage("").await;
    let (direct, composed) = (app.visit("/a").await, app.visit("/virtual/v").await);
    assert_eq!((count(&direct).await, count(&composed).await), (json!(1), json!(1)));
    app.restart().await;
    let before = greetings(&backend).len();
    for (client, path) in [(direct, "/a"), (composed, "/virtual/v")] {
        let client = client.at(&format!("{}{path}", app.url));
        assert_eq!(count(&client).await, 2, "{path}: it goes on in the same backend session");
        assert_eq!(client.request("ping", json!({})).await.result().await, json!({}));
    }
    assert_eq!(greetings(&backend).len(), before, "nobody was greeted again");
}

#[tokio::test]
async fn a_crash_loses_no_session_either() {
    let (mut app, backend) = stage("").await;
    let (direct, composed) = (app.visit("/a").await, app.visit("/virtual/v").await);
    for client in [&direct, &composed] {
        client.call("echo", json!({})).await;
    }
    app.crash().await;
    for (client, path) in [(direct, "/a"), (composed, "/virtual/v")] {
        let client = client.at(&format!("{}{path}", app.url));
        client.call("echo", json!({})).await;
    }
    assert_eq!(backend.runs("echo"), 4);
}

#[tokio::test]
async fn a_deleted_session_stays_unknown_after_a_restart() {
    let (mut app, backend) = stage("").await;
    let client = app.visit("/virtual/v").await;
    let told = client.call("count", json!({})).await;
    let own = backend.ran()[0].session.clone().unwrap();
    assert_eq!(told["structuredContent"]["session"], own);
    assert_eq!(client.delete().await.status, 204);
    backend.until("its session is ended, too", |a| !a.sessions().contains(&own)).await;
    for restarts in 0..2 {
        let client = client.clone().at(&format!("{}/virtual/v", app.url));
        let answer = client.request("tools/list", json!({})).await;
        assert_eq!(answer.status, 404, "after {restarts} restarts");
        assert_eq!(answer.error().await["code"], -32001);
        assert_eq!(client.delete().await.status, 404);
        assert_eq!(client.get().await.status, 404);
        app.restart().await;
    }
}

#[tokio::test]
async fn a_session_belongs_to_its_caller() {
    let (app, backend) = stage("").await;
    for path in PATHS {
        let client = app.visit(path).await;
        client.call("echo", json!({})).await;
        let stranger = app.holder("stranger", &[]).await;
        let stolen = app.client(path, &stranger).in_session(client.session.as_deref().unwrap());
        let before = backend.calls().len();
        for answer in [stolen.try_call("echo", json!({})).await, stolen.get().await, stolen.delete().await] {
            assert_eq!(answer.status, 404, "{path}");
        }
        assert_eq!(backend.calls().len(), before);
        // Another token of the same caller is the same caller.
        let again = app.client(path, &app.reader().await).in_session(client.session.as_deref().unwrap());
        again.call("echo", json!({})).await;
    }
}

#[tokio::test]
async fn a_session_belongs_to_its_path() {
    let (app, backend) = stage("").await;
    app.serve("/b", &backend.url()).await;
    app.compose("w", &[row("echo", "/a", "")]).await;
    for (path, other) in
        [("/a", "/b"), ("/virtual/v", "/virtual/w"), ("/a", "/virtual/v"), ("/virtual/v", "/a")]
    {
        let client = app.visit(path).await;
        let astray = client.at(&format!("{}{other}", app.url));
        assert_eq!(astray.try_call("echo", json!({})).await.status, 404, "{path} at {other}");
    }
    assert_eq!(backend.runs("echo"), 0);
}

#[tokio::test]
async fn an_id_that_was_tampered_with_is_unknown() {
    let (app, backend) = stage("").await;
    for path in PATHS {
        let client = app.visit(path).await;
        let id = client.session.clone().unwrap();
        let mut wrong =
            vec![String::from("x"), id.to_uppercase(), format!("{id}A"), id[..id.len() - 1].to_owned()];
        for place in (0..id.len()).step_by(7) {
            let mut bytes = id.clone().into_bytes();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            wrong.push(String::from_utf8(bytes).unwrap());
        }
        wrong.push(format!("vs-{id}"));
        wrong.push(id.trim_start_matches("vs-").chars().rev().collect());
        for id in wrong {
            let answer = client.clone().in_session(&id).try_call("echo", json!({})).await;
            assert_eq!(answer.status, 404, "{path}: {id}");
        }
        client.call("echo", json!({})).await;
    }
    assert_eq!(backend.runs("echo"), 2);
}

#[tokio::test]
async fn what_left_memory_comes_back_from_the_store() {
    let (app, backend) = stage("[sessions]\nmemory_idle = \"1s\"").await;
    let client = app.visit("/virtual/v").await;
    assert_eq!(count(&client).await, 1);
    let _streams = until_idle_ones_left_memory(&app).await;
    assert_eq!(count(&client).await, 2, "the same backend session");
    assert_eq!(backend.ran()[0].session, backend.ran()[1].session);
}

#[tokio::test]
async fn what_left_the_store_too_costs_one_greeting() {
    let (app, backend) = stage("[sessions]\nmemory_idle = \"1s\"\nstore_idle = \"1s\"").await;
    let client = app.visit("/virtual/v").await;
    assert_eq!(count(&client).await, 1);
    let _streams = until_idle_ones_left_memory(&app).await;
    let before = greetings(&backend).len();
    // What was written down when it left memory holds for a second.
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert_eq!(count(&client).await, 1, "a new backend session");
    assert_eq!(greetings(&backend).len(), before + 1);
    assert_eq!(count(&client).await, 2);
}

#[tokio::test]
async fn a_session_whose_stream_is_open_stays_and_hears() {
    let (app, _backend) = stage("[sessions]\nmemory_idle = \"1s\"").await;
    let streams = until_idle_ones_left_memory(&app).await;
    app.recompose("v", json!({ "tool_mappings": [row("echo", "/a", "")] })).await;
    for mut stream in streams {
        assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
    }
}

#[tokio::test]
async fn more_sessions_than_memory_holds_all_serve() {
    let (app, backend) = stage("[sessions]\nmax = 64\nmemory_idle = \"1s\"").await;
    let mut clients = Vec::new();
    let caller = app.reader().await;
    for _ in 0..200 {
        let mut client = app.client("/virtual/v", &caller);
        client.initialize().await;
        clients.push(client);
    }
    for client in &clients {
        assert_eq!(count(client).await, 1);
    }
    for client in &clients {
        assert_eq!(count(client).await, 2);
    }
    assert_eq!(greetings(&backend).len(), 200);
}

/// Waits until no session is in memory but those of the streams it returns.
async fn until_idle_ones_left_memory(app: &App) -> [Answer; 2] {
    // A count may be of the moment before a session came, so only the second is sure to tell of idle ones.
    let first = app.visit("/virtual/v").await.get().await;
    until_in_memory(app, 1).await;
    let second = app.visit("/virtual/v").await.get().await;
    until_in_memory(app, 2).await;
    [first, second]
}

async fn until_in_memory(app: &App, sessions: usize) {
    let wanted = format!("switchyard_sessions_in_memory {sessions}");
    let begun = Instant::now();
    loop {
        let metrics = app.anonymous().get("/metrics").await.text;
        if metrics.lines().any(|line| line == wanted) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "never {wanted}: {metrics}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
