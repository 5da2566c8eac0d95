//! What a request must look like: path, method, host, types, size, and a message in it.

use std::io::{Read, Write};

use http::{HeaderMap, HeaderValue, Method, Request};
use serde_json::{Value, json};
use testkit::LegacyBackend;
use testkit::client::Connection;
use testkit::record::Seen;

use super::Stage;
use crate::app::App;

/// Posts a `tools/list` with one header changed (removed, where the value is empty) and returns the answer.
async fn with_header(stage: &Stage, name: &'static str, value: &'static str) -> testkit::events::Answer {
    let message = stage.client.message("tools/list", json!({}));
    let mut headers = stage.client.headers_for(&message);
    headers.remove(name);
    if !value.is_empty() {
        headers.insert(name, HeaderValue::from_static(value));
    }
    stage.client.post_bytes(headers, message.to_string()).await
}

#[tokio::test]
async fn both_forms_of_a_path_serve_and_nothing_below() {
    let stage = Stage::start(&["echo"]).await;
    let at = |path: &str| stage.client.clone().at(&format!("{}{path}", stage.app.url));
    for path in ["/a", "/a/", "/a/mcp", "/a/mcp/"] {
        at(path).call("echo", json!({})).await;
    }
    assert!(stage.backend.seen().iter().all(|seen| seen.path == "/mcp"));
    for path in ["/a/x", "/a/mcp/x", "/ab", "/", "/a//mcp", "/b", "/virtual/a", "/a/../a/x"] {
        let answer = at(path).try_call("echo", json!({})).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.error().await["code"], -32600, "{path}");
    }
}

#[tokio::test]
async fn the_longest_path_wins_by_whole_segments() {
    let app = App::start().await;
    let mut backends = Vec::new();
    for path in ["/a", "/a/b", "/ab"] {
        let backend = LegacyBackend::start(&path[1..].replace('/', "-")).tool("echo").await;
        app.serve(path, &backend.url()).await;
        backends.push(backend);
    }
    for (path, name) in [("/a", "a"), ("/a/b", "a-b"), ("/a/b/mcp", "a-b"), ("/ab", "ab"), ("/a/mcp", "a")] {
        let told = app.visit(path).await.call("echo", json!({})).await;
        assert_eq!(told["structuredContent"]["backend"], name, "{path}");
    }
}

#[tokio::test]
async fn accept_decides_the_kind_of_answer() {
    let stage = Stage::start(&["echo"]).await;
    let fine = [
        "",
        "*/*",
        "application/json",
        "application/*",
        "text/event-stream",
        "text/html, application/json;q=0.1",
        "APPLICATION/JSON",
        "application/json, text/event-stream",
    ];
    for accept in fine {
        assert_eq!(with_header(&stage, "accept", accept).await.status, 200, "{accept}");
        let seen = stage.backend.seen().pop().unwrap();
        assert_eq!(seen.header("accept"), "application/json, text/event-stream", "backends demand both");
    }
    for accept in ["text/html", "image/*", "application/json;q=0", "text/event-streams"] {
        assert_eq!(with_header(&stage, "accept", accept).await.status, 406, "{accept}");
    }
}

#[tokio::test]
async fn the_content_type_must_be_json() {
    let stage = Stage::start(&["echo"]).await;
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""]
    {
        assert_eq!(with_header(&stage, "content-type", kind).await.status, 200, "{kind}");
    }
    let refused =
        ["", "text/plain", "application/jsonx", "application/json; charset=latin1", "application/xml"];
    for kind in refused {
        assert_eq!(with_header(&stage, "content-type", kind).await.status, 415, "{kind}");
    }
}

#[tokio::test]
async fn other_names_of_the_host_are_refused() {
    let stage = Stage::start(&["echo"]).await;
    let cases = [
        ("host", "localhost:1", 200),
        ("host", "127.0.0.1", 200),
        ("host", "[::1]:80", 200),
        ("host", "evil.example", 403),
        ("host", "127.0.0.1.evil.example", 403),
        ("origin", "http://localhost:3000", 200),
        ("origin", "http://evil.example", 403),
        ("origin", "http://127.0.0.1.evil.example", 403),
        ("origin", "null", 403),
    ];
    for (name, value, status) in cases {
        let answer = with_header(&stage, name, value).await;
        assert_eq!(answer.status, status, "{name}: {value}");
    }
}

#[tokio::test]
async fn hosts_and_origins_can_be_allowed() {
    let app = App::configured(
        "[server]\nallowed_hosts = [\"mcp.example.com\"]\nallowed_origins = [\"https://ui.example.com\"]",
    )
    .await;
    let backend = LegacyBackend::start("a").tool("echo").await;
    app.serve("/a", &backend.url()).await;
    let client = app.client("/a", &app.reader().await);
    for (host, origin, status) in [
        ("MCP.example.com:8443", "https://ui.example.com", 200),
        ("mcp.example.com", "https://mcp.example.com", 200),
        ("mcp.example.com", "https://other.example.com", 403),
        ("other.example.com", "https://ui.example.com", 403),
    ] {
        let client = client.clone().header("host", host).header("origin", origin);
        assert_eq!(client.try_initialize().await.status, status, "{host} {origin}");
    }
}

#[tokio::test]
async fn other_methods_are_not_allowed() {
    let stage = Stage::start(&["echo"]).await;
    let send = async |method: Method, headers: HeaderMap| {
        let mut connection = Connection::open(stage.app.authority()).await.unwrap();
        let mut request = Request::builder().method(method).uri("/a").body(bytes::Bytes::new()).unwrap();
        *request.headers_mut() = headers;
        connection.send(request).await.unwrap()
    };
    let with_session = stage.client.headers_for(&json!({}));
    let mut without = with_session.clone();
    without.remove("mcp-session-id");
    for method in [Method::PUT, Method::PATCH, Method::OPTIONS] {
        let answer = send(method.clone(), with_session.clone()).await;
        assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, "GET, POST, DELETE"), "{method}");
    }
    for method in [Method::GET, Method::DELETE] {
        let answer = send(method.clone(), without.clone()).await;
        assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, "POST"), "{method}");
    }
    let reached = |seen: &Seen| matches!(seen.http_method, Method::PUT | Method::PATCH | Method::OPTIONS);
    assert!(!stage.backend.seen().iter().any(reached));
}

#[tokio::test]
async fn what_is_no_message_is_refused_with_a_reason() {
    let stage = Stage::start(&["echo"]).await;
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{{\"a\":{}{}}}}}",
        "[".repeat(500),
        "]".repeat(500)
    );
    let bad: [(&[u8], i32, Value); 15] = [
        (b"", -32700, Value::Null),
        (b"{not json", -32700, Value::Null),
        (b"\xff\xfe{\x00}\x00", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\xc3\x28\"}", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600, Value::Null),
        (b"\"text\"", -32600, Value::Null),
        (b"{}", -32600, Value::Null),
        (b"{\"id\":1,\"method\":\"ping\"}", -32600, json!(1)),
        (b"{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}", -32600, json!("a")),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"tools/call\"}", -32600, json!(1)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"name\":\"b\"}}", -32600, json!(1)),
        (deep.as_bytes(), -32600, json!(1)),
    ];
    let headers = stage.client.headers_for(&json!({}));
    for (body, code, id) in &bad {
        let what = String::from_utf8_lossy(body).into_owned();
        let answer = stage.client.post_bytes(headers.clone(), body.to_vec()).await;
        assert_eq!(answer.status, 400, "{what}");
        let reply = answer.json().await;
        assert_eq!((&reply["error"]["code"], &reply["jsonrpc"]), (&json!(*code), &json!("2.0")), "{what}");
        assert!(reply["id"] == *id || reply["id"].is_null(), "{what}: {reply}");
        assert!(!reply["error"]["message"].as_str().unwrap().is_empty(), "{what}");
    }
    let own = |seen: &Seen| bad.iter().any(|(body, ..)| *body == &seen.body[..] && !body.is_empty());
    assert!(!stage.backend.seen().iter().any(own), "none reached the backend");
}

#[tokio::test]
async fn a_body_of_unknown_length_is_bounded_too() {
    let app = App::configured("[server]\nmax_body_bytes = \"64KiB\"").await;
    let backend = LegacyBackend::start("a").tool("echo").await;
    app.serve("/a", &backend.url()).await;
    backend.forget_history();
    let token = app.reader().await.token.unwrap();
    let authority = app.authority().to_owned();
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(&authority).unwrap();
        stream.set_read_timeout(Some(crate::app::PATIENCE)).unwrap();
        let head = format!(
            "POST /a HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let chunk = format!("{:x}\r\n{}\r\n", 8192, " ".repeat(8192));
        // The other side may close before all is written.
        while stream.write_all(chunk.as_bytes()).is_ok() {
            let mut begun = [0; 12];
            stream.set_nonblocking(true).unwrap();
            let has_answer = stream.peek(&mut begun).is_ok_and(|bytes| bytes == begun.len());
            stream.set_nonblocking(false).unwrap();
            if has_answer {
                break;
            }
        }
        let mut begun = [0; 12];
        stream.read_exact(&mut begun).unwrap();
        String::from_utf8_lossy(&begun).into_owned()
    });
    assert_eq!(answer.await.unwrap(), "HTTP/1.1 413");
    assert!(!backend.seen().iter().any(|seen| seen.body.starts_with(b"  ")));
}
