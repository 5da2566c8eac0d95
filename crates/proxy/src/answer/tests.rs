//! Whatever a backend answers: what its client hears.

use http_body_util::BodyExt;
use serde_json::Value;

use super::*;
use crate::forward;
use crate::relay::RestoreId;
use crate::stage::{Scripted, backends, version_at};

/// What a client is told: status, content type, body; or the error.
type Heard = Result<(u16, String, String), String>;

async fn heard(raw: &str, id: Option<&[u8]>, accepts: Accepts, is_untouched: bool) -> Heard {
    heard_by(raw, id, accepts, is_untouched, Relay::untouched()).await
}

async fn heard_by(raw: &str, id: Option<&[u8]>, accepts: Accepts, is_untouched: bool, relay: Relay) -> Heard {
    let backend = Scripted::answering(raw.to_owned()).await;
    let outgoing = forward::post(HeaderMap::new(), Bytes::from_static(b"{}"));
    let answer = forward::send(&backends(), &version_at(&backend.url), outgoing).await.unwrap();
    let hold = Hold::default();
    let expected = Expected { server: "/a", accepts, id, hold, relay, lending: None, is_untouched };
    let told = to_client(answer, expected).await.map_err(|error| format!("{error} {}", error.reason()))?;
    let (head, body) = told.into_parts();
    let kind = head.headers.get(CONTENT_TYPE).map_or("", |value| value.to_str().unwrap()).to_owned();
    let bytes = body.collect().await.unwrap().to_bytes();
    Ok((head.status.as_u16(), kind, String::from_utf8(bytes.into()).unwrap()))
}

const BOTH: Accepts = Accepts { json: true, events: true };
const ONLY_JSON: Accepts = Accepts { json: true, events: false };

fn raw(status: u16, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nx-secret: 1\r\n\r\n{body}"
    )
}

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const ERROR: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}"#;

#[tokio::test]
async fn answers_pass_and_the_rest_is_an_error() {
    let check = async |raw: String, is_untouched: bool, expected: Result<(u16, &str, &str), &str>| {
        let heard = heard(&raw, Some(b"1"), BOTH, is_untouched).await;
        let expected = expected.map(|(status, kind, body)| (status, kind.to_owned(), body.to_owned()));
        assert_eq!(heard, expected.map_err(str::to_owned), "{raw}");
    };
    for is_untouched in [true, false] {
        let json = "application/json";
        check(raw(200, json, ANSWER), is_untouched, Ok((200, json, ANSWER))).await;
        check(raw(200, "Application/JSON; charset=utf-8", ANSWER), is_untouched, Ok((200, json, ANSWER)))
            .await;
        for status in [400, 404, 500] {
            check(raw(status, json, ERROR), is_untouched, Ok((status, json, ERROR))).await;
        }
        let credentials = "Backend server refused the gateway's credentials: /a ";
        for status in [401, 407] {
            check(raw(status, json, ERROR), is_untouched, Err(credentials)).await;
        }
        let unusable = |reason: &str| format!("Backend server gave an unusable answer: /a {reason}");
        for status in [301, 307] {
            let reason = unusable(&format!("it redirected with HTTP {status}"));
            check(raw(status, "text/html", "moved"), is_untouched, Err(&reason)).await;
        }
        for (status, kind) in [(200, "text/html"), (500, "text/plain"), (202, "text/plain")] {
            let reason = unusable(&format!("it answered HTTP {status} without MCP in it"));
            check(raw(status, kind, "<html>"), is_untouched, Err(&reason)).await;
        }
        for body in ["", "{\"jsonrpc\"", "null"] {
            let reason = unusable("it answered JSON that is empty or cut off");
            check(raw(200, json, body), is_untouched, Err(&reason)).await;
        }
    }
    check(raw(404, "text/plain", "gone"), true, Ok((404, "text/plain", "gone"))).await;
    check(raw(429, "text/plain", ""), true, Ok((429, "", ""))).await;
    let reason = "Backend server gave an unusable answer: /a it answered HTTP 404 without MCP in it";
    check(raw(404, "text/plain", "gone"), false, Err(reason)).await;
}

#[tokio::test]
async fn what_asks_no_answer_gets_none() {
    for (status, kind, body) in [
        (202, "text/plain", ""),
        (200, "application/json", "{}"),
        (200, "application/json", ""),
        (204, "x/y", ""),
    ] {
        let heard = heard(&raw(status, kind, body), None, BOTH, true).await.unwrap();
        assert_eq!(heard, (202, String::new(), String::new()), "{status} {kind}");
    }
    let refused = heard(&raw(400, "application/json", ERROR), None, BOTH, true).await.unwrap();
    assert_eq!((refused.0, refused.2.as_str()), (400, ERROR));
}

#[tokio::test]
async fn a_large_answer_streams_and_a_broken_one_breaks() {
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":"{}"}}}}"#, "x".repeat(MAX_WHOLE_BYTES * 3));
    let heard = heard(&raw(200, "application/json", &body), Some(b"1"), BOTH, true).await.unwrap();
    assert_eq!(heard, (200, "application/json".into(), body.clone()));
    let cut = raw(200, "application/json", &body).split_at(1000).0.to_owned();
    let backend = Scripted::answering(cut).await;
    let outgoing = forward::post(HeaderMap::new(), Bytes::new());
    let answer = forward::send(&backends(), &version_at(&backend.url), outgoing).await.unwrap();
    let expected = Expected {
        server: "/a",
        accepts: BOTH,
        id: Some(b"1"),
        hold: Hold::default(),
        relay: Relay::untouched(),
        lending: None,
        is_untouched: true,
    };
    let told = to_client(answer, expected).await;
    let is_broken = match told {
        Err(error) => matches!(error, Error::Unreachable { .. }),
        Ok(told) => told.into_body().collect().await.is_err(),
    };
    assert!(is_broken, "never a short answer that looks whole");
}

#[tokio::test]
async fn a_refusal_in_words_keeps_them_and_when_to_come_back_and_nothing_else() {
    let long = "slow down ".repeat(20_000);
    for (body, kept) in [("slow down", 9), (long.as_str(), MAX_WHOLE_BYTES)] {
        let head = "HTTP/1.1 429 x\r\ncontent-type: text/plain\r\nretry-after: 5\r\nset-cookie: a=b\r\nwww-authenticate: Basic\r\n";
        let backend =
            Scripted::answering(format!("{head}content-length: {}\r\n\r\n{body}", body.len())).await;
        let outgoing = forward::post(HeaderMap::new(), Bytes::new());
        let answer = forward::send(&backends(), &version_at(&backend.url), outgoing).await.unwrap();
        let (hold, relay) = (Hold::default(), Relay::untouched());
        let id: Option<&[u8]> = Some(b"1");
        let expected =
            Expected { server: "/a", accepts: BOTH, id, hold, relay, lending: None, is_untouched: true };
        let (head, told) = to_client(answer, expected).await.unwrap().into_parts();
        let mut names: Vec<_> = head.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!((head.status.as_u16(), names), (429, vec!["content-type", "retry-after"]));
        assert_eq!(head.headers[RETRY_AFTER], "5");
        assert_eq!(told.collect().await.unwrap().to_bytes(), &body[..kept]);
    }
}

#[tokio::test]
async fn an_id_is_put_back_in_a_large_answer_that_streams() {
    let filler = "x".repeat(MAX_REWRITTEN_BYTES + 1);
    let first = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"{filler}"}}}}"#);
    let last =
        |id: &str, filler: &str| format!(r#"{{"result":{{"text":"{filler}"}},"id":{id},"jsonrpc":"2.0"}}"#);
    let restore = || RestoreId { own: Bytes::from_static(b"7"), clients: Bytes::from_static(b"\"one\"") };
    let json = "application/json";
    for is_untouched in [true, false] {
        let heard = async |body: &str| {
            let relay = Relay { restore: Some(restore()), ..Relay::untouched() };
            heard_by(&raw(200, json, body), Some(b"\"one\""), BOTH, is_untouched, relay).await
        };
        // Longer than what is ever read whole, so it cannot have been.
        assert_eq!(heard(&first("7")).await.unwrap().2, first("\"one\""));
        let middling = "y".repeat(MAX_WHOLE_BYTES * 2);
        assert_eq!(heard(&last("7", &middling)).await.unwrap().2, last("\"one\"", &middling));
        assert!(heard(&last("7", &filler)).await.unwrap_err().contains("too large"));
        assert_eq!(heard(&first("8")).await.is_ok(), is_untouched, "an answer to another request");
    }
}

#[tokio::test]
async fn an_array_is_taken_apart_or_gets_the_clients_ids_back() {
    let (json, note) = ("application/json", r#"{"jsonrpc":"2.0","method":"x"}"#);
    let filler = "x".repeat(MAX_WHOLE_BYTES);
    for text in ["", &filler] {
        let answer = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"{text}"}}}}"#);
        let relay = || {
            let restore = RestoreId { own: Bytes::from_static(b"7"), clients: Bytes::from_static(b"1") };
            Relay { restore: Some(restore), ..Relay::untouched() }
        };
        let body = format!("[{},{},{note}]", answer("7"), answer("8"));
        let heard = async |is_untouched| {
            heard_by(&raw(200, json, &body), Some(b"1"), BOTH, is_untouched, relay()).await.unwrap()
        };
        let (_, kind, told) = heard(false).await;
        assert_eq!(kind, "text/event-stream");
        let event = |data: &str| format!("event: message\ndata: {data}\n\n");
        assert_eq!(told, event(note) + &event(&answer("1")));
        assert_eq!(heard(true).await.2, format!("[{},{},{note}]", answer("1"), answer("8")));
    }
}

#[tokio::test]
async fn answers_to_another_request_and_cut_off_ones_are_no_answers() {
    let json = "application/json";
    let large =
        format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"text":"{}"}}}}"#, "x".repeat(MAX_WHOLE_BYTES));
    for (body, reason) in [
        (r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, "it answered another request"),
        (r#"{"jsonrpc":"2.0","id":"1","result":{}}"#, "it answered another request"),
        (large.as_str(), "it answered another request"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}"#, "it answered JSON that is cut off or no answer"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"a":{}"}"#, "it answered JSON that is cut off or no answer"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, "it answered JSON that is cut off or no answer"),
        (r#"[{"jsonrpc":"2.0","id":2,"result":{}}]"#, "it answered an array without the answer"),
        ("[]", "it answered an array without the answer"),
        (r#"[{"jsonrpc":"2.0","id":1,"result":{}}]]"#, "it answered an array without the answer"),
    ] {
        let error = heard(&raw(200, json, body), Some(b"1"), BOTH, false).await.unwrap_err();
        assert!(error.ends_with(reason), "{body}: {error}");
    }
    for body in [
        r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#,
        r#"{"error":{"code":1,"message":"x"}}"#,
    ] {
        assert_eq!(heard(&raw(400, json, body), Some(b"1"), BOTH, false).await.unwrap().2, body);
    }
    let stream = "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n";
    let told = heard(&raw(200, "text/event-stream", stream), Some(b"1"), BOTH, false).await.unwrap().2;
    assert!(told.contains("-31003") && !told.contains("\"id\":2"), "{told}");
    let ours = format!("{stream}data: {ANSWER}\n\n");
    let told = heard(&raw(200, "text/event-stream", &ours), Some(b"1"), BOTH, false).await.unwrap().2;
    assert_eq!(told, format!("event: message\ndata: {ANSWER}\n\n"));
}

#[tokio::test]
async fn a_stream_is_a_stream_or_the_answer_in_it() {
    let note = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
    let stream = format!(": hi\n\nid: 1\ndata:\n\nid: 2\ndata: {note}\n\nid: 3\ndata: {ANSWER}\n\n");
    let raw = raw(200, "text/event-stream", &stream);
    let untouched = heard(&raw, Some(b"1"), BOTH, true).await.unwrap();
    assert_eq!(untouched, (200, "text/event-stream".into(), stream));
    let relayed = heard(&raw, Some(b"1"), BOTH, false).await.unwrap();
    let events = format!("event: message\ndata: {note}\n\nevent: message\ndata: {ANSWER}\n\n");
    assert_eq!(relayed, (200, "text/event-stream".into(), events));
    for is_untouched in [true, false] {
        let only = heard(&raw, Some(b"1"), ONLY_JSON, is_untouched).await.unwrap();
        assert_eq!(only, (200, "application/json".into(), ANSWER.into()));
    }
}

#[tokio::test]
async fn a_stream_without_an_answer_is_an_error() {
    let raw = raw(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n");
    let only = heard(&raw, Some(b"1"), ONLY_JSON, false).await.unwrap_err();
    assert!(only.ends_with("its stream ended without an answer"), "{only}");
    let relayed = heard(&raw, Some(b"\"one\""), BOTH, false).await.unwrap().2;
    let last = relayed.trim_end().rsplit("data: ").next().unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!((&last["id"], &last["error"]["code"]), (&"one".into(), &(-31003).into()));
}

#[test]
fn whole_messages_are_told_from_parts() {
    for (text, expected) in [
        ("{}", true),
        (" \n[{}]\r\n", true),
        ("", false),
        ("{", false),
        ("{]", false),
        ("null", false),
        ("{\"a\":1", false),
    ] {
        assert_eq!(looks_whole(text.as_bytes()), expected, "{text}");
    }
}
