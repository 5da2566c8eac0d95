//! Connections: both HTTP versions, both planes, limits, and what an operator reads.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::client::Connection;
use testkit::{LegacyBackend, Tool};

use crate::app::App;

#[tokio::test]
async fn one_connection_carries_both_planes() {
    let app = App::start().await;
    let admin = app.admin();
    let mut connection = Connection::open(app.authority()).await.unwrap();
    for _ in 0..3 {
        admin.send_on(&mut connection, "GET /api/servers", Value::Null).await.expect(200);
        admin.send_on(&mut connection, "GET /none-such", Value::Null).await.expect(404);
    }
}

#[tokio::test]
async fn unknown_paths_of_the_control_plane_are_problem_documents() {
    let app = App::start().await;
    for path in ["/api/none-such", "/ui/none-such", "/v0/none-such"] {
        let answer = app.admin().get(path).await;
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{path}");
        assert_eq!(answer.expect(404)["status"], 404, "{path}");
    }
}

#[tokio::test]
async fn http_2_is_spoken_by_prior_knowledge() {
    let app = App::start().await;
    let stream = tokio::net::TcpStream::connect(app.authority()).await.unwrap();
    let executor = hyper_util::rt::TokioExecutor::new();
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http2::handshake(executor, io).await.unwrap();
    tokio::spawn(connection);
    for (path, status) in [("/healthz", 200), ("/none-such", 401), ("/api/servers", 401)] {
        let request = http::Request::get(format!("{}{path}", app.url));
        let request = request.body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap();
        assert_eq!(sender.send_request(request).await.unwrap().status(), status, "{path}");
    }
}

#[tokio::test]
async fn beyond_the_limit_connections_wait() {
    let app = App::configured("[server]\nmax_connections = 2").await;
    let reader = app.anonymous();
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut connection = Connection::open(app.authority()).await.unwrap();
        reader.send_on(&mut connection, "GET /healthz", Value::Null).await.expect(200);
        held.push(connection);
    }
    let waiting = tokio::spawn(async move { reader.get("/healthz").await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    held.pop();
    waiting.await.unwrap().expect(200);
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_and_the_gateway_goes_on() {
    let backend = LegacyBackend::start("a").tool("echo").await;
    let app = App::configured("[server]\nmax_body_bytes = \"64KiB\"").await;
    app.serve("/a", &backend.url()).await;
    let mut client = app.client("/a", &app.reader().await);
    client.initialize().await;
    let answer = client.try_call("echo", json!({ "query": "x".repeat(70_000) })).await;
    assert_eq!(answer.status, 413);
    client.call("echo", json!({ "query": "x" })).await;
    assert_eq!(backend.runs("echo"), 1);
}

#[tokio::test]
async fn a_body_that_says_it_is_too_long_is_refused_before_it_comes() {
    let app = App::start().await;
    let mut stream = TcpStream::connect(app.authority()).unwrap();
    stream.set_read_timeout(Some(crate::app::PATIENCE)).unwrap();
    let token = app.admin().token.unwrap();
    let head = format!(
        "POST /api/servers/register HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 10000000\r\n\r\n",
        app.authority()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut begun = [0; 12];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(String::from_utf8_lossy(&begun), "HTTP/1.1 413");
}

#[tokio::test]
async fn nonsense_on_the_wire_ends_its_connection_only() {
    let app = App::start().await;
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(200_000));
    for nonsense in ["\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nnonsense", &long] {
        let mut stream = TcpStream::connect(app.authority()).unwrap();
        // The other side may close before all is written.
        let _ = stream.write_all(nonsense.as_bytes());
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let is_reset = read.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset);
        assert!(read.is_ok() || is_reset, "{read:?}");
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
    }
    app.anonymous().get("/readyz").await.expect(200);
}

#[tokio::test]
async fn metrics_are_open_and_count() {
    let backend = LegacyBackend::start("a").tool(Tool::new("echo")).await;
    let app = App::start().await;
    app.serve("/a", &backend.url()).await;
    let metrics = app.anonymous().get("/metrics").await;
    assert_eq!(metrics.status, 200);
    assert!(metrics.text.contains("switchyard_api_requests_total"), "{}", metrics.text);
    assert!(!metrics.text.contains(app.admin().token.as_deref().unwrap()));
}

#[tokio::test]
async fn a_low_limit_of_open_files_is_said() {
    let folder = crate::app::folder("");
    let program = env!("CARGO_BIN_EXE_switchyard");
    let line = format!("ulimit -n 300; exec {program} serve --listen 127.0.0.1:0");
    let mut process = std::process::Command::new("sh")
        .args(["-c", &line])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(process.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut said, &mut String::new()).unwrap();
    process.kill().unwrap();
    let log = process.wait_with_output().unwrap().stderr;
    let log = String::from_utf8_lossy(&log);
    assert!(log.contains("at most 100 of 20000 connections"), "{log}");
}
