//! `Outline`: one pass over a body tells what kind of message it is and where the parts we may touch lie.

mod envelope;
mod json;
mod malformed;

use crate::method::Method;
use envelope::Envelope;
use json::{first_byte, plain};

pub use json::{Span, elements, member, members, pick, quote, text};
pub use malformed::Malformed;

/// Deepest nesting of arrays and objects that is read; what many JSON readers behind us accept.
pub const MAX_DEPTH: usize = 128;

/// The three shapes of a JSON-RPC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `method` and `id`.
    Request,
    /// `method` without `id`.
    Notification,
    /// `result` or `error`.
    Response,
}

/// Where the parts of a message lie. Spans index into the body that was read.
///
/// The spans of `params` members are there only where the value has the type it should have: a string with
/// its quotes, an object for `meta`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Request, notification or response.
    pub kind: Kind,
    /// The raw id: a string with quotes, a number in any spelling, in a response also `null`.
    pub id: Option<Span>,
    /// The method; `Other` for a name we do not know, and in a response.
    pub method: Method,
    /// The method's name with its quotes; absent in a response.
    pub method_name: Option<Span>,
    /// `params`, from brace to brace.
    pub params: Option<Span>,
    /// `params.name`.
    pub name: Option<Span>,
    /// `params.uri`.
    pub uri: Option<Span>,
    /// `params.taskId`.
    pub task_id: Option<Span>,
    /// `params.cursor`.
    pub cursor: Option<Span>,
    /// `params._meta`.
    pub meta: Option<Span>,
    /// `params.requestState`.
    pub request_state: Option<Span>,
    /// A response's `result`, any value.
    pub result: Option<Span>,
    /// A response's `error`, an object.
    pub error: Option<Span>,
}

impl Outline {
    /// Reads one message.
    ///
    /// Members we do not route by may have any value, and may come twice. `params.arguments` and its kind
    /// are checked to be JSON and otherwise left alone.
    pub fn read(body: &[u8]) -> Result<Outline, Malformed> {
        let text = std::str::from_utf8(body).map_err(|_| Malformed::NotUtf8)?;
        if u32::try_from(body.len()).is_err() {
            return Err(Malformed::Invalid("the body is longer than 4 GiB".into(), None));
        }
        if nests_too_deep(body) {
            return Err(Malformed::TooDeep);
        }
        let Some((_, b'{')) = first_byte(body, 0) else { return Err(not_an_object(text)) };
        let envelope = Envelope::read(text).map_err(|error| Malformed::NotJson(error.to_string()))?;
        outline(text, &envelope)
    }
}

/// Spans of the members of `params._meta` that mean something to us, into that object.
///
/// A member that stands there twice counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// `io.modelcontextprotocol/protocolVersion`.
    pub protocol_version: Option<Span>,
    /// `io.modelcontextprotocol/clientInfo`.
    pub client_info: Option<Span>,
    /// `io.modelcontextprotocol/clientCapabilities`.
    pub client_capabilities: Option<Span>,
    /// `io.modelcontextprotocol/logLevel`.
    pub log_level: Option<Span>,
    /// `progressToken`.
    pub progress_token: Option<Span>,
}

impl Meta {
    /// Reads a `_meta` object; nothing is found in anything else.
    pub fn read(meta: &[u8]) -> Meta {
        let keys = [
            "io.modelcontextprotocol/protocolVersion",
            "io.modelcontextprotocol/clientInfo",
            "io.modelcontextprotocol/clientCapabilities",
            "io.modelcontextprotocol/logLevel",
            "progressToken",
        ];
        let Some(found) = pick(meta, keys) else { return Meta::default() };
        let [protocol_version, client_info, client_capabilities, log_level, progress_token] = found;
        Meta { protocol_version, client_info, client_capabilities, log_level, progress_token }
    }
}

/// Checks what the envelope holds and turns slices into spans.
fn outline(text: &str, envelope: &Envelope<'_>) -> Result<Outline, Malformed> {
    let id = envelope.id.filter(|_| envelope.duplicate != Some("id"));
    let invalid = |reason: &str| {
        let id = id.filter(|id| is_string(id) || is_number(id)).map(Box::from);
        Err(Malformed::Invalid(reason.into(), id))
    };
    if let Some(name) = envelope.duplicate {
        let id = id.filter(|id| is_string(id) || is_number(id)).map(Box::from);
        return Err(Malformed::Duplicate(name, id));
    }
    match envelope.jsonrpc {
        Some(version) if is_string(version) && plain(version).as_deref() == Some("2.0") => {}
        Some(_) => return invalid("jsonrpc is not \"2.0\""),
        None => return invalid("jsonrpc is missing"),
    }
    if id.is_some_and(|id| !is_string(id) && !is_number(id) && id != "null") {
        return invalid("id is neither a string nor a number");
    }
    if envelope.params.is_some_and(|params| !is_object(params)) {
        return invalid("params is not an object");
    }
    // Some libraries write the member that does not apply as null.
    let (result, error) = match (envelope.result, envelope.error) {
        (Some(result), Some("null")) => (Some(result), None),
        (Some("null"), Some(error)) => (None, Some(error)),
        both => both,
    };
    let kind = match (envelope.method, result, error) {
        (Some(_), None, None) if id == Some("null") => return invalid("id is null in a request"),
        (Some(method), None, None) if !is_string(method) => return invalid("method is not a string"),
        (Some(_), None, None) if id.is_some() => Kind::Request,
        (Some(_), None, None) => Kind::Notification,
        (Some(_), ..) => return invalid("method stands beside a result or an error"),
        (None, Some(_), Some(_)) => return invalid("result and error stand side by side"),
        (None, None, None) => return invalid("method is missing, and so are result and error"),
        (None, Some(_), None) if id.is_none() => return invalid("the response has no id"),
        (None, None, Some(error)) if !is_object(error) => return invalid("error is not an object"),
        (None, ..) => Kind::Response,
    };
    let span = |part: &str| Span::locate(text, part);
    let string = |part: Option<&str>| part.filter(|part| is_string(part)).map(span);
    Ok(Outline {
        kind,
        id: id.map(span),
        method: envelope.method.and_then(plain).map_or(Method::Other, |name| Method::parse(&name)),
        method_name: envelope.method.map(span),
        params: envelope.params.map(span),
        name: string(envelope.name),
        uri: string(envelope.uri),
        task_id: string(envelope.task_id),
        cursor: string(envelope.cursor),
        meta: envelope.meta.filter(|meta| is_object(meta)).map(span),
        request_state: string(envelope.request_state),
        result: result.map(span),
        error: error.map(span),
    })
}

fn is_string(raw: &str) -> bool {
    raw.starts_with('"')
}

fn is_number(raw: &str) -> bool {
    raw.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

fn is_object(raw: &str) -> bool {
    raw.starts_with('{')
}

/// Says what is wrong with a body that does not begin like an object.
fn not_an_object(text: &str) -> Malformed {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Err(error) => Malformed::NotJson(error.to_string()),
        Ok(_) if matches!(first_byte(text.as_bytes(), 0), Some((_, b'['))) => Malformed::Batch,
        Ok(_) => Malformed::NotObject,
    }
}

/// Tells whether arrays and objects nest deeper than `MAX_DEPTH`. Counting the brackets is cheap and nearly
/// always enough; strings are told apart only where it is not.
fn nests_too_deep(body: &[u8]) -> bool {
    let openings = body.iter().filter(|byte| matches!(byte, b'{' | b'[')).count();
    openings > MAX_DEPTH && depth(body) > MAX_DEPTH
}

/// Returns the depth of nesting, counted until it passes `MAX_DEPTH`. In bytes that are not JSON the number
/// means nothing, and they are refused for that afterwards.
fn depth(body: &[u8]) -> usize {
    let (mut at, mut depth, mut deepest) = (0, 0_usize, 0);
    while at < body.len() && deepest <= MAX_DEPTH {
        match body[at] {
            b'"' => at = closing_quote(body, at + 1),
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// Returns the place of the quote that ends the string begun before `at`, or the end of the body.
fn closing_quote(body: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', body.get(at..).unwrap_or_default()) {
        at += found;
        if body[at] == b'"' {
            return at;
        }
        at += 2;
    }
    body.len()
}

#[cfg(test)]
pub(crate) mod tests;
