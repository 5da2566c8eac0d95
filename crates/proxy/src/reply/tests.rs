//! Each error's status, code and words (gateway protocol, section 11).

use http_body_util::BodyExt;
use mcp::message::Outline;

use super::*;
use crate::stage::scope;

async fn told(error: &Error, is_modern: bool) -> (Response<()>, serde_json::Value) {
    let url = || "http://localhost/.well-known/oauth-protected-resource/a".to_owned();
    let asker = Asker { id: Some(b"\"one\""), is_modern, metadata_url: &url, scope: &String::new };
    let (head, body) = refuse(error, &asker).into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    assert!(Outline::read(&bytes).is_ok(), "{error}");
    (Response::from_parts(head, ()), serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test]
async fn each_error_has_its_status_and_code() {
    let text = || "x".to_owned();
    let malformed = Outline::read(b"{").unwrap_err();
    let batch = Outline::read(b"[]").unwrap_err();
    let unreachable = Error::Unreachable { server: "/a".into(), reason: text() };
    let timed_out = Error::TimedOut { server: "/a".into(), reason: text() };
    let unusable = Error::Unusable { server: "/a".into(), reason: text() };
    let refused = |code| Error::Refused { server: "/a".into(), code, message: text() };
    let no_version = Error::NoSuchVersion { path: text(), asked: text(), known: text() };
    let session_version = Error::SessionVersion { of_session: text(), asked: text() };
    let unknown_name = Error::UnknownName { kind: "tool", name: text() };
    let unsupported = Error::UnsupportedVersion { requested: text(), supported: "[]".into() };
    let missing = Error::MissingScope { missing: scope("a"), needed: vec![scope("a")] };
    for (error, modern, legacy) in [
        (Error::ForeignHost, (403, -32600), (403, -32600)),
        (Error::Unauthorized("x"), (401, -32600), (401, -32600)),
        (Error::NoSuchPath(text()), (404, -32600), (404, -32600)),
        (Error::Disabled(text()), (404, -32600), (404, -32600)),
        (Error::MethodNotAllowed { allow: "POST" }, (405, -32600), (405, -32600)),
        (Error::MediaType, (415, -32600), (415, -32600)),
        (Error::TooLarge { limit: 1 }, (413, -32600), (413, -32600)),
        (Error::BodyBroken, (400, -32600), (400, -32600)),
        (Error::BodySlow, (408, -32600), (408, -32600)),
        (Error::NotAcceptable, (406, -32600), (406, -32600)),
        (Error::Malformed(malformed), (400, -32700), (400, -32700)),
        (Error::Malformed(batch), (400, -32600), (400, -32600)),
        (Error::InvalidRequest(text()), (400, -32600), (400, -32600)),
        (Error::InvalidParams(text()), (200, -32602), (200, -32602)),
        (Error::MissingMeta("x"), (400, -32602), (400, -32602)),
        (Error::HeaderMismatch(text()), (400, -32020), (400, -32020)),
        (unsupported, (400, -32022), (400, -32022)),
        (Error::UnknownMethod(text()), (404, -32601), (200, -32601)),
        (unknown_name, (200, -32602), (200, -32602)),
        (Error::ResourceNotFound(text()), (200, -32602), (200, -32002)),
        (Error::SessionUnknown, (404, -32001), (404, -32001)),
        (Error::SessionMissing, (400, -32600), (400, -32600)),
        (session_version, (400, -32600), (400, -32600)),
        (Error::Ambiguous { header: "x" }, (400, -32600), (400, -32600)),
        (no_version, (404, -31006), (404, -31006)),
        (missing, (403, -31008), (403, -31008)),
        (Error::Cancelled, (200, -32600), (200, -32600)),
        (unreachable, (200, -32000), (200, -32000)),
        (Error::RefusedCredentials { server: text() }, (200, -32000), (200, -32000)),
        (timed_out, (200, -31002), (200, -31002)),
        (unusable, (200, -31003), (200, -31003)),
        (refused(-32603), (200, -32603), (200, -32603)),
        (refused(i64::MAX), (200, -31003), (200, -31003)),
    ] {
        for (is_modern, (status, code)) in [(true, modern), (false, legacy)] {
            let (head, body) = told(&error, is_modern).await;
            assert_eq!(head.status().as_u16(), status, "{error:?} {is_modern}");
            assert_eq!(body["error"]["code"], code, "{error:?} {is_modern}");
            assert_eq!(body["error"]["message"], error.to_string());
            assert_eq!(body["id"], "one");
            assert_eq!(head.headers()["x-mcp-error-class"], error.class());
            assert_eq!(head.headers()["content-type"], "application/json");
            assert_eq!(head.headers().contains_key("allow"), status == 405);
            assert_eq!(
                head.headers().contains_key("www-authenticate"),
                matches!(status, 401 | 403) && error.class() != "foreign-host"
            );
        }
    }
}

#[tokio::test]
async fn errors_say_what_a_client_can_use() {
    let data = async |error: &Error, expected: serde_json::Value| {
        assert_eq!(told(error, true).await.1["error"]["data"], expected, "{error:?}");
    };
    let unreachable = Error::Unreachable { server: "/github".into(), reason: "say \"no\"".into() };
    data(&unreachable, serde_json::json!({ "server": "/github", "reason": "say \"no\"" })).await;
    assert_eq!(unreachable.to_string(), "Backend server unreachable: /github");
    data(&Error::ResourceNotFound("a://b".into()), serde_json::json!({ "uri": "a://b" })).await;
    let supported = "[\"2026-07-28\"]".to_owned();
    let unsupported = Error::UnsupportedVersion { requested: "1\"".into(), supported };
    data(&unsupported, serde_json::json!({ "supported": ["2026-07-28"], "requested": "1\"" })).await;
    data(&Error::SessionUnknown, serde_json::Value::Null).await;
    assert_eq!(
        told(&Error::MethodNotAllowed { allow: "GET, POST" }, false).await.0.headers()["allow"],
        "GET, POST"
    );
}

#[tokio::test]
async fn challenges_lead_to_the_metadata_and_name_all_scopes() {
    let challenge = async |error: &Error| {
        let value = told(error, false).await.0.headers()["www-authenticate"].clone();
        value.to_str().unwrap().to_owned()
    };
    let metadata = r#"resource_metadata="http://localhost/.well-known/oauth-protected-resource/a""#;
    assert_eq!(challenge(&Error::Unauthorized("x")).await, format!("Bearer {metadata}"));
    let (url, needed) = (|| "http://localhost/x".to_owned(), || "a b".to_owned());
    let asker = Asker { id: None, is_modern: false, metadata_url: &url, scope: &needed };
    let scoped = refuse(&Error::Unauthorized("x"), &asker).headers()["www-authenticate"].clone();
    assert_eq!(scoped, r#"Bearer resource_metadata="http://localhost/x", scope="a b""#);
    let missing = Error::MissingScope { missing: scope("b"), needed: vec![scope("a"), scope("b")] };
    let expected = format!(
        r#"Bearer error="insufficient_scope", scope="a b", {metadata}, error_description="Missing required scope: b""#
    );
    assert_eq!(challenge(&missing).await, expected);
}

#[tokio::test]
async fn an_error_without_an_id_says_null() {
    let asker = Asker { id: None, is_modern: false, metadata_url: &String::new, scope: &String::new };
    assert!(body(&Error::MediaType, &asker).windows(9).any(|part| part == b"\"id\":null"));
}

#[tokio::test]
async fn failures_of_backends_say_whose_fault_they_are() {
    let check = |error: backend::Error, code: i32, is_clients: bool| {
        let error = Error::of_backend("/a", &error);
        assert_eq!(rpc_code(&error, false), code, "{error:?}");
        assert_eq!(error.is_clients_fault(), is_clients, "{error:?}");
    };
    use backend::Error as Failed;
    check(Failed::Unreachable { reason: "x".into() }, -32000, false);
    check(Failed::Broken { reason: "x".into() }, -32000, false);
    check(Failed::TimedOut { what: "x", may_have_run: true }, -31002, false);
    check(Failed::Rpc { code: -32602, message: "x".into() }, -32602, false);
    check(Failed::Refused(StatusCode::UNAUTHORIZED), -32000, false);
    check(Failed::Refused(StatusCode::BAD_GATEWAY), -31003, false);
    check(Failed::NotMcp { reason: "x".into() }, -31003, false);
    assert!(Error::SessionUnknown.is_clients_fault());
}
