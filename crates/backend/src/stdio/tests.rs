//! Real processes behind the seam. The backend is this test program, started again.

use std::path::Path;

use bytes::Bytes;
use catalog::endpoint::{Endpoint, Secret};
use http::{HeaderMap, Method, Response, StatusCode};
use testkit::stdio::{MODE, be_backend_if_asked};

use super::*;
use crate::error::Error;
use crate::handshake::{Hello, Learnt};
use crate::outgoing::Outgoing;
use crate::pool::Backends;
use crate::reply::Reply;
use crate::stub::{endpoint, settings};

/// More than any answer of the backend.
const MANY_BYTES: usize = 8 << 20;

#[test]
fn is_a_backend_where_asked() {
    be_backend_if_asked();
}

fn command(mode: &str) -> Command {
    let arguments = ["--exact", "stdio::tests::is_a_backend_where_asked", "--nocapture"];
    Command {
        program: std::env::current_exe().unwrap(),
        arguments: arguments.map(Into::into).to_vec(),
        environment: vec![(MODE.into(), Secret::new(mode))],
        directory: None,
    }
}

fn shell(script: &str) -> Command {
    Command {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: vec![("PATH".into(), Secret::new("/usr/bin:/bin"))],
        directory: None,
    }
}

/// Connections to commands, and one of them.
struct Scene {
    backends: Backends,
    stdio: Arc<Stdio>,
    endpoint: Endpoint,
}

impl Scene {
    fn of(command: Command) -> Self {
        Self::limited(command, Limits { start: Duration::from_secs(5), ..Limits::default() })
    }

    fn limited(command: Command, limits: Limits) -> Self {
        let stdio = Stdio::new([("it".to_owned(), command)].into(), limits);
        let settings = crate::settings::Settings { stdio: stdio.clone(), ..settings() };
        let backends = Backends::new(Arc::new(settings));
        Self { backends, stdio, endpoint: endpoint("stdio:it") }
    }

    async fn send(&self, method: Method, session: &str, body: &str) -> Result<Response<Reply>, Error> {
        let mut headers = HeaderMap::new();
        match session {
            "" => {}
            "modern" => drop(headers.insert("mcp-protocol-version", "2026-07-28".parse().unwrap())),
            id => drop(headers.insert("mcp-session-id", id.parse().unwrap())),
        }
        let outgoing = Outgoing { method, headers, body: Bytes::from(body.to_owned()) };
        self.backends.send(&self.endpoint, outgoing).await
    }

    /// Begins a session.
    async fn begin(&self) -> String {
        self.backends.greet(&self.endpoint, &Hello::default()).await.unwrap().session.unwrap()
    }

    /// Calls a tool and returns all it says.
    async fn call(&self, session: &str, id: u32, tool: &str) -> Result<String, Error> {
        let response = self.send(Method::POST, session, &call(id, tool)).await?;
        let body = response.into_body().collect(MANY_BYTES).await?;
        Ok(String::from_utf8(body.to_vec()).unwrap())
    }

    /// Calls a tool that answers one text.
    async fn text(&self, session: &str, tool: &str) -> String {
        let said = self.call(session, 5, tool).await.unwrap();
        let text = said.split(r#""text":""#).nth(1).unwrap_or_else(|| panic!("{said}"));
        text.split('"').next().unwrap().to_owned()
    }
}

fn call(id: u32, tool: &str) -> String {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":"p"}"#;
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{meta}}}}}"#
    )
}

fn runs(id: &str) -> bool {
    Path::new("/proc").join(id).exists()
}

async fn until(mut is_so: impl FnMut() -> bool) {
    tokio::time::timeout(Duration::from_secs(10), async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("it comes true in time");
}

#[tokio::test]
async fn a_session_is_a_process() {
    let scene = Scene::of(command("legacy"));
    let (one, two) = (scene.begin().await, scene.begin().await);
    let (first, second) = (scene.text(&one, "process").await, scene.text(&two, "process").await);
    assert_ne!(first, second);
    assert_eq!(scene.text(&one, "process").await, first);
    let response = scene.send(Method::POST, &one, &call(3, "echo")).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    let ended = scene.send(Method::DELETE, &one, "").await.unwrap();
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    until(|| !runs(&first)).await;
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let gone = scene.send(method.clone(), &one, &call(4, "echo")).await.unwrap();
        assert_eq!(gone.status(), StatusCode::NOT_FOUND, "{method}");
    }
    assert!(runs(&second));
    scene.stdio.stop().await;
    assert!(!runs(&second));
}

#[tokio::test]
async fn messages_before_the_answer_make_a_stream() {
    let scene = Scene::of(command("legacy"));
    let session = scene.begin().await;
    let response = scene.send(Method::POST, &session, &call(3, "count")).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let body = response.into_body().collect(MANY_BYTES).await.unwrap();
    let body = String::from_utf8_lossy(&body);
    assert_eq!(body.matches("event: message\n").count(), 4, "{body}");
    assert!(body.trim_end().ends_with(r#""text":"counted"}]}}"#), "{body}");
    assert!(scene.call(&session, 4, "garbage").await.unwrap().contains("after the garbage"));
    assert!(scene.call(&session, 5, "large").await.unwrap().len() > 3 << 20);
    assert!(scene.call(&session, 6, "log").await.unwrap().contains("a line of the log"));
}

#[tokio::test]
async fn news_come_on_their_stream() {
    let scene = Scene::of(command("legacy"));
    let session = scene.begin().await;
    let mut news = scene.send(Method::GET, &session, "").await.unwrap().into_body();
    scene.call(&session, 3, "change").await.unwrap();
    let event = news.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(String::from_utf8_lossy(&event).contains("list_changed"));
    scene.send(Method::DELETE, &session, "").await.unwrap();
    assert!(news.frame().await.is_none());
}

#[tokio::test]
async fn eras_are_learnt() {
    for (mode, is_modern) in [("modern", true), ("legacy", false), ("deaf", false), ("fragile", false)] {
        let limits = Limits { start: Duration::from_secs(2), ..Limits::default() };
        let scene = Scene::limited(command(mode), limits);
        let learnt = scene.backends.learn(&scene.endpoint, None).await.unwrap();
        assert_eq!(matches!(learnt, Learnt::Modern(_)), is_modern, "{mode}: {learnt:?}");
        let read =
            scene.backends.inventory(&scene.endpoint, None, catalog::time::Timestamp(0)).await.unwrap();
        assert_eq!(read.tools.len(), 15, "{mode}");
        scene.stdio.stop().await;
    }
}

#[tokio::test]
async fn what_was_asked_for_its_era_begins_the_session() {
    let scene = Scene::limited(command("legacy"), Limits { processes: 1, ..Limits::default() });
    // With room for one process, a second could not start.
    let Learnt::Legacy(greeting) = scene.backends.learn(&scene.endpoint, None).await.unwrap() else {
        panic!()
    };
    let session = greeting.session.unwrap();
    // It is a session like any other: its ids are its own, and news are for it.
    assert!(scene.call(&session, 77, "echo").await.unwrap().contains(r#""id":77"#));
    let mut news = scene.send(Method::GET, &session, "").await.unwrap().into_body();
    let left = tokio::time::timeout(Duration::from_millis(100), scene.call(&session, 79, "hang")).await;
    assert!(left.is_err());
    scene.call(&session, 80, "change").await.unwrap();
    let event = news.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(String::from_utf8_lossy(&event).contains("list_changed"));
    assert_eq!(scene.text(&session, "cancelled").await, "[]");
}

#[tokio::test]
async fn a_modern_process_serves_everybody() {
    let scene = Scene::of(command("modern"));
    let calls = (0..20).map(|_| scene.call("modern", 1, "count"));
    for said in futures_util::future::join_all(calls).await {
        let said = said.unwrap();
        assert_eq!(said.matches(r#""progressToken":"p""#).count(), 3, "{said}");
        assert!(said.contains(r#""id":1,"#), "{said}");
    }
    let process = scene.text("modern", "process").await;
    assert_eq!(scene.text("modern", "process").await, process);
    scene.stdio.stop().await;
    assert!(!runs(&process));
}

#[tokio::test]
async fn leaving_cancels_without_a_session() {
    let scene = Scene::of(command("modern"));
    scene.text("modern", "process").await;
    let left = tokio::time::timeout(Duration::from_millis(200), scene.call("modern", 3, "hang")).await;
    assert!(left.is_err());
    // The backend looks at messages side by side.
    let told = async { while scene.text("modern", "cancelled").await != "[2]" {} };
    tokio::time::timeout(Duration::from_secs(10), told).await.expect("it is told");
}

#[tokio::test]
async fn leaving_a_session_cancels_nothing() {
    let scene = Scene::of(command("legacy"));
    let session = scene.begin().await;
    let left = tokio::time::timeout(Duration::from_millis(200), scene.call(&session, 3, "hang")).await;
    assert!(left.is_err());
    assert_eq!(scene.text(&session, "cancelled").await, "[]");
}

#[tokio::test]
async fn death_is_told_and_not_undone() {
    let scene = Scene::of(command("legacy"));
    let session = scene.begin().await;
    let error = scene.call(&session, 3, "die").await.unwrap_err();
    assert!(error.may_have_run() && error.to_string().contains("exit status: 7"), "{error}");
    let gone = scene.send(Method::POST, &session, &call(4, "echo")).await.unwrap();
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
    let next = scene.begin().await;
    scene.text(&next, "process").await;
}

#[tokio::test]
async fn endless_lines_end_the_process() {
    let scene = Scene::of(command("legacy"));
    let session = scene.begin().await;
    let process = scene.text(&session, "process").await;
    let error = scene.call(&session, 3, "endless").await.unwrap_err();
    assert!(error.to_string().contains("longer than 16 MiB"), "{error}");
    until(|| !runs(&process)).await;
}

#[tokio::test]
async fn commands_that_cannot_start_are_unreachable() {
    let missing = Command { program: "/nowhere/at/all".into(), ..shell("") };
    for (command, reason) in [
        (missing, "cannot be started"),
        (shell("echo oops >&2; exit 4"), "exit status: 4"),
        (shell("exec sleep 100"), "no answer"),
    ] {
        let limits = Limits { start: Duration::from_secs(2), ..Limits::default() };
        let scene = Scene::limited(command, limits);
        let error = scene.backends.greet(&scene.endpoint, &Hello::default()).await.unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        scene.stdio.stop().await;
    }
    let scene = Scene::of(shell(""));
    let error = scene.backends.greet(&endpoint("stdio:other"), &Hello::default()).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }) && error.to_string().contains("no command other"));
}

#[tokio::test]
async fn what_a_command_started_ends_with_it() {
    let scene = Scene::of(command("legacy"));
    let session = scene.begin().await;
    let child = scene.text(&session, "offspring").await;
    assert!(runs(&child));
    scene.send(Method::DELETE, &session, "").await.unwrap();
    until(|| !runs(&child)).await;
}

#[tokio::test]
async fn the_deaf_are_killed() {
    let limits = Limits { grace: Duration::from_millis(100), ..Limits::default() };
    let script = r#"trap "" TERM; read line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"'$$'","version":"1"}}}'; while true; do sleep 1; done"#;
    let scene = Scene::limited(shell(script), limits);
    let greeting = scene.backends.greet(&scene.endpoint, &Hello::default()).await.unwrap();
    let process = greeting.server_info.split('"').nth(3).unwrap().to_owned();
    assert!(runs(&process), "{}", greeting.server_info);
    scene.stdio.stop().await;
    assert!(!runs(&process));
}

#[tokio::test]
async fn there_is_room_for_so_many() {
    let limits = Limits { processes: 1, start: Duration::from_millis(1500), ..Limits::default() };
    let scene = Scene::limited(command("legacy"), limits);
    let session = scene.begin().await;
    let error = scene.backends.greet(&scene.endpoint, &Hello::default()).await.unwrap_err();
    assert!(!error.may_have_run() && error.to_string().contains("too many commands"), "{error}");
    scene.send(Method::DELETE, &session, "").await.unwrap();
    scene.begin().await;
}

#[tokio::test]
async fn the_idle_make_room() {
    let limits = Limits { processes: 1, idle: Duration::from_millis(400), ..Limits::default() };
    let scene = Scene::limited(command("legacy"), limits);
    let session = scene.begin().await;
    let process = scene.text(&session, "process").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let next = scene.begin().await;
    assert!(!runs(&process));
    scene.text(&next, "process").await;
    let gone = scene.send(Method::POST, &session, &call(3, "echo")).await.unwrap();
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn idle_and_unwanted_processes_end() {
    for mode in ["legacy", "modern"] {
        let limits = Limits { idle: Duration::from_millis(100), ..Limits::default() };
        let scene = Scene::limited(command(mode), limits);
        let session = if mode == "modern" { mode.to_owned() } else { scene.begin().await };
        let process = scene.text(&session, "process").await;
        let hanging = async { scene.call(&session, 3, "hang").await };
        let busy = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            scene.stdio.sweep(&|name| name == "it");
            tokio::time::sleep(Duration::from_millis(200)).await;
            assert!(runs(&process), "it is in use");
        };
        tokio::select! {
            _ = hanging => panic!("it hangs"),
            () = busy => {}
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        scene.stdio.sweep(&|name| name == "it");
        until(|| !runs(&process)).await;
        let session = if mode == "modern" { mode.to_owned() } else { scene.begin().await };
        let process = scene.text(&session, "process").await;
        scene.stdio.sweep(&|_| false);
        until(|| !runs(&process)).await;
    }
}

#[tokio::test]
async fn a_session_is_needed() {
    let scene = Scene::of(command("legacy"));
    for (method, body, status) in [
        (Method::POST, call(1, "echo"), 400),
        (Method::POST, "[]".into(), 400),
        (Method::POST, "{".into(), 400),
        (Method::GET, String::new(), 405),
        (Method::DELETE, String::new(), 405),
    ] {
        let answer = scene.send(method.clone(), "", &body).await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{method} {body}");
    }
    let answer = scene.send(Method::POST, "0123", &call(1, "echo")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_environment_is_what_was_given() {
    let scene = Scene::of(command("legacy"));
    let session = scene.begin().await;
    let said = scene.call(&session, 3, "environment").await.unwrap();
    assert!(said.contains(MODE) && !said.contains("CARGO"), "{said}");
}
