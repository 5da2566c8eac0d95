//! Streams of a raw server that speaks as the transport of 2024-11-05 says, or not.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::endpoint::{Endpoint, Era};
use http::{HeaderMap, Method, StatusCode};
use tokio::sync::mpsc;

use crate::error::Error;
use crate::handshake::{Hello, Learnt};
use crate::outgoing::Outgoing;
use crate::pool::Backends;
use crate::stub::{Stub, Wire, endpoint, settings};

const GREETED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}"#;
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// What a stream is told to say.
enum Say {
    Text(String),
    End,
}

/// Most that waits to be said; no test says so much.
const MOST_SAID: usize = 1024;

/// A backend with one stream, whose first event names `names`. Posts are answered 202, and what `answers` makes of them
/// comes on the stream.
struct Old {
    stub: Stub,
    stream: mpsc::Sender<Say>,
}

impl Old {
    async fn start(names: &'static str, answers: fn(&str) -> Option<String>) -> Self {
        let (stream, said) = mpsc::channel(MOST_SAID);
        let said = Arc::new(tokio::sync::Mutex::new(said));
        let speak = stream.clone();
        let stub = Stub::start(move |mut wire| {
            let (said, speak) = (said.clone(), speak.clone());
            async move {
                while let Some(request) = wire.request().await {
                    if request.head.starts_with("GET ") {
                        wire.say(&format!("{HEAD}event: endpoint\ndata: {names}\n\n")).await;
                        return follow(wire, &said).await;
                    }
                    if !request.head.starts_with("POST /message?s=7 ") {
                        wire.say("HTTP/1.1 405 x\r\ncontent-length: 0\r\n\r\n").await;
                        continue;
                    }
                    wire.say("HTTP/1.1 202 x\r\ncontent-length: 8\r\n\r\nAccepted").await;
                    if let Some(answer) = answers(&request.body) {
                        speak.send(Say::Text(event(&answer))).await.ok();
                    }
                }
            }
        })
        .await;
        Self { stub, stream }
    }

    fn say(&self, message: &str) {
        self.stream.try_send(Say::Text(event(message))).unwrap();
    }
}

async fn follow(mut wire: Wire, said: &tokio::sync::Mutex<mpsc::Receiver<Say>>) {
    let mut said = said.lock().await;
    while let Some(Say::Text(text)) = said.recv().await {
        wire.say(&text).await;
    }
}

fn event(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}

fn usual(body: &str) -> Option<String> {
    if body.contains("\"initialize\"") {
        return Some(GREETED.into());
    }
    body.contains("tools/call").then(|| r#"{"jsonrpc":"2.0","id":"c","result":{"ok":true}}"#.into())
}

fn backends() -> Backends {
    Backends::new(Arc::new(settings()))
}

fn outgoing(method: Method, session: &str, body: &'static str) -> Outgoing {
    let mut headers = HeaderMap::new();
    headers.insert("mcp-session-id", session.parse().unwrap());
    Outgoing { method, headers, body: Bytes::from_static(body.as_bytes()) }
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"x"}}"#;

async fn learn(backends: &Backends, old: &Old) -> (Endpoint, String) {
    let plain = old.stub.endpoint();
    let Learnt::Legacy(greeting) = backends.learn(&plain, None).await.unwrap() else { panic!("legacy") };
    assert!(greeting.has_event_stream);
    (greeting.met_at(&plain), greeting.session.unwrap())
}

#[tokio::test]
async fn it_is_found_out_and_spoken_to() {
    let old = Old::start("/message?s=7", usual).await;
    let backends = backends();
    let (endpoint, session) = learn(&backends, &old).await;
    let answer = backends.send(&endpoint, outgoing(Method::POST, &session, CALL)).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/json");
    let body = answer.into_body().collect(1000).await.unwrap();
    assert_eq!(&body[..], br#"{"jsonrpc":"2.0","id":"c","result":{"ok":true}}"#);
    let posted = old.stub.requests();
    assert!(
        posted
            .iter()
            .filter(|one| one.head.contains("/message"))
            .all(|one| !one.head.contains("mcp-session-id"))
    );
    // News, and pings which are answered for the client.
    let news = backends.send(&endpoint, outgoing(Method::GET, &session, "")).await.unwrap();
    old.say(r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#);
    old.say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    let mut news = news.into_body();
    let frame = tokio::time::timeout(Duration::from_secs(5), news.frame()).await.unwrap().unwrap().unwrap();
    assert!(String::from_utf8_lossy(frame.data_ref().unwrap()).contains("list_changed"));
    for _ in 0..100 {
        if old.stub.requests().iter().any(|one| one.body.contains(r#""id":4,"result":{}"#)) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(old.stub.requests().iter().any(|one| one.body.contains(r#""id":4,"result":{}"#)));
    // DELETE ends the session, here and there.
    let ended = backends.send(&endpoint, outgoing(Method::DELETE, &session, "")).await.unwrap();
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    let unknown = backends.send(&endpoint, outgoing(Method::POST, &session, CALL)).await.unwrap();
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_pinned_era_needs_no_discovery() {
    let old = Old::start("/message?s=7", usual).await;
    let pinned = Endpoint { pinned_era: Some(Era::Legacy), ..old.stub.endpoint() };
    let Learnt::Legacy(greeting) = backends().learn(&pinned, None).await.unwrap() else { panic!("legacy") };
    assert!(greeting.has_event_stream);
}

#[tokio::test]
async fn who_waits_hears_that_the_stream_ended() {
    let old = Old::start("/message?s=7", |body| usual(body).filter(|_| body.contains("initialize"))).await;
    let backends = backends();
    let (endpoint, session) = learn(&backends, &old).await;
    let call = backends.send(&endpoint, outgoing(Method::POST, &session, CALL));
    let end = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        old.stream.try_send(Say::End).unwrap();
    };
    let (answer, ()) = tokio::join!(call, end);
    assert!(matches!(answer, Err(Error::Broken { .. })), "{:?}", answer.err());
    let again = backends.send(&endpoint, outgoing(Method::POST, &session, CALL)).await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_stranger_is_named_by_no_endpoint_event() {
    for names in ["http://127.0.0.1:1/message", "https://example.com/message", "//example.com/message"] {
        let old = Old::start(names, usual).await;
        let refused = backends().learn(&old.stub.endpoint(), None).await.unwrap_err();
        assert!(refused.to_string().contains("own origin"), "{names}: {refused}");
        assert!(!old.stub.requests().iter().any(|one| one.head.contains("/message")), "{names}");
    }
}

#[tokio::test]
async fn what_has_no_stream_is_no_backend() {
    for (text, says) in [
        ("HTTP/1.1 404 x\r\ncontent-length: 0\r\n\r\n", "no event stream"),
        ("HTTP/1.1 405 x\r\ncontent-length: 0\r\n\r\n", "no event stream"),
    ] {
        let stub = Stub::answering(text).await;
        let refused = backends().learn(&stub.endpoint(), None).await.unwrap_err();
        assert!(refused.to_string().contains(says), "{refused}");
    }
    let greeted =
        backends().greet(&endpoint("http://127.0.0.1:1/x").over_event_stream(), &Hello::default()).await;
    assert!(matches!(greeted, Err(Error::Unreachable { .. })));
}
