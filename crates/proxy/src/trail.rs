//! A backend's stream that ends before its answer: how far it was read, and how it goes on from there.
//!
//! Source: MCP 2025-11-25, streamable HTTP, resumability: GET with the last event's id, `retry` after the end.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use backend::{Outgoing, Reply};
use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method as Verb, StatusCode};
use mcp::headers::LAST_EVENT_ID;
use mcp::sse::Event;

use crate::forward::{EVENTS, Errand};

/// How often the stream of one call is resumed. Backends that let clients poll end a stream every few seconds or
/// minutes; one that does so for ever has no answer.
const MOST_RESUMED: u32 = 100;

/// How often one resumption is tried at a backend that cannot be reached just then.
const TRIES: u32 = 3;

/// Pause before a stream is resumed whose backend names none, and the longest that one may name: a call waits.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A stream that is being resumed; `None` where its backend does not go on with it.
pub(crate) type Resuming = Pin<Box<dyn Future<Output = Option<Reply>> + Send>>;

/// How far a stream was read.
#[derive(Default)]
pub(crate) struct Trail {
    last_id: Option<Bytes>,
    pause: Option<Duration>,
    resumed: u32,
}

impl Trail {
    /// Notes what an event tells of its place.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Some(id) = &event.id {
            // An empty one takes the last one back.
            self.last_id = Some(id.clone()).filter(|id| !id.is_empty());
        }
        let retry = event.retry.as_ref().and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(retry) = retry {
            let pause = retry.parse().map_or(LONGEST_PAUSE, Duration::from_millis);
            self.pause = Some(pause.min(LONGEST_PAUSE));
        }
    }

    /// Keeps nothing of the pieces that the last id came in.
    pub(crate) fn compact(&mut self) {
        self.last_id = self.last_id.as_deref().map(Bytes::copy_from_slice);
    }

    /// Says whether the stream is no longer the one that the call was answered with.
    pub(crate) fn is_resumed(&self) -> bool {
        self.resumed > 0
    }

    /// Goes on with a stream that came to this end. The call is not sent again. `None` where its backend gave no
    /// event an id, fell silent, or has been asked too often.
    pub(crate) fn resume(
        &mut self,
        end: Option<&backend::Error>,
        errand: Option<&Arc<Errand>>,
    ) -> Option<Resuming> {
        if self.resumed == MOST_RESUMED || matches!(end, Some(backend::Error::TimedOut { .. })) {
            return None;
        }
        let id = HeaderValue::from_bytes(self.last_id.as_ref()?).ok()?;
        let errand = errand?.clone();
        self.resumed += 1;
        let pause = self.pause.unwrap_or(PAUSE);
        Some(Box::pin(async move {
            for _ in 0..TRIES {
                tokio::time::sleep(pause).await;
                match get(&errand, &id).await {
                    Got::Stream(reply) => return Some(reply),
                    Got::Nothing => return None,
                    Got::NotNow => {}
                }
            }
            None
        }))
    }
}

enum Got {
    Stream(Reply),
    Nothing,
    NotNow,
}

async fn get(errand: &Errand, id: &HeaderValue) -> Got {
    let slot = errand.session.slot(&errand.version.key);
    let Some(open) = slot.current() else { return Got::Nothing };
    let mut headers = errand.session_headers(&open, HeaderMap::new());
    headers.insert(ACCEPT, EVENTS);
    headers.insert(LAST_EVENT_ID, id.clone());
    let outgoing = Outgoing { method: Verb::GET, headers, body: Bytes::new() };
    match errand.backends.send(&errand.version.endpoint, outgoing).await {
        Ok(answer) if answer.status() == StatusCode::OK => Got::Stream(answer.into_body()),
        Ok(answer) if answer.status().is_server_error() => Got::NotNow,
        Ok(_) => Got::Nothing,
        Err(_) => Got::NotNow,
    }
}

#[cfg(test)]
mod tests;
