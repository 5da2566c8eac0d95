//! The body of a backend's answer, handed on as it comes.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::budget::{Budget, Held};
use crate::duplex::messages::Messages;
use crate::error::Error;
use crate::host::Host;
use crate::line::Line;
use crate::settings::Settings;

/// How much is handed out before other tasks of the thread get their turn; what a piece costs beside its bytes.
const TURN_BYTES: usize = 256 * 1024;
const PIECE_COST_BYTES: usize = 4 * 1024;

/// The body of a backend's answer.
///
/// When it ends its connection goes back to the pool; dropped before, it cancels: an HTTP/1 connection is closed,
/// an HTTP/2 stream reset.
pub struct Reply {
    carrier: Carrier,
    idle: Option<Duration>,
    /// Set while waiting for a frame; moved only when a wait begins.
    silent_until: Option<Instant>,
    /// What was handed out since there last was nothing.
    turn_bytes: usize,
    budget: Budget,
}

/// What brings the body.
enum Carrier {
    Line(Box<Line>, Arc<Host>),
    Stream(Incoming, Pin<Box<Sleep>>),
    /// What came of a conversation.
    Messages(Box<Messages>),
    /// It is here already.
    Bytes(Bytes),
    /// The body ended or failed.
    None,
}

impl Reply {
    pub(crate) fn of_line(line: Box<Line>, host: &Arc<Host>, settings: &Settings) -> Self {
        let is_done = line.framing().is_done();
        let carrier = Carrier::Line(line, host.clone());
        let mut reply = Self::new(carrier, settings);
        if is_done {
            reply.release();
        }
        reply
    }

    pub(crate) fn of_stream(body: Incoming, timer: Pin<Box<Sleep>>, settings: &Settings) -> Self {
        let carrier = if body.is_end_stream() { Carrier::None } else { Carrier::Stream(body, timer) };
        Self::new(carrier, settings)
    }

    pub(crate) fn of_messages(messages: Messages, settings: &Settings) -> Self {
        Self::new(Carrier::Messages(Box::new(messages)), settings)
    }

    pub(crate) fn of_bytes(bytes: Bytes, settings: &Settings) -> Self {
        let carrier = if bytes.is_empty() { Carrier::None } else { Carrier::Bytes(bytes) };
        Self::new(carrier, settings)
    }

    fn new(carrier: Carrier, settings: &Settings) -> Self {
        let (idle, budget) = (Some(settings.idle), settings.budget.clone());
        Self { carrier, idle, silent_until: None, turn_bytes: 0, budget }
    }

    /// Sets how long the body may be silent; `None` for streams that may be silent for ever.
    pub fn set_idle(&mut self, idle: Option<Duration>) {
        self.idle = idle;
        self.silent_until = None;
    }

    /// Keeps no memory but for what came and was not yet read, while nobody reads on for a time.
    pub fn compact(&mut self) {
        if let Carrier::Line(line, _) = &mut self.carrier {
            line.compact();
        }
    }

    /// Returns the budget in which what is held of the body counts.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Reads the whole body. Fails with [`Error::TooLarge`] as soon as it is known to pass `limit` bytes, and with
    /// [`Error::Overloaded`] where large answers hold too much memory already.
    pub async fn collect(self, limit: usize) -> Result<Bytes, Error> {
        self.collect_after(Bytes::new(), limit).await.map(Held::into_bytes)
    }

    /// Reads the rest of a body of which a part was read already.
    pub async fn collect_after(mut self, begun: Bytes, limit: usize) -> Result<Held, Error> {
        let too_large = || Error::TooLarge { what: format!("an answer of more than {limit} bytes") };
        if self.size_hint().lower() > limit.saturating_sub(begun.len()) as u64 {
            return Err(too_large());
        }
        let (mut first, mut share) = (begun, None);
        self.budget.raise(&mut share, first.len())?;
        let mut joined = BytesMut::new();
        while let Some(frame) = self.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            if first.len().max(joined.len()) + data.len() > limit {
                return Err(too_large());
            }
            self.budget.raise(&mut share, first.len().max(joined.len()) + data.len())?;
            if first.is_empty() && joined.is_empty() {
                first = data;
            } else {
                if joined.is_empty() {
                    joined.extend_from_slice(&first);
                }
                joined.extend_from_slice(&data);
            }
        }
        Ok(Held::new(if joined.is_empty() { first } else { joined.freeze() }, share))
    }

    /// Waits for the next frame; `None` at the end.
    pub(crate) async fn frame(&mut self) -> Option<Result<Frame<Bytes>, Error>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_frame(cx)).await
    }

    /// Gives the connection back to the pool if it can take another request.
    fn release(&mut self) {
        if let Carrier::Line(mut line, host) = std::mem::replace(&mut self.carrier, Carrier::None)
            && line.finish()
        {
            host.put(line);
        }
    }

    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(idle) = self.idle else { return Poll::Pending };
        let mut timer = match &mut self.carrier {
            Carrier::Line(line, _) => line.timer(),
            Carrier::Stream(_, timer) => timer.as_mut(),
            Carrier::Messages(messages) => messages.timer(),
            Carrier::Bytes(_) | Carrier::None => return Poll::Pending,
        };
        if self.silent_until.is_none() {
            let until = Instant::now() + idle;
            self.silent_until = Some(until);
            timer.as_mut().reset(until);
        }
        timer.poll(cx)
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        if this.turn_bytes >= TURN_BYTES {
            // A backend that sends without a pause must not have the thread to itself.
            this.turn_bytes = 0;
            // Unlike a plain wake it has the runtime look for news of sockets and timers first.
            return pin!(tokio::task::yield_now()).poll(cx).map(|()| None);
        }
        let (polled, is_done) = match &mut this.carrier {
            Carrier::None => return Poll::Ready(None),
            Carrier::Line(line, _) => {
                let polled = line.poll_body(cx).map_ok(Frame::data);
                (polled, line.framing().is_done())
            }
            Carrier::Stream(body, _) => {
                let polled = Pin::new(&mut *body).poll_frame(cx).map_err(|error| Error::broken(&error));
                (polled, body.is_end_stream())
            }
            Carrier::Messages(messages) => {
                let polled = messages.poll_body(cx).map_ok(Frame::data);
                (polled, messages.is_done())
            }
            Carrier::Bytes(bytes) => (Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))), true),
        };
        match polled {
            Poll::Ready(Some(Ok(frame))) => {
                this.silent_until = None;
                this.turn_bytes += PIECE_COST_BYTES + frame.data_ref().map_or(0, Bytes::len);
                if is_done {
                    this.release();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                this.carrier = Carrier::None;
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => {
                this.release();
                Poll::Ready(None)
            }
            Poll::Pending => {
                this.turn_bytes = 0;
                std::task::ready!(this.poll_silence(cx));
                this.carrier = Carrier::None;
                let what = "the answer fell silent";
                Poll::Ready(Some(Err(Error::TimedOut { what, may_have_run: true })))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.carrier, Carrier::None)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.carrier {
            Carrier::Line(line, _) => {
                line.framing().left().map_or_else(SizeHint::default, SizeHint::with_exact)
            }
            Carrier::Stream(body, _) => body.size_hint(),
            Carrier::Messages(messages) => {
                messages.left().map_or_else(SizeHint::default, SizeHint::with_exact)
            }
            Carrier::Bytes(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Carrier::None => SizeHint::with_exact(0),
        }
    }
}
