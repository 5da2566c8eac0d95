//! The answer on its way to the client, streamed as it comes; keeps what must live until its last byte.

mod decoded;
mod events;
mod judged;
mod merged;
mod passing;
mod silence;

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use backend::Reply;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use mcp::sse;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::ended::Outcome;
use crate::forward::{drain, spawn_if_running};
use crate::hold::Hold;
use crate::lending::Lender;
use crate::relay::Relay;
use crate::replay::Writing;
use crate::seen::watch::Watch;
use crate::trail::Trail;
use crate::verdict::{Verdict, judge};
use decoded::Decoded;
use events::Events;
use judged::{Judged, Tell};
use merged::Merged;
use passing::Passing;

/// Longest single event of a backend's stream that is taken apart.
pub(crate) const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// Body of an answer to a client.
pub struct Body(Inner);

enum Inner {
    Full(Option<Bytes>),
    Passing(Box<Passing>),
    Events(Box<Events>),
    Merged(Box<Merged>),
    Watched(Box<Watched>),
    Judged(Box<Judged>),
}

/// A body that is looked through on its way.
struct Watched {
    body: Body,
    watch: Watch,
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self(Inner::Full(None))
    }

    pub(crate) fn full(bytes: Bytes) -> Self {
        Self(Inner::Full(Some(bytes).filter(|bytes| !bytes.is_empty())))
    }

    /// Hands on a JSON body, the begun part first, untouched but for what `lender` seals in it.
    pub(crate) fn passing(begun: Bytes, reply: Reply, hold: Hold, lender: Option<Box<Lender>>) -> Self {
        Self(Inner::Passing(Box::new(Passing::new(begun, reply, hold, lender))))
    }

    /// Hands an event stream on untouched, but for what `lender` seals in it. With `closing` it ends when the program
    /// drains.
    pub(crate) fn raw_events(
        reply: Reply,
        hold: Hold,
        lender: Option<Box<Lender>>,
        closing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    ) -> Self {
        let mut events = Events::new(reply, hold, lender.map(Decoded::exact));
        events.closing = closing;
        Self(Inner::Events(Box::new(events)))
    }

    /// Takes an event stream apart and hands on what concerns the client.
    pub(crate) fn relayed_events(
        reply: Reply,
        hold: Hold,
        relay: Relay,
        decoder: sse::Decoder,
        trail: Trail,
        unanswered: Bytes,
    ) -> Self {
        let decoded = Decoded::new(relay, decoder, trail, unanswered);
        Self(Inner::Events(Box::new(Events::new(reply, hold, Some(decoded)))))
    }

    /// A stream fed by `tasks`, which end with it.
    pub(crate) fn merged(
        events: mpsc::Receiver<Bytes>,
        tasks: Vec<AbortHandle>,
        closing: Pin<Box<dyn Future<Output = ()> + Send>>,
    ) -> Self {
        Self(Inner::Merged(Box::new(Merged::new(events, tasks, closing))))
    }

    /// Waits for the first event, for so long. Returns it where it refuses the request, whose status is then not that of
    /// a stream.
    pub(crate) async fn refusal(&mut self, wait: Duration) -> Option<Bytes> {
        let Inner::Events(events) = &mut self.0 else { return None };
        let first = tokio::time::timeout(wait, poll_fn(|cx| events.poll(cx))).await;
        let decoded = events.relay.as_mut()?;
        if let Ok(Some(Ok(frame))) = first
            && let Ok(event) = frame.into_data()
        {
            decoded.ready.push_front(event);
        }
        decoded.refusal.take()
    }

    /// Gives the events of a stream ids, and keeps them for a client that comes back.
    pub(crate) fn kept(mut self, kept: Writing, has_primer: bool) -> Self {
        if let Inner::Events(events) = &mut self.0
            && let Some(decoded) = &mut events.relay
        {
            if has_primer {
                decoded.ready.push_back(kept.primer());
            }
            decoded.kept = Some(kept);
        }
        self
    }

    /// Ends a backend's stream, which may be silent till then, when `until` resolves.
    pub(crate) fn closing(mut self, until: Pin<Box<dyn Future<Output = ()> + Send>>) -> Self {
        if let Inner::Events(events) = &mut self.0 {
            if let Some(reply) = &mut events.reply {
                reply.set_idle(None);
            }
            events.closing = Some(until);
        }
        self
    }

    /// Returns all of it where it is here already.
    pub(crate) fn whole(self) -> Result<Bytes, Self> {
        match self.0 {
            Inner::Full(bytes) => Ok(bytes.unwrap_or_default()),
            other => Err(Self(other)),
        }
    }

    /// Says for certain that it does not hold some bytes. Of what is still to come nothing is certain.
    pub(crate) fn holds_no(&self, bytes: &[u8]) -> bool {
        match &self.0 {
            Inner::Full(whole) => {
                whole.as_ref().is_none_or(|whole| memchr::memmem::find(whole, bytes).is_none())
            }
            _ => false,
        }
    }

    /// Has it looked through on its way.
    pub(crate) fn watched(self, watch: Watch) -> Self {
        Self(Inner::Watched(Box::new(Watched { body: self, watch })))
    }

    /// Has it judged on its way how its call ended; what is here already is judged at once.
    pub(crate) fn judged(self, is_events: bool, tell: Tell) -> Self {
        match &self.0 {
            Inner::Full(whole) => {
                tell(judge(whole.as_deref().unwrap_or_default()).unwrap_or(Outcome::Failed));
                self
            }
            _ if is_events => {
                Self(Inner::Judged(Box::new(Judged::new(self, Verdict::of_events(MAX_EVENT_BYTES), tell))))
            }
            _ => Self(Inner::Judged(Box::new(Judged::new(self, Verdict::of_json(), tell)))),
        }
    }

    /// Sends a last event where it is closing that ends a stream.
    pub(crate) fn farewell(mut self, event: Bytes) -> Self {
        match &mut self.0 {
            Inner::Events(events) => events.farewell = event,
            Inner::Merged(merged) => merged.farewell = event,
            Inner::Full(_) | Inner::Passing(_) | Inner::Watched(_) | Inner::Judged(_) => {}
        }
        self
    }
}

type Polled = Poll<Option<Result<Frame<Bytes>, backend::Error>>>;

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = backend::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        match &mut self.get_mut().0 {
            Inner::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Inner::Passing(passing) => passing.poll(cx),
            Inner::Events(events) => events.poll(cx),
            Inner::Merged(merged) => merged.poll(cx),
            Inner::Watched(watched) => watched.poll(cx),
            Inner::Judged(judged) => judged.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Full(bytes) => bytes.is_none(),
            Inner::Watched(watched) => watched.body.is_end_stream(),
            Inner::Judged(judged) => judged.body.is_end_stream(),
            _ => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Inner::Passing(passing) => passing.size_hint(),
            Inner::Watched(watched) => watched.body.size_hint(),
            Inner::Events(_) | Inner::Merged(_) => SizeHint::new(),
            Inner::Judged(judged) => judged.body.size_hint(),
        }
    }
}

impl Watched {
    fn poll(&mut self, cx: &mut Context<'_>) -> Polled {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.watch.piece(data);
        }
        Poll::Ready(frame)
    }
}

/// Lets a backend finish what its client no longer waits for.
pub(crate) fn go_on(reply: Option<Reply>, mut hold: Hold) {
    let (Some(reply), Some(patience)) = (reply, hold.patience) else { return };
    let airborne = hold.airborne.take();
    spawn_if_running(async move {
        let _ = tokio::time::timeout(patience, drain(reply)).await;
        drop(airborne);
    });
}

#[cfg(test)]
mod tests;
