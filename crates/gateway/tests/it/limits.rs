//! How often callers may come, and what strangers' pages get.

use serde_json::{Value, json};
use testkit::LegacyBackend;

use crate::app::App;
use crate::caller::{Answer, Caller};

async fn ask(caller: &Caller, path: &str) -> Answer {
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    caller.send(&format!("POST {path}"), body).await
}

fn refusal(answer: Answer, limit: &str) -> Value {
    let wait: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert_eq!(answer.headers["x-mcp-error-class"], "rate-limited");
    let body = answer.expect(200);
    assert_eq!((&body["id"], &body["error"]["code"]), (&json!(7), &json!(-31007)), "{body}");
    assert_eq!(body["error"]["data"]["limit"], limit, "{body}");
    let millis = body["error"]["data"]["retryAfterMs"].as_u64().unwrap();
    assert!(millis > 0 && wait == millis.div_ceil(1000), "{body}");
    body
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let backend = LegacyBackend::start("a").tool("echo").await;
    let app = App::configured(
        "[limits]\nprincipal = \"6/h\"\npair = \"3/h\"\n[limits.paths.\"/free\"]\npair = \"off\"\nendpoint = \"4/h\"",
    )
    .await;
    // Registering takes requests as well.
    let body = |path: &str| json!({ "path": path, "proxy_pass_url": backend.url(), "is_enabled": true });
    for path in ["/a", "/free"] {
        app.admin().send("POST /api/servers/register", body(path)).await.expect(201);
    }
    let reader = app.reader().await;
    let other = app.holder("other", &[]).await;
    for _ in 0..3 {
        ask(&reader, "/a").await.expect(200)["result"].as_object().unwrap();
    }
    refusal(ask(&reader, "/a").await, "pair");
    refusal(ask(&reader, "/a/mcp").await, "pair");
    // What nobody reads an answer to is refused by its status; what ends or answers something is let through.
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {} });
    let told = reader.send("POST /a", told).await;
    assert_eq!((told.status.as_u16(), told.headers.contains_key("retry-after")), (429, true));
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_ne!(reader.send("POST /a", cancelled).await.status, 429);
    // Three are left to the caller, wherever.
    for _ in 0..3 {
        ask(&reader, "/free").await.expect(200);
    }
    refusal(ask(&reader, "/free").await, "principal");
    let listed = reader.get("/api/servers").await;
    assert_eq!(listed.headers["content-type"], "application/problem+json");
    assert!(listed.headers.contains_key("retry-after"));
    assert!(listed.expect(429)["detail"].as_str().unwrap().contains("too many requests by this caller"));
    ask(&other, "/free").await.expect(200);
    refusal(ask(&other, "/free").await, "endpoint");
    ask(&other, "/a").await.expect(200);
    let metrics = app.anonymous().get("/metrics").await.text;
    assert!(metrics.contains("switchyard_rate_limited_total{limit=\"pair\"} 3"), "{metrics}");
}

#[tokio::test]
async fn bad_limits_are_named() {
    let folder = crate::app::folder("[limits]\nprincipal = \"fast\"\n[limits.paths.\"a\"]\npair = \"1/d\"");
    let ran = crate::app::run(folder.path(), &["check"]).await;
    assert_eq!(ran.status, 1, "{ran:?}");
    for part in ["limits.principal: \"fast\"", "\"a\" is no endpoint's path", "limits.paths.\"a\".pair"] {
        assert!(ran.complained.contains(part), "{ran:?}");
    }
}

#[tokio::test]
async fn answers_of_the_control_plane_are_of_no_use_to_other_pages() {
    let app = App::start().await;
    for path in ["/api/docs", "/api/servers", "/healthz", "/metrics", "/api/nothing", "/ui/"] {
        let answer = app.admin().get(path).await;
        let of = |name: &str| answer.headers[name].to_str().unwrap().to_owned();
        assert!(of("content-security-policy").contains("default-src"), "{path}");
        assert!(of("content-security-policy").contains("frame-ancestors 'none'"), "{path}");
        assert!(!of("content-security-policy").contains("unsafe"), "{path}");
        assert_eq!(of("x-content-type-options"), "nosniff");
        assert_eq!(of("x-frame-options"), "DENY");
        assert!(["no-referrer", "same-origin"].contains(&of("referrer-policy").as_str()), "{path}");
        assert_eq!(of("cross-origin-resource-policy"), "same-origin");
    }
}

#[tokio::test]
async fn the_control_plane_answers_to_its_own_names_only() {
    let app = App::start().await;
    let admin = app.admin();
    let asked = async |path: &str, name: &'static str, value: &'static str| {
        let mut request = admin.request(&format!("GET {path}"), &Value::Null);
        request.headers_mut().insert(name, value.parse().unwrap());
        let mut connection = testkit::client::Connection::open(app.authority()).await.unwrap();
        connection.send(request).await.unwrap().status.as_u16()
    };
    for path in ["/api/servers", "/api/docs", "/v0/servers"] {
        assert_eq!(asked(path, "host", "evil.example").await, 403, "{path}");
        assert_eq!(asked(path, "origin", "https://evil.example").await, 403, "{path}");
        assert_eq!(asked(path, "origin", "null").await, 403, "{path}");
        assert_eq!(asked(path, "origin", "http://localhost:3000").await, 200, "{path}");
    }
    for path in ["/healthz", "/metrics"] {
        assert_eq!(asked(path, "host", "10.1.2.3:8080").await, 200, "{path}");
    }
}
