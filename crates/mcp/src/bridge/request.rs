//! Requests: what a modern backend is told of the client with each one, and what a legacy backend must not see.

use bytes::Bytes;

use super::RESERVED_PREFIX;
use super::object::Rebuilt;
use crate::era::Revision;
use crate::message::{Outline, Span, member};
use crate::rewrite::{Edit, splice};

/// What a modern backend is told of the client with each request (2026-07-28, `_meta`).
#[derive(Clone, Copy, Debug)]
pub struct Dress<'a> {
    /// A JSON object.
    pub client_info: &'a str,
    /// A JSON object.
    pub client_capabilities: &'a str,
    /// A JSON string, quotes and all.
    pub log_level: Option<&'a str>,
}

/// Turns a legacy request into one of 2026-07-28: `params._meta` says who asks.
///
/// Reserved keys that are there already are replaced, all other keys stay.
pub fn to_modern(body: &Bytes, outline: &Outline, dress: &Dress<'_>) -> Bytes {
    let old = outline.meta.and_then(|span| Rebuilt::of(span.of(body))).unwrap_or_else(Rebuilt::empty);
    let reserved = |name: &str| format!("{RESERVED_PREFIX}{name}");
    let version = format!("\"{}\"", Revision::MODERN.as_str());
    let mut meta = old
        .without(|name| name.starts_with(RESERVED_PREFIX))
        .with(&reserved("protocolVersion"), version.as_bytes())
        .with(&reserved("clientInfo"), dress.client_info.as_bytes())
        .with(&reserved("clientCapabilities"), dress.client_capabilities.as_bytes());
    if let Some(level) = dress.log_level {
        meta = meta.with(&reserved("logLevel"), level.as_bytes());
    }
    let meta = meta.written();
    match (outline.meta, outline.params) {
        (Some(at), _) => splice(body, &mut [Edit { at, with: meta.into() }]),
        (None, Some(at)) => {
            let Some(params) = Rebuilt::of(at.of(body)) else { return body.clone() };
            let with = params.with("_meta", &meta).written();
            splice(body, &mut [Edit { at, with: with.into() }])
        }
        (None, None) => {
            let Some(end) = last_brace(body) else { return body.clone() };
            let with = [br#","params":{"_meta":"#, meta.as_slice(), b"}"].concat();
            splice(body, &mut [Edit { at: Span { start: end, end }, with: with.into() }])
        }
    }
}

/// Turns a modern request into one for a legacy backend: without reserved keys in `_meta`, and without the
/// members of a round of input.
pub fn to_legacy(body: &Bytes, outline: &Outline) -> Bytes {
    let Some(params) = outline.params else { return body.clone() };
    let rounds = ["inputResponses", "requestState"];
    let has_rounds = rounds.iter().any(|name| member(params.of(body), name).is_some());
    let meta = outline.meta.and_then(|span| Rebuilt::of(span.of(body)));
    let meta = meta.map(|meta| meta.without(|name| name.starts_with(RESERVED_PREFIX)).written());
    match (has_rounds, meta, outline.meta) {
        (false, Some(meta), Some(at)) => splice(body, &mut [Edit { at, with: meta.into() }]),
        (false, ..) => body.clone(),
        (true, meta, _) => {
            let Some(mut rebuilt) = Rebuilt::of(params.of(body)) else { return body.clone() };
            rebuilt = rebuilt.without(|name| rounds.contains(&name));
            if let Some(meta) = meta {
                rebuilt = rebuilt.with("_meta", &meta);
            }
            splice(body, &mut [Edit { at: params, with: rebuilt.written().into() }])
        }
    }
}

/// Finds where the envelope closes.
fn last_brace(body: &[u8]) -> Option<u32> {
    memchr::memrchr(b'}', body).map(|at| at as u32)
}
