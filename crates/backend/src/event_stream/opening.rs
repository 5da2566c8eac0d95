//! Opening a stream: the GET, and the event that names where messages are posted to.

use bytes::Bytes;
use catalog::endpoint::Endpoint;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method as Verb, StatusCode};
use mcp::sse::Event;
use tokio::time::Instant;

use crate::error::Error;
use crate::events::Events;
use crate::outgoing::Outgoing;
use crate::pool::Backends;

/// Longest event of a stream; as long as the longest answer that is read whole.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// A stream that has begun.
pub(super) struct Opened {
    pub(super) events: Events,
    /// Where messages are posted to, with the headers of the endpoint.
    pub(super) posts: Endpoint,
}

/// Waits for the next event that says something; `None` at the end.
pub(super) async fn next(events: &mut Events) -> Option<Result<Event, Error>> {
    loop {
        match events.next().await? {
            Ok(event) if event.data.is_empty() => {}
            event => return Some(event.map_err(Error::from)),
        }
    }
}

impl Backends {
    /// Opens a stream and waits for its first event. Fails with [`Error::Refused`] where the backend has none.
    pub(super) async fn open_events(
        &self,
        endpoint: &Endpoint,
        carried: &HeaderMap,
        now: Instant,
        deadline: Instant,
    ) -> Result<Opened, Error> {
        let mut headers = carried.clone();
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let outgoing = Outgoing { method: Verb::GET, headers, body: Bytes::new() };
        let opening = async {
            let route = self.route(endpoint, now)?;
            let (head, mut reply) = self.send_on(&route, outgoing, now, deadline).await?.into_parts();
            if head.status != StatusCode::OK {
                return Err(Error::Refused(head.status));
            }
            let kind = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
            if !kind.to_ascii_lowercase().starts_with(b"text/event-stream") {
                return Err(Error::not_mcp("GET is answered with something else than an event stream"));
            }
            // It is silent for as long as nothing happens.
            reply.set_idle(None);
            let mut events = Events::new(reply, MAX_EVENT_BYTES);
            let first = next(&mut events).await.unwrap_or_else(|| Err(nameless()))?;
            let is_endpoint = first.name.as_deref() == Some(b"endpoint");
            let named = std::str::from_utf8(&first.data).ok().filter(|_| is_endpoint).ok_or_else(nameless)?;
            // Another origin is refused: what is posted there, credentials among it, is not for strangers, and the
            // address was checked for this one only (MCP 2024-11-05, basic/transports, names no such case).
            let posts = endpoint.beside(named);
            let posts =
                posts.ok_or_else(|| Error::not_mcp("its endpoint event names no URL of its own origin"))?;
            Ok(Opened { events, posts })
        };
        let timed_out = Error::TimedOut { what: "no endpoint event", may_have_run: false };
        tokio::time::timeout_at(deadline, opening).await.unwrap_or(Err(timed_out))
    }
}

fn nameless() -> Error {
    Error::not_mcp("its event stream does not begin with an endpoint event")
}
