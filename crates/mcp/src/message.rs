//! `Outline`: one pass over a body tells what kind of message it is and where the parts we may touch lie.

mod apart;
mod envelope;
mod json;
mod malformed;
mod scanner;
mod span;

use crate::method::Method;
use envelope::Envelope;
use scanner::Scanner;

pub use apart::{apart, is_array};
pub(crate) use json::rows;
pub use json::{elements, member, members, pick, quote, text};
pub use malformed::Malformed;
pub use span::Span;

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
    /// `params.requestState`, any value but null: one that is no string was never given to the client.
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
        let mut envelope = Envelope::default();
        match Scanner::new(body).map(|mut scanner| (envelope.read(&mut scanner), scanner.deepest())) {
            Some((Ok(()), 0..=MAX_DEPTH)) => outline(body, &envelope),
            _ => Err(no_message(body)),
        }
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

/// Checks what the envelope holds.
fn outline(body: &[u8], envelope: &Envelope) -> Result<Outline, Malformed> {
    let begins =
        |span: Span, with: fn(u8) -> bool| body.get(span.start as usize).is_some_and(|byte| with(*byte));
    let is_string = |span: Span| begins(span, |byte| byte == b'"');
    let is_object = |span: Span| begins(span, |byte| byte == b'{');
    let is_number = |span: Span| begins(span, |byte| byte == b'-' || byte.is_ascii_digit());
    let is_null = |span: Span| begins(span, |byte| byte == b'n');

    let id = envelope.id.filter(|_| envelope.duplicate != Some("id"));
    let raw_id = || {
        let raw = id.filter(|id| is_string(*id) || is_number(*id))?.of(body);
        std::str::from_utf8(raw).ok().map(Box::from)
    };
    let invalid = |reason: &str| Err(Malformed::Invalid(reason.into(), raw_id()));
    if let Some(name) = envelope.duplicate {
        return Err(Malformed::Duplicate(name, raw_id()));
    }
    let Some(version) = envelope.jsonrpc else { return invalid("jsonrpc is missing") };
    if version.of(body) != b"\"2.0\"" && text(version.of(body)).as_deref() != Some("2.0") {
        return invalid("jsonrpc is not \"2.0\"");
    }
    if id.is_some_and(|id| !is_string(id) && !is_number(id) && !is_null(id)) {
        return invalid("id is neither a string nor a number");
    }
    if envelope.params.is_some_and(|params| !is_object(params)) {
        return invalid("params is not an object");
    }
    // Some libraries write the member that does not apply as null.
    let (result, error) = match (envelope.result, envelope.error) {
        (Some(result), Some(error)) if is_null(error) => (Some(result), None),
        (Some(result), Some(error)) if is_null(result) => (None, Some(error)),
        both => both,
    };
    let kind = match (envelope.method, result, error) {
        (Some(_), None, None) if id.is_some_and(is_null) => return invalid("id is null in a request"),
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
    let string = |part: Option<Span>| part.filter(|part| is_string(*part));
    Ok(Outline {
        kind,
        id,
        method: envelope.method.map_or(Method::Other, |name| method(name.of(body))),
        method_name: envelope.method,
        params: envelope.params,
        name: string(envelope.name),
        uri: string(envelope.uri),
        task_id: string(envelope.task_id),
        cursor: string(envelope.cursor),
        meta: envelope.meta.filter(|meta| is_object(*meta)),
        request_state: envelope.request_state.filter(|state| !is_null(*state)),
        result,
        error,
    })
}

/// Finds the method of a raw name. A name that is in the table as it stands needs no decoding.
fn method(raw: &[u8]) -> Method {
    let inside = raw.get(1..raw.len() - 1).unwrap_or_default();
    match Method::of(inside) {
        Method::Other if memchr::memchr(b'\\', inside).is_some() => {
            text(raw).map_or(Method::Other, |name| Method::parse(&name))
        }
        method => method,
    }
}

/// Says why a body is not one object that nests as deep as we read. It is read again for that, by a reader that
/// can tell where it ceases to be JSON.
#[cold]
fn no_message(body: &[u8]) -> Malformed {
    let Ok(text) = std::str::from_utf8(body) else { return Malformed::NotUtf8 };
    if u32::try_from(body.len()).is_err() {
        return Malformed::Invalid("the body is longer than 4 GiB".into(), None);
    }
    if depth(body) > MAX_DEPTH {
        return Malformed::TooDeep;
    }
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Err(error) => Malformed::NotJson(error.to_string()),
        Ok(_) if body.trim_ascii_start().starts_with(b"[") => Malformed::Batch,
        Ok(_) => Malformed::NotObject,
    }
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
