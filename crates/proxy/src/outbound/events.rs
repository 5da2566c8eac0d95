//! A backend's event stream on its way to the client.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use backend::Reply;
use bytes::Bytes;
use http_body::{Body as _, Frame};
use mcp::sse;

use super::decoded::{Decoded, Taken};
use super::silence::Silence;
use super::{MAX_EVENT_BYTES, Polled, go_on};
use crate::forward::spawn_if_running;
use crate::hold::Hold;
use crate::parked::ParkedCall;
use crate::relay::Relay;
use crate::rest::{self, Rest};
use crate::sessions::Question;
use crate::trail::Resuming;

/// How many goes of events without anything for the client make a turn. A backend that sends nothing but comments must
/// not have the thread to itself.
pub(super) const GOES_IN_A_TURN: usize = 8;

/// The comment put into a stream that is handed on untouched. Without a blank line, which would end an event
/// that the backend has only begun.
const COMMENT: &[u8] = b": keep-alive\n";

/// A backend's event stream.
pub(super) struct Events {
    pub(super) reply: Option<Reply>,
    hold: Hold,
    /// `None`: handed on untouched.
    pub(super) relay: Option<Decoded>,
    /// Whether a comment may be put in now: not within a line.
    is_at_line_end: bool,
    silence: Silence,
    pub(super) closing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// The last event, where it is closing that ends the stream.
    pub(super) farewell: Bytes,
    /// The stream ended without the answer, and its backend is asked to go on.
    resuming: Option<Resuming>,
}

impl Events {
    /// Hands on a stream, taken apart or untouched.
    pub(super) fn new(reply: Reply, hold: Hold, relay: Option<Decoded>) -> Self {
        Self {
            reply: Some(reply),
            hold,
            relay,
            is_at_line_end: true,
            silence: Silence::new(),
            closing: None,
            farewell: Bytes::new(),
            resuming: None,
        }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Polled {
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

    /// Looks at the next events of the backend.
    fn look(&mut self) {
        let Some(decoded) = &mut self.relay else { return };
        let taken = decoded.look();
        if matches!(taken, Taken::Refused) {
            return self.give_up();
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

    /// Ends the call behind this stream, which its backend need not go on with.
    fn give_up(&mut self) {
        let hold = std::mem::take(&mut self.hold);
        if let (Some(reply), Some(decoded)) = (self.reply.take(), self.relay.as_mut()) {
            let decoder = std::mem::replace(&mut decoded.decoder, sse::Decoder::new(0));
            rest::give_up(
                hold,
                Rest::Stream { reply, decoder, trail: std::mem::take(&mut decoded.trail) },
                Vec::new(),
            );
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

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(patience) =
            self.hold.patience.take_if(|_| self.relay.as_ref().is_some_and(Decoded::is_awaited))
        {
            return self.run_on(patience);
        }
        if self.hold.cancels.is_some() {
            return self.give_up();
        }
        go_on(self.reply.take(), std::mem::take(&mut self.hold));
    }
}
