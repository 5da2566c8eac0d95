//! Reading a backend's answer to a request of our own, from JSON or from an event stream.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode, response};
use mcp::message::{Kind, Outline, apart, is_array, member, pick, text};
use mcp::method::Method;
use mcp::sse::Decoder;

use crate::error::Error;
use crate::reply::Reply;

/// Most bytes of an answer to a handshake or of one page of a list.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// How long a stream that brought its answer may take to end, before its connection is given up.
const END_PATIENCE: Duration = Duration::from_millis(50);

/// Most bytes read of a body that nobody needs, so that its connection can be used again.
const MAX_REST_BYTES: usize = 16 * 1024;

/// Longest piece of a backend's own words that we repeat.
const MAX_QUOTED_CHARS: usize = 300;

/// The answer to a request of our own.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: StatusCode,
    /// The head's headers.
    pub(crate) headers: HeaderMap,
    /// What the body says.
    pub(crate) said: Said,
}

/// What the body of an answer says.
#[derive(Debug)]
pub(crate) enum Said {
    /// A result: the raw object.
    Result(Bytes),
    /// A JSON-RPC error.
    Error {
        code: i64,
        message: String,
        /// The raw `data`.
        data: Option<Bytes>,
    },
    /// No JSON-RPC response; says what else.
    Other(String),
}

/// What is to be done next with an answer.
pub(crate) enum Step {
    /// It is complete.
    Said(Said),
    /// The backend pings; the raw id to answer with.
    Ping(Bytes),
}

/// An answer that is being read.
pub(crate) enum Heard {
    /// One body.
    Whole { reply: Option<Reply>, status: StatusCode, content: Content, kind: String },
    /// A stream of events, of which one is the answer.
    Events { reply: Option<Reply>, decoder: Decoder, read_bytes: usize },
}

/// What the content type promises.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Json,
    /// None was named, or the status is an error's, where it is often wrong.
    Unsure,
    Foreign,
}

impl Answer {
    /// Returns the result, or the error that the rest amounts to.
    pub(crate) fn into_result(self) -> Result<Bytes, Error> {
        match self.said {
            Said::Result(result) if self.status.is_success() => Ok(result),
            Said::Error { code, message, .. } => Err(Error::Rpc { code, message }),
            _ if !self.status.is_success() => Err(Error::Refused(self.status)),
            Said::Result(result) => Ok(result),
            Said::Other(reason) => Err(Error::NotMcp { reason }),
        }
    }
}

impl Heard {
    /// Begins to read an answer.
    pub(crate) fn new(head: &response::Parts, reply: Reply) -> Self {
        let kind = head.headers.get(CONTENT_TYPE).map(|value| value.as_bytes().trim_ascii());
        let essence = kind.and_then(|kind| kind.split(|byte| *byte == b';').next()).map(<[u8]>::trim_ascii);
        if essence.is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/event-stream")) {
            let decoder = Decoder::new(MAX_ANSWER_BYTES);
            return Self::Events { reply: Some(reply), decoder, read_bytes: 0 };
        }
        let content = match essence {
            _ if mcp::headers::is_json(&head.headers) => Content::Json,
            None => Content::Unsure,
            Some(_) if !head.status.is_success() => Content::Unsure,
            Some(_) => Content::Foreign,
        };
        let kind = shortened(&String::from_utf8_lossy(kind.unwrap_or(b"no content type")));
        Self::Whole { reply: Some(reply), status: head.status, content, kind }
    }

    /// Reads on until there is something to do. `id` is our request's.
    pub(crate) async fn next(&mut self, id: u32) -> Result<Step, Error> {
        match self {
            Self::Whole { reply, status, content, kind } => {
                let Some(reply) = reply.take() else { return Ok(Step::Said(Said::Other("nothing".into()))) };
                if *content == Content::Foreign {
                    finish(reply).await;
                    let said = format!("answered {kind} (HTTP {}), not JSON", status.as_u16());
                    return Ok(Step::Said(Said::Other(said)));
                }
                let body = reply.collect(MAX_ANSWER_BYTES).await?;
                Ok(Step::Said(whole(&body, *status, kind)))
            }
            Self::Events { reply, decoder, read_bytes } => {
                let step = next_event(reply, decoder, read_bytes, id).await;
                if matches!(step, Ok(Step::Said(_)))
                    && let Some(reply) = reply.take()
                {
                    finish(reply).await;
                }
                step
            }
        }
    }
}

/// Returns the session id a backend gave.
pub(crate) fn session(headers: &HeaderMap) -> Option<String> {
    headers.get(mcp::headers::SESSION_ID)?.to_str().ok().filter(|id| !id.is_empty()).map(str::to_owned)
}

/// Reads the little that is left of a body, so that its connection can be used again; gives up on more.
pub(crate) async fn finish(reply: Reply) {
    // Failing costs the connection only.
    let _ = tokio::time::timeout(END_PATIENCE, reply.collect(MAX_REST_BYTES)).await;
}

/// Shortens a backend's words to what an error can hold.
pub(crate) fn shortened(words: &str) -> String {
    match words.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

async fn next_event(
    reply: &mut Option<Reply>,
    decoder: &mut Decoder,
    read_bytes: &mut usize,
    id: u32,
) -> Result<Step, Error> {
    let too_large = || Error::TooLarge { what: format!("an answer of more than {MAX_ANSWER_BYTES} bytes") };
    loop {
        while let Some(event) = decoder.next() {
            // A piece may hold thousands of events that mean nothing.
            tokio::task::coop::consume_budget().await;
            let event = event.map_err(|_| too_large())?;
            let is_message = event.name.as_ref().is_none_or(|name| &name[..] == b"message");
            if event.data.is_empty() || !is_message {
                continue;
            }
            if let Some(step) = read_event(&event.data, id) {
                return Ok(step);
            }
        }
        let frame = match reply {
            Some(reply) => reply.frame().await.transpose()?,
            None => None,
        };
        let Some(frame) = frame else {
            return Ok(Step::Said(Said::Other("the event stream ended without the answer".into())));
        };
        if let Ok(data) = frame.into_data() {
            *read_bytes += data.len();
            if *read_bytes > MAX_ANSWER_BYTES {
                return Err(too_large());
            }
            decoder.push(data);
        }
    }
}

/// Looks at one event of a stream, which may hold several messages; `None` where it is not for us.
fn read_event(data: &Bytes, id: u32) -> Option<Step> {
    if !is_array(data) {
        return read_message(data, id);
    }
    let mut steps: Vec<_> = apart(data.clone()).filter_map(|message| read_message(&message, id)).collect();
    // A backend that has answered waits for nothing.
    let said = steps.iter().position(|step| matches!(step, Step::Said(_)));
    (!steps.is_empty()).then(|| steps.swap_remove(said.unwrap_or(0)))
}

fn read_message(data: &Bytes, id: u32) -> Option<Step> {
    let outline = match Outline::read(data) {
        Ok(outline) => outline,
        Err(malformed) => {
            return Some(Step::Said(Said::Other(format!("an event that is no message: {malformed}"))));
        }
    };
    match outline.kind {
        Kind::Request if outline.method == Method::Ping => {
            let id = outline.id?;
            Some(Step::Ping(data.slice(id.range())))
        }
        Kind::Request | Kind::Notification => None,
        Kind::Response => {
            let raw = outline.id.map_or(&b"null"[..], |span| span.of(data));
            let is_ours = is_id(raw, id) || (raw == b"null" && outline.error.is_some());
            is_ours.then(|| Step::Said(said(data, &outline)))
        }
    }
}

/// Says whether a raw id is ours, in whatever spelling a backend gives it back.
fn is_id(raw: &[u8], id: u32) -> bool {
    let raw = std::str::from_utf8(raw).unwrap_or_default().trim_matches('"');
    raw.parse::<f64>().is_ok_and(|number| number == f64::from(id))
}

/// Reads a body that should be one response.
fn whole(body: &Bytes, status: StatusCode, kind: &str) -> Said {
    let status = status.as_u16();
    if body.trim_ascii().is_empty() {
        return Said::Other(format!("an empty answer (HTTP {status})"));
    }
    if is_array(body) {
        return match apart(body.clone()).last() {
            Some(last) => single(&last, status, kind),
            None => Said::Other(format!("an empty array (HTTP {status})")),
        };
    }
    single(body, status, kind)
}

fn single(body: &Bytes, status: u16, kind: &str) -> Said {
    match Outline::read(body) {
        Ok(outline) if outline.kind == Kind::Response => said(body, &outline),
        Ok(_) => Said::Other(format!("a message that is no response (HTTP {status})")),
        // Errors often come without an id, which is no JSON-RPC but plain enough.
        Err(malformed) => match member(body, "error") {
            Some(error) if error.of(body).first() == Some(&b'{') => error_of(&body.slice(error.range())),
            _ => Said::Other(format!("answered {kind} (HTTP {status}): {malformed}")),
        },
    }
}

fn said(body: &Bytes, outline: &Outline) -> Said {
    match (outline.result, outline.error) {
        (_, Some(error)) => error_of(&body.slice(error.range())),
        (Some(result), None) => Said::Result(body.slice(result.range())),
        (None, None) => Said::Other("a response without a result".into()),
    }
}

fn error_of(error: &Bytes) -> Said {
    let [code, message, data] = pick(error, ["code", "message", "data"]).unwrap_or_default();
    let code =
        code.and_then(|code| std::str::from_utf8(code.of(error)).ok()?.parse().ok()).unwrap_or_default();
    let message = message.and_then(|message| text(message.of(error))).unwrap_or_default();
    Said::Error { code, message: shortened(&message), data: data.map(|data| error.slice(data.range())) }
}
