//! Answers as HTTP: JSON, server-sent events, and a connection that breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::stream;
use http::{Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

/// The body of an answer; an error breaks the connection.
pub(crate) type Body = UnsyncBoxBody<Bytes, Broken>;
/// An answer, or a connection that breaks before its head.
pub(crate) type Answer = Result<Response<Body>, Broken>;

/// The backend breaks the connection, as a crashed process would.
#[derive(Debug)]
pub struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the backend broke the connection, as the test wanted")
    }
}

impl std::error::Error for Broken {}

/// What a running call gives to the one who answers over HTTP.
#[derive(Debug)]
pub(crate) enum Out {
    /// A JSON-RPC message.
    Message(Value),
    /// An event without a message, which tells its id and when to come back.
    Primer { id: String, retry_ms: u64 },
    /// The stream ends here, and what comes next is handed over to whoever resumes it.
    HangUp(oneshot::Sender<Receiver<Out>>),
    /// An HTTP status instead of a message.
    Status(StatusCode),
    /// The connection breaks.
    Break,
}

/// Messages of one stream that may wait for a client that does not read; above what any test sends.
const MAX_UNREAD: usize = 4096;

/// Makes the way from a running call, or a session, to the stream that its client reads.
pub(crate) fn pipe() -> (Sender<Out>, Receiver<Out>) {
    channel(MAX_UNREAD)
}

/// How event streams look.
#[derive(Clone, Default)]
pub(crate) struct StreamStyle {
    /// Raw text in front of all events.
    pub(crate) opening: String,
    /// Counts event ids, where events carry any.
    pub(crate) ids: Option<Arc<AtomicU64>>,
    /// Whether each message is an array by itself.
    pub(crate) is_array: bool,
}

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

pub(crate) fn status(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(full(Bytes::new()));
    *response.status_mut() = code;
    response
}

pub(crate) fn json_answer(code: StatusCode, message: &Value) -> Response<Body> {
    raw(code, "application/json", message.to_string())
}

pub(crate) fn raw(code: StatusCode, content_type: &str, body: impl Into<Bytes>) -> Response<Body> {
    let response = Response::builder().status(code).header(header::CONTENT_TYPE, content_type);
    response.body(full(body)).expect("the test's content type is a header value")
}

pub(crate) fn error(id: &Value, code: i64, message: &str, data: Option<Value>) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

pub(crate) fn result(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// Answers with events, from `first` on until the call lets go of its sender.
pub(crate) fn events(style: StreamStyle, first: Option<Out>, inbox: Receiver<Out>) -> Response<Body> {
    let opening = (!style.opening.is_empty()).then(|| Bytes::from(style.opening.clone()));
    let state = (style, opening, first, inbox);
    let frames = stream::unfold(state, |(style, mut opening, mut first, mut inbox)| async move {
        if let Some(text) = opening.take() {
            return Some((Ok(Frame::data(text)), (style, None, first, inbox)));
        }
        let next = match first.take() {
            Some(out) => out,
            None => inbox.recv().await?,
        };
        let frame = match next {
            Out::Message(message) => Ok(Frame::data(event(&style, &message))),
            Out::Primer { id, retry_ms } => {
                Ok(Frame::data(format!("id: {id}\nretry: {retry_ms}\ndata: \n\n").into()))
            }
            Out::HangUp(rest) => {
                // Nobody may be there to resume it.
                let _ = rest.send(inbox);
                return None;
            }
            Out::Status(_) | Out::Break => Err(Broken),
        };
        Some((frame, (style, None, None, inbox)))
    });
    let response = Response::builder()
        .header(header::CONTENT_TYPE, "text/event-stream")
        .header(header::CACHE_CONTROL, "no-cache, no-transform");
    response.body(StreamBody::new(frames).boxed_unsync()).expect("these headers are valid")
}

fn event(style: &StreamStyle, message: &Value) -> Bytes {
    let id = style.ids.as_ref().map(|ids| format!("id: {}\n", ids.fetch_add(1, Ordering::Relaxed) + 1));
    let (before, behind) = if style.is_array { ("[", "]") } else { ("", "") };
    format!("event: message\n{}data: {before}{message}{behind}\n\n", id.unwrap_or_default()).into()
}
