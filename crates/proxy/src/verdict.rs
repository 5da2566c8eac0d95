//! How a call ended, as its answer says.

use bytes::Bytes;
use mcp::message::{Kind, Outline, member};
use mcp::sse;

use crate::ended::Outcome;

/// Most of a JSON answer that comes in pieces that is kept to judge it. One that is longer is a result: errors are short.
const MAX_JUDGED_BYTES: usize = 64 * 1024;

/// Looks for the answer in what passes.
pub(crate) enum Verdict {
    /// JSON, and what came of it.
    Json(Vec<u8>),
    /// An event stream.
    Events(Box<sse::Decoder>),
}

impl Verdict {
    /// Prepares to look at JSON.
    pub(crate) fn of_json() -> Self {
        Self::Json(Vec::new())
    }

    /// Prepares to look at a stream whose events are this long at the most.
    pub(crate) fn of_events(max_event_bytes: usize) -> Self {
        Self::Events(Box::new(sse::Decoder::new(max_event_bytes)))
    }

    /// Looks at the next piece; says how the call ended as soon as that is known.
    pub(crate) fn piece(&mut self, piece: &Bytes) -> Option<Outcome> {
        match self {
            Self::Json(begun) => {
                begun.extend_from_slice(piece);
                (begun.len() > MAX_JUDGED_BYTES).then_some(Outcome::Ok)
            }
            Self::Events(decoder) => {
                decoder.push(piece.clone());
                while let Some(event) = decoder.next() {
                    let Ok(event) = event else { return Some(Outcome::Failed) };
                    if let Some(outcome) = judge(&event.data) {
                        return Some(outcome);
                    }
                }
                None
            }
        }
    }

    /// Says how it ended once all has passed.
    pub(crate) fn end(&self) -> Outcome {
        match self {
            Self::Json(whole) => judge(whole).unwrap_or(Outcome::Failed),
            Self::Events(_) => Outcome::Failed,
        }
    }
}

/// Says how a call ended by its answer; `None` for what is no answer.
pub(crate) fn judge(message: &[u8]) -> Option<Outcome> {
    let outline = Outline::read(message).ok().filter(|outline| outline.kind == Kind::Response)?;
    let Some(result) = outline.result else { return Some(Outcome::Failed) };
    let result = result.of(message);
    // Hardly any result says so.
    let may_fail = memchr::memmem::find(result, b"\"isError\"").is_some();
    let fails = may_fail && member(result, "isError").is_some_and(|span| span.of(result) == b"true");
    Some(if fails { Outcome::Failed } else { Outcome::Ok })
}

#[cfg(test)]
mod tests;
