//! The answer on its way to the client, streamed as it comes; keeps what must live until its last byte.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use backend::Reply;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use mcp::sse;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, Sleep};

use crate::forward::{drain, spawn_if_running};
use crate::hold::Hold;
use crate::lent::Lender;
use crate::parked::{ParkedCall, Rest};
use crate::relay::{Passed, Relay};
use crate::replay::Writing;
use crate::sessions::Question;
use crate::trail::{Resuming, Trail};

/// Longest single event of a backend's stream that is taken apart.
pub(crate) const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// How many events are looked at in one go, and how many goes without anything for the client make a turn. A
/// backend that sends nothing but comments must not have the thread to itself.
const EVENTS_AT_ONCE: usize = 128;
const GOES_IN_A_TURN: usize = 8;

/// A silent stream gets a comment this often, so that nothing on the way takes it for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The comment put into a stream that is handed on untouched. Without a blank line, which would end an event
/// that the backend has only begun.
const COMMENT: &[u8] = b": keep-alive\n";

/// Body of an answer to a client.
pub struct Body(Inner);

enum Inner {
    Full(Option<Bytes>),
    Passing(Box<Passing>),
    Events(Box<Events>),
    Merged(Box<Merged>),
}

/// A backend's body handed on untouched.
struct Passing {
    /// What was read of it already.
    begun: Bytes,
    reply: Option<Reply>,
    hold: Hold,
}

/// A backend's event stream.
struct Events {
    reply: Option<Reply>,
    hold: Hold,
    /// `None`: handed on untouched.
    relay: Option<Decoded>,
    /// Whether a comment may be put in now: not within a line.
    is_at_line_end: bool,
    silence: Silence,
    closing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// The last event, where it is closing that ends the stream.
    farewell: Bytes,
    /// The stream ended without the answer, and its backend is asked to go on.
    resuming: Option<Resuming>,
}

struct Decoded {
    relay: Relay,
    decoder: sse::Decoder,
    trail: Trail,
    /// Where the events are kept for a client that comes back for them.
    kept: Option<Writing>,
    ready: VecDeque<Bytes>,
    has_answered: bool,
    /// The first event, where it refuses the request as a whole.
    refusal: Option<Bytes>,
    /// Whether the decoder may hold events that were not looked at.
    is_behind: bool,
    /// Whether every event goes on, byte for byte unless something in it is sealed.
    is_exact: bool,
    /// What to say where the backend's stream ends without an answer.
    unanswered: Bytes,
}

/// Events of several origins, sent by tasks that end with the stream.
struct Merged {
    events: mpsc::Receiver<Bytes>,
    tasks: Vec<AbortHandle>,
    silence: Silence,
    closing: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The last event, where it is closing that ends the stream.
    farewell: Bytes,
    is_over: bool,
}

struct Silence {
    since: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self(Inner::Full(None))
    }

    pub(crate) fn full(bytes: Bytes) -> Self {
        Self(Inner::Full(Some(bytes).filter(|bytes| !bytes.is_empty())))
    }

    /// Hands on a body, the begun part first.
    pub(crate) fn passing(begun: Bytes, reply: Reply, hold: Hold) -> Self {
        Self(Inner::Passing(Box::new(Passing { begun, reply: Some(reply), hold })))
    }

    /// Hands an event stream on untouched, but for what `lender` seals in it. With `closing` it ends when the program
    /// drains.
    pub(crate) fn raw_events(
        reply: Reply,
        hold: Hold,
        lender: Option<Box<Lender>>,
        closing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    ) -> Self {
        let silence = Silence::new();
        let relay = lender.map(|lender| Decoded {
            relay: Relay { lender: Some(lender), ..Relay::untouched() },
            decoder: sse::Decoder::new(MAX_EVENT_BYTES),
            trail: Trail::default(),
            kept: None,
            ready: VecDeque::new(),
            has_answered: false,
            refusal: None,
            is_behind: false,
            is_exact: true,
            unanswered: Bytes::new(),
        });
        let events = Events {
            reply: Some(reply),
            hold,
            relay,
            is_at_line_end: true,
            silence,
            closing,
            farewell: Bytes::new(),
            resuming: None,
        };
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
        // Of a parked call the decoder holds what came behind the question.
        let (ready, has_answered, is_behind) = (VecDeque::new(), false, true);
        let decoded = Decoded {
            relay,
            decoder,
            trail,
            kept: None,
            ready,
            has_answered,
            refusal: None,
            is_behind,
            is_exact: false,
            unanswered,
        };
        let (silence, farewell) = (Silence::new(), Bytes::new());
        let relay = Some(decoded);
        let events = Events {
            reply: Some(reply),
            hold,
            relay,
            is_at_line_end: true,
            silence,
            closing: None,
            farewell,
            resuming: None,
        };
        Self(Inner::Events(Box::new(events)))
    }

    /// A stream fed by `tasks`, which end with it.
    pub(crate) fn merged(
        events: mpsc::Receiver<Bytes>,
        tasks: Vec<AbortHandle>,
        closing: Pin<Box<dyn Future<Output = ()> + Send>>,
    ) -> Self {
        let (silence, farewell) = (Silence::new(), Bytes::new());
        Self(Inner::Merged(Box::new(Merged { events, tasks, silence, closing, farewell, is_over: false })))
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

    /// Sends a last event where it is closing that ends a stream.
    pub(crate) fn farewell(mut self, event: Bytes) -> Self {
        match &mut self.0 {
            Inner::Events(events) => events.farewell = event,
            Inner::Merged(merged) => merged.farewell = event,
            Inner::Full(_) | Inner::Passing(_) => {}
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
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Inner::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Inner::Passing(passing) if passing.begun.is_empty() => {
                passing.reply.as_ref().map_or_else(SizeHint::new, Reply::size_hint)
            }
            _ => SizeHint::new(),
        }
    }
}

impl Passing {
    fn poll(&mut self, cx: &mut Context<'_>) -> Polled {
        if !self.begun.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.begun)))));
        }
        let Some(reply) = &mut self.reply else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(reply).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.reply = None;
            self.hold.complete();
        }
        Poll::Ready(frame)
    }
}

impl Events {
    fn poll(&mut self, cx: &mut Context<'_>) -> Polled {
        let mut goes = 0;
        loop {
            if let Some(bytes) = self.relay.as_mut().and_then(|decoded| decoded.ready.pop_front()) {
                self.silence.broken();
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if let Some(closing) = &mut self.closing
                && closing.as_mut().poll(cx).is_ready()
            {
                self.reply = None;
                self.closing = None;
                if self.is_at_line_end && !self.farewell.is_empty() {
                    return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.farewell)))));
                }
            }
            if self.relay.as_ref().is_some_and(|decoded| decoded.is_behind) {
                if goes == GOES_IN_A_TURN {
                    // Unlike a plain wake it has the runtime look for news of sockets and timers first.
                    return pin!(tokio::task::yield_now()).poll(cx).map(|()| None);
                }
                goes += 1;
                self.look();
                continue;
            }
            let Some(reply) = &mut self.reply else {
                let Some(resuming) = &mut self.resuming else { return Poll::Ready(None) };
                let Poll::Ready(reply) = resuming.as_mut().poll(cx) else {
                    ready!(self.silence.poll(cx));
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(sse::KEEP_ALIVE)))));
                };
                self.resuming = None;
                self.reply = reply;
                self.begin_again();
                continue;
            };
            let polled = Pin::new(reply).poll_frame(cx);
            if polled.is_pending()
                && let Poll::Ready(open) = self.hold.poll_asked(cx)
            {
                self.park(open);
                continue;
            }
            let frame = match polled {
                Poll::Ready(frame) => frame,
                Poll::Pending if self.is_at_line_end => {
                    ready!(self.silence.poll(cx));
                    let comment = if self.relay.is_some() { sse::KEEP_ALIVE } else { COMMENT };
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(comment)))));
                }
                Poll::Pending => return Poll::Pending,
            };
            match (&mut self.relay, frame) {
                (None, Some(Ok(frame))) => {
                    if let Some(data) = frame.data_ref() {
                        self.is_at_line_end = data.last().map_or(self.is_at_line_end, |&last| last == b'\n');
                    }
                    self.silence.broken();
                    return Poll::Ready(Some(Ok(frame)));
                }
                (None, end) => {
                    self.reply = None;
                    self.hold.complete();
                    return Poll::Ready(end);
                }
                (Some(decoded), Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    decoded.decoder.push(data);
                    decoded.is_behind = true;
                }
                (Some(decoded), end) => {
                    self.reply = None;
                    self.resuming = decoded.resume(end.and_then(Result::err).as_ref());
                    if self.resuming.is_none() {
                        self.hold.complete();
                        decoded.finish();
                    }
                }
            }
        }
    }
}

/// What came of some bytes of a backend.
enum Taken {
    All,
    TooLong,
    /// The client was refused, and the backend need not go on.
    Refused,
    /// The backend asks, and the client is one that answers with another request.
    Questions(Vec<Question>),
}

impl Events {
    /// Looks at the next events of the backend.
    fn look(&mut self) {
        let Some(decoded) = &mut self.relay else { return };
        let taken = decoded.look();
        if matches!(taken, Taken::Refused) {
            self.hold.cancel();
            self.reply = None;
        }
        if decoded.has_answered {
            // What the backend may still send is of no interest, and a client that has its answer cancels
            // nothing when it closes.
            self.hold.complete();
            if decoded.trail.is_resumed() {
                // Such a stream may well go on for ever.
                self.reply = None;
            }
        }
        match taken {
            Taken::All | Taken::Refused => {}
            Taken::TooLong => {
                self.reply = None;
                decoded.finish();
            }
            Taken::Questions(open) => self.park(open),
        }
    }

    /// Reads a stream that was resumed, or ends where there is none.
    fn begin_again(&mut self) {
        let Some(decoded) = &mut self.relay else { return };
        decoded.decoder = sse::Decoder::new(MAX_EVENT_BYTES);
        if self.reply.is_none() {
            self.hold.complete();
            decoded.finish();
        }
    }

    /// Parks the call behind this stream, and ends the stream with its questions.
    fn park(&mut self, open: Vec<Question>) {
        let (Some(reply), Some(decoded)) = (self.reply.take(), self.relay.as_mut()) else { return };
        let Some(errand) = decoded.relay.errand.clone() else { return };
        let decoder = std::mem::replace(&mut decoded.decoder, sse::Decoder::new(0));
        let relay = std::mem::replace(&mut decoded.relay, Relay::untouched());
        let trail = std::mem::take(&mut decoded.trail);
        let hold = std::mem::take(&mut self.hold);
        let asking = errand.shared.parked.park(
            ParkedCall { rest: Rest::Stream { reply, decoder, trail }, hold, relay, open },
            &errand.shared.opaque,
        );
        decoded.has_answered = true;
        decoded.is_behind = false;
        decoded.ready.push_back(sse::encode(&asking, None));
    }
}

impl Events {
    /// Goes on without the client, who may come back for what it misses.
    fn run_on(&mut self, patience: Duration) {
        let Some(is_read) = self.relay.as_ref().and_then(|decoded| Some(decoded.kept.as_ref()?.readers()))
        else {
            return;
        };
        let mut rest = Self {
            reply: self.reply.take(),
            hold: std::mem::take(&mut self.hold),
            relay: self.relay.take(),
            is_at_line_end: true,
            silence: Silence::new(),
            closing: None,
            farewell: Bytes::new(),
            resuming: self.resuming.take(),
        };
        spawn_if_running(async move {
            let mut all = pin!(async { while poll_fn(|cx| rest.poll(cx)).await.is_some() {} });
            loop {
                tokio::select! {
                    () = &mut all => return,
                    () = tokio::time::sleep(patience) => {
                        if !is_read() {
                            return;
                        }
                    }
                }
            }
        });
    }
}

impl Decoded {
    /// Says whether the client may come back for the answer.
    fn is_awaited(&self) -> bool {
        self.kept.is_some() && !self.has_answered
    }

    /// Looks at the next events and passes on the messages in them.
    fn look(&mut self) -> Taken {
        let mut questions = Vec::new();
        for _ in 0..EVENTS_AT_ONCE {
            let Some(event) = self.decoder.next() else {
                self.is_behind = false;
                break;
            };
            let Ok(event) = event else {
                self.is_behind = false;
                return Taken::TooLong;
            };
            if self.is_exact {
                self.ready.push_back(self.relay.exact(event));
                continue;
            }
            self.trail.note(&event);
            if event.data.is_empty() {
                continue;
            }
            match self.relay.pass(event.data) {
                Passed::Nothing => {}
                Passed::Message(data) => self.ready.push_back(self.event(&data)),
                Passed::Answer(data) => {
                    self.has_answered = true;
                    self.ready.push_back(self.event(&data));
                }
                Passed::Question { id, question } => questions.push((id, question)),
                Passed::Lacking(error) => {
                    (self.has_answered, self.is_behind) = (true, false);
                    self.refusal = Some(error.clone()).filter(|_| self.ready.is_empty());
                    self.ready.push_back(self.event(&error));
                    return Taken::Refused;
                }
            }
        }
        if questions.is_empty() { Taken::All } else { Taken::Questions(questions) }
    }

    /// Makes the event of a message.
    fn event(&self, message: &[u8]) -> Bytes {
        match &self.kept {
            Some(kept) => kept.event(message),
            None => sse::encode(message, None),
        }
    }

    /// Goes on with a stream that ended before the answer.
    fn resume(&mut self, end: Option<&backend::Error>) -> Option<Resuming> {
        if self.has_answered {
            return None;
        }
        self.trail.resume(end, self.relay.errand.as_ref())
    }

    /// The backend's stream is over: the client gets an error in place of an answer that did not come.
    fn finish(&mut self) {
        if !self.has_answered && !self.unanswered.is_empty() {
            self.has_answered = true;
            self.ready.push_back(self.event(&self.unanswered));
        }
    }
}

impl Merged {
    fn poll(&mut self, cx: &mut Context<'_>) -> Polled {
        if self.is_over {
            return Poll::Ready(None);
        }
        if self.closing.as_mut().poll(cx).is_ready() {
            self.is_over = true;
            let farewell = std::mem::take(&mut self.farewell);
            return Poll::Ready((!farewell.is_empty()).then(|| Ok(Frame::data(farewell))));
        }
        match self.events.poll_recv(cx) {
            Poll::Ready(Some(event)) => {
                self.silence.broken();
                Poll::Ready(Some(Ok(Frame::data(event))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                ready!(self.silence.poll(cx));
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(sse::KEEP_ALIVE)))))
            }
        }
    }
}

impl Drop for Merged {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        go_on(self.reply.take(), std::mem::take(&mut self.hold));
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(patience) =
            self.hold.patience.take_if(|_| self.relay.as_ref().is_some_and(Decoded::is_awaited))
        {
            return self.run_on(patience);
        }
        go_on(self.reply.take(), std::mem::take(&mut self.hold));
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

impl Silence {
    fn new() -> Self {
        Self { since: Instant::now(), timer: None }
    }

    fn broken(&mut self) {
        self.since = Instant::now();
    }

    /// Ready when nothing was sent for a while.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let since = &mut self.since;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(*since + KEEP_ALIVE)));
        loop {
            ready!(timer.as_mut().poll(cx));
            let now = Instant::now();
            let is_silent = now >= *since + KEEP_ALIVE;
            if is_silent {
                *since = now;
            }
            timer.as_mut().reset(*since + KEEP_ALIVE);
            if is_silent {
                return Poll::Ready(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
