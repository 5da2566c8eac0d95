//! The head of an HTTP/1 request: method, target, headers, and how its body is delimited.
//!
//! Stricter than for answers: whatever a proxy in front could read otherwise than we do is refused.

use bytes::{Buf, Bytes, BytesMut};
use http::header::{EXPECT, HOST};
use http::request::Parts;
use http::{HeaderMap, Method, Request, StatusCode, Uri, Version};

use crate::fields::{Ending, Fields, Lines, TOO_MANY};
use crate::framing::Framing;

/// Most bytes of a head.
pub(crate) const MAX_BYTES: usize = 64 * 1024;

/// The head of a request.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) parts: Parts,
    pub(crate) framing: Framing,
    /// Whether the connection can take another request after this one.
    pub(crate) keeps_alive: bool,
    /// Whether the client waits for our word before it sends the body.
    pub(crate) expects_continue: bool,
}

/// A request that is not served: the answer's status, and what is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) StatusCode, pub(crate) &'static str);

/// Reads heads from a buffer that grows.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    ending: Ending,
}

impl Reader {
    /// Takes a head out of the buffer; `None` where its end has not come.
    pub(crate) fn read(&mut self, buffer: &mut BytesMut) -> Result<Option<Head>, Refused> {
        // Some old clients send an empty line behind a body (RFC 9112, section 2.2).
        while buffer.starts_with(b"\r\n") {
            *self = Self::default();
            buffer.advance(2);
        }
        let end = self.ending.find_quickly(buffer);
        if end.unwrap_or(buffer.len()) > MAX_BYTES {
            let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
            return Err(Refused(status, "the head of the request is longer than 64 KiB"));
        }
        let Some(end) = end else { return Ok(None) };
        parse(&buffer.split_to(end).freeze()).map(Some)
    }
}

/// Source: RFC 9112, sections 3, 6.3 and 9.3; RFC 9110, section 10.1.1.
fn parse(head: &Bytes) -> Result<Head, Refused> {
    let bad = |reason| Refused(StatusCode::BAD_REQUEST, reason);
    let (line, rest) = Lines::Strict.split(head).map_err(bad)?;
    let (method, target, version) = request_line(line)?;
    let uri = Uri::from_maybe_shared(head.slice_ref(target));
    let uri = uri.map_err(|_| bad("the target of the request is no proper URI"))?;
    let fields = Fields::read(head, rest, Lines::Strict).map_err(|reason| match reason {
        // Source: RFC 6585, section 5.
        TOO_MANY => Refused(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, reason),
        _ => bad(reason),
    })?;
    let Fields { headers, length, chunked, keeps_alive } = fields;
    let is_new = version == Version::HTTP_11;
    let hosts = headers.get_all(HOST).iter().take(2).count();
    if hosts > 1 || (hosts == 0 && is_new) {
        return Err(bad("the request has no Host header, or more than one"));
    }
    let framing = match (chunked, length) {
        (None, None) => Framing::Done,
        (None, Some(length)) => Framing::of_length(length),
        // Either may be the one that others go by.
        (Some(_), Some(_)) => return Err(bad("Transfer-Encoding and Content-Length stand side by side")),
        (Some(_), None) if !is_new => return Err(bad("HTTP/1.0 has no Transfer-Encoding")),
        (Some(true), None)
            if headers.get_all(http::header::TRANSFER_ENCODING).iter().all(is_only_chunked) =>
        {
            Framing::CHUNKED
        }
        (Some(_), None) => {
            let reason = "no transfer coding is understood but chunked";
            return Err(Refused(StatusCode::NOT_IMPLEMENTED, reason));
        }
    };
    let expects_continue = is_new && framing != Framing::Done && expects_continue(&headers)?;
    let mut parts = Request::new(()).into_parts().0;
    (parts.method, parts.uri, parts.version, parts.headers) = (method, uri, version, headers);
    Ok(Head { parts, framing, keeps_alive: keeps_alive.unwrap_or(is_new), expects_continue })
}

fn request_line(line: &[u8]) -> Result<(Method, &[u8], Version), Refused> {
    let bad = Refused(StatusCode::BAD_REQUEST, "the first line is no request of HTTP/1.1");
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(bad);
    };
    let version = match version {
        b"HTTP/1.1" => Version::HTTP_11,
        b"HTTP/1.0" => Version::HTTP_10,
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', ..] => {
            let reason = "the version of HTTP is not 1.1, 1.0 or 2";
            return Err(Refused(StatusCode::HTTP_VERSION_NOT_SUPPORTED, reason));
        }
        _ => return Err(bad),
    };
    let Ok(method) = Method::from_bytes(method) else { return Err(bad) };
    Ok((method, target, version))
}

fn is_only_chunked(value: &http::HeaderValue) -> bool {
    value.as_bytes().eq_ignore_ascii_case(b"chunked")
}

/// Says whether the client waits for our word.
fn expects_continue(headers: &HeaderMap) -> Result<bool, Refused> {
    let Some(expected) = headers.get(EXPECT) else { return Ok(false) };
    if expected.as_bytes().eq_ignore_ascii_case(b"100-continue") {
        return Ok(true);
    }
    Err(Refused(StatusCode::EXPECTATION_FAILED, "nothing is understood in Expect but 100-continue"))
}

#[cfg(test)]
mod tests;
