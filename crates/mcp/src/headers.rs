//! Header names of the protocol and of ours, and what their values say.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};

/// The legacy session's id.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The revision spoken.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Repeats the body's method.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// Repeats the name, URI or task in the body's params.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The last event a client saw of a stream it resumes.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The version of a server: which one a client wants, which one answered.
pub const SERVER_VERSION: HeaderName = HeaderName::from_static("x-mcp-server-version");
/// Says that a server has several versions, and whether an unknown label was passed over.
pub const VERSION_ROUTING: HeaderName = HeaderName::from_static("x-mcp-version-routing");
/// The class of an error, for logs and metrics.
pub const ERROR_CLASS: HeaderName = HeaderName::from_static("x-mcp-error-class");

/// Which of the two types of answers a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepts {
    /// `application/json`.
    pub json: bool,
    /// `text/event-stream`.
    pub events: bool,
}

/// The version a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// No header, or an empty one.
    Unsaid,
    /// The word `latest`.
    Latest,
    /// A label, checked for nothing but its bytes.
    Label(&'a str),
    /// Sent twice, with a comma, or with bytes that are not printable ASCII.
    Ambiguous,
}

/// Reads `Accept`. No header, or an empty one, accepts everything; the more specific range wins, and `q=0`
/// refuses.
///
/// Source: RFC 9110, section 12.5.1.
pub fn accepts(headers: &HeaderMap) -> Accepts {
    let both = Accepts { json: true, events: true };
    let mut lines = headers.get_all(ACCEPT).iter();
    match (lines.next().map(HeaderValue::as_bytes), lines.next()) {
        (None, _) => return both,
        // As nearly every client writes it.
        (Some(b"application/json, text/event-stream" | b"text/event-stream, application/json"), None) => {
            return both;
        }
        (Some(b"application/json"), None) => return Accepts { json: true, events: false },
        _ => {}
    }
    let mut ranges = Vec::new();
    for line in headers.get_all(ACCEPT) {
        ranges
            .extend(line.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(is_not_empty));
    }
    if ranges.is_empty() {
        return both;
    }
    Accepts {
        json: takes(&ranges, [b"application/json", b"application/*"]),
        events: takes(&ranges, [b"text/event-stream", b"text/*"]),
    }
}

/// Tells whether the body is declared as `application/json`, in UTF-8 where a charset is named.
pub fn is_json(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(CONTENT_TYPE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return false };
    if line == "application/json" {
        return true;
    }
    let mut parts = line.as_bytes().split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case(b"application/json"))
        && parts.filter_map(|part| parameter(part, b"charset")).all(is_utf8)
}

/// Reads the version a client asks for.
pub fn wanted_version(headers: &HeaderMap) -> Wanted<'_> {
    let mut lines = headers.get_all(&SERVER_VERSION).iter();
    let Some(line) = lines.next() else { return Wanted::Unsaid };
    if lines.next().is_some() {
        return Wanted::Ambiguous;
    }
    match line.to_str().map(str::trim_ascii) {
        Err(_) => Wanted::Ambiguous,
        Ok(label) if label.contains(',') => Wanted::Ambiguous,
        Ok("") => Wanted::Unsaid,
        Ok("latest") => Wanted::Latest,
        Ok(label) => Wanted::Label(label),
    }
}

/// Reads a value of `Mcp-Name` or `Mcp-Param-*`; undoes `=?base64?…?=`.
///
/// `None` where the base64 is not canonical, or where the text is not printable ASCII before or UTF-8 after
/// decoding. A value that only begins or only ends like an encoded one stands for itself.
///
/// Source: MCP 2026-07-28, basic/transports/streamable-http, value encoding.
pub fn decode_name(value: &HeaderValue) -> Option<Cow<'_, str>> {
    let text = value.to_str().ok()?.trim_ascii();
    let Some(encoded) = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) else {
        return Some(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Writes a value of `Mcp-Name`: printable ASCII as it is, anything else as `=?base64?…?=`.
pub fn encode_name(name: &str) -> HeaderValue {
    let is_plain = name.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && name.trim_ascii().len() == name.len()
        && !name.starts_with("=?");
    let plain = if is_plain { HeaderValue::from_str(name).ok() } else { None };
    plain.unwrap_or_else(|| {
        let encoded = format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(name));
        HeaderValue::from_str(&encoded).expect("base64 and its marks are printable ASCII")
    })
}

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Tells whether the most specific of the ranges that cover a type lets it pass. Several that are equally
/// specific do so if one does.
fn takes(ranges: &[&[u8]], [exact, family]: [&[u8]; 2]) -> bool {
    let verdict = |wanted: &[u8]| {
        let fitting = ranges.iter().filter(|range| essence(range).eq_ignore_ascii_case(wanted));
        fitting.map(|range| !is_refused(range)).reduce(|one, other| one || other)
    };
    verdict(exact).or_else(|| verdict(family)).or_else(|| verdict(b"*/*")).unwrap_or(false)
}

fn essence(range: &[u8]) -> &[u8] {
    range.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}

/// Tells whether a range carries a weight of zero, in any spelling.
fn is_refused(range: &[u8]) -> bool {
    let mut weights = range.split(|byte| *byte == b';').skip(1).filter_map(|part| parameter(part, b"q"));
    weights
        .any(|weight| weight.first() == Some(&b'0') && weight.iter().all(|byte| matches!(byte, b'0' | b'.')))
}

/// Returns the value of a parameter `name=value`, blanks around both taken off.
fn parameter<'a>(part: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let equals = memchr::memchr(b'=', part)?;
    let (found, value) = (part[..equals].trim_ascii(), part[equals + 1..].trim_ascii());
    found.eq_ignore_ascii_case(name).then_some(value)
}

fn is_utf8(charset: &[u8]) -> bool {
    let bare = charset.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(charset);
    bare.eq_ignore_ascii_case(b"utf-8") || bare.eq_ignore_ascii_case(b"utf8")
}

fn is_not_empty(part: &&[u8]) -> bool {
    !part.is_empty()
}

#[cfg(test)]
mod tests;
