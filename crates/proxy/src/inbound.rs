//! HTTP in: the body within its limits, its outline, and the era of the client's side.

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::Body;
use http_body_util::BodyExt;
use mcp::era::Revision;
use mcp::headers::{METHOD, NAME, PROTOCOL_VERSION, SESSION_ID};
use mcp::message::{Kind, Meta, Outline, text};
use mcp::method::{Method, Mirrored};

use crate::error::Error;
use crate::plane::Front;

/// Reads a body, all of it, within limits of size and time.
pub(crate) async fn body(
    mut incoming: impl Body<Data = Bytes> + Unpin,
    limit: usize,
    time: Duration,
) -> Result<Bytes, Error> {
    if incoming.size_hint().lower() > limit as u64 {
        return Err(Error::TooLarge { limit });
    }
    let read = async {
        let Some(first) = frame(&mut incoming).await? else { return Ok(Bytes::new()) };
        if incoming.is_end_stream() {
            return within(first, limit);
        }
        // Nearly every message comes in one piece and is kept as it came.
        let Some(second) = frame(&mut incoming).await? else { return within(first, limit) };
        let mut whole = BytesMut::with_capacity(first.len() + second.len());
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        while let Some(more) = frame(&mut incoming).await? {
            if whole.len() + more.len() > limit {
                return Err(Error::TooLarge { limit });
            }
            whole.extend_from_slice(&more);
        }
        within(whole.freeze(), limit)
    };
    let mut read = pin!(read);
    // Nearly every message is there with its head.
    if let Poll::Ready(read) = futures_util::poll!(read.as_mut()) {
        return read;
    }
    tokio::time::timeout(time, read).await.unwrap_or(Err(Error::BodySlow))
}

async fn frame(incoming: &mut (impl Body<Data = Bytes> + Unpin)) -> Result<Option<Bytes>, Error> {
    loop {
        match incoming.frame().await {
            None => return Ok(None),
            Some(Err(_)) => return Err(Error::BodyBroken),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

fn within(body: Bytes, limit: usize) -> Result<Bytes, Error> {
    if body.len() > limit { Err(Error::TooLarge { limit }) } else { Ok(body) }
}

/// Tells the era of the client's side and checks what the modern one demands (gateway protocol, section 2).
pub(crate) fn classify(headers: &HeaderMap, body: &[u8], outline: &Outline) -> Result<Front, Error> {
    let meta = outline.meta.map(|span| span.of(body));
    let read = meta.map(Meta::read).unwrap_or_default();
    let in_body = read.protocol_version.zip(meta).and_then(|(span, meta)| text(span.of(meta)));
    let mut versions = headers.get_all(PROTOCOL_VERSION).iter();
    let in_header = versions.next().map(|value| value.to_str().unwrap_or(""));
    if versions.next().is_some() {
        return Err(mismatch("MCP-Protocol-Version was sent twice"));
    }
    // A version that is no string is one that we do not know, not one that was not given.
    let is_given = read.protocol_version.is_some();
    if outline.method == Method::Initialize && !is_given {
        return Ok(Front::Legacy);
    }
    let header_is_legacy =
        in_header.is_none_or(|v| Revision::parse(v).is_some_and(|known| !known.is_modern()));
    if !is_given && header_is_legacy {
        return Ok(Front::Legacy);
    }
    if outline.kind == Kind::Response {
        return Err(Error::InvalidRequest("answers are not posted in revision 2026-07-28".into()));
    }
    if outline.kind == Kind::Notification {
        return Ok(Front::Modern);
    }
    let Some(in_body) = in_body else {
        return Err(Error::MissingMeta("io.modelcontextprotocol/protocolVersion"));
    };
    let capabilities = read.client_capabilities.zip(meta).map(|(span, meta)| span.of(meta));
    if !capabilities.is_some_and(|raw| raw.starts_with(b"{")) {
        return Err(Error::MissingMeta("io.modelcontextprotocol/clientCapabilities"));
    }
    if in_header != Some(&*in_body) {
        return Err(mismatch("MCP-Protocol-Version is missing or not that of the body"));
    }
    mirrored(headers, body, outline)?;
    if in_body != Revision::MODERN.as_str() {
        let supported = format!("[\"{}\"]", Revision::MODERN.as_str());
        return Err(Error::UnsupportedVersion { requested: in_body.into_owned(), supported });
    }
    Ok(Front::Modern)
}

/// Returns the session id a request names.
pub(crate) fn session_id(headers: &HeaderMap) -> Result<Option<&str>, Error> {
    let mut values = headers.get_all(SESSION_ID).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Error::Ambiguous { header: "Mcp-Session-Id" });
    }
    ascii(first).map(Some).ok_or(Error::SessionUnknown)
}

/// Returns a value's text, as `HeaderValue::to_str` does, but for long values in a fraction of the time.
pub(crate) fn ascii(value: &HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok().filter(|text| text.is_ascii())
}

/// Says whether a request without a message names a revision of the modern era.
pub(crate) fn is_modern(headers: &HeaderMap) -> bool {
    let version = headers.get(PROTOCOL_VERSION).and_then(|value| value.to_str().ok());
    version.and_then(Revision::parse).is_some_and(Revision::is_modern)
}

/// Compares the headers that repeat parts of the body.
fn mirrored(headers: &HeaderMap, body: &[u8], outline: &Outline) -> Result<(), Error> {
    let method = outline.method_name.and_then(|span| text(span.of(body)));
    let header = single(headers, &METHOD, "Mcp-Method")?.and_then(|value| value.to_str().ok());
    if header.is_none() || header != method.as_deref() {
        return Err(mismatch("Mcp-Method is missing or not the method of the body"));
    }
    let header = single(headers, &NAME, "Mcp-Name")?;
    let Some(mirrored) = outline.method.mirrored() else { return Ok(()) };
    let span = match mirrored {
        Mirrored::Name => outline.name,
        Mirrored::Uri => outline.uri,
        Mirrored::TaskId => outline.task_id,
    };
    let in_body = span.and_then(|span| text(span.of(body)));
    let in_header = header.and_then(mcp::headers::decode_name);
    if in_header.is_none() || in_header != in_body {
        return Err(mismatch("Mcp-Name is missing or not the name in the body"));
    }
    Ok(())
}

fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    shown: &str,
) -> Result<Option<&'a HeaderValue>, Error> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(mismatch(&format!("{shown} was sent twice")));
    }
    Ok(first)
}

fn mismatch(reason: &str) -> Error {
    Error::HeaderMismatch(reason.into())
}

#[cfg(test)]
mod tests;
