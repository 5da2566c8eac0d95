//! A backend's JSON on its way to the client, untouched or with a few texts sealed in it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use backend::{Reply, Share};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use mcp::sift::Sift;

use super::{Polled, go_on};
use crate::hold::Hold;
use crate::lending::Lender;

/// Longest text that is sealed on its way, as long as a request that would show it again may be.
const MAX_SEALED_BYTES: usize = 16 * 1024 * 1024;

/// A backend's body.
pub(super) struct Passing {
    /// What was read of it already.
    begun: Bytes,
    reply: Option<Reply>,
    hold: Hold,
    sealing: Option<Sealing>,
}

/// What is sealed in a body as it passes.
struct Sealing {
    lender: Box<Lender>,
    sift: Sift,
    ready: VecDeque<Bytes>,
    /// Counts what is held of a text that is not at its end.
    share: Share,
}

impl Passing {
    pub(super) fn new(begun: Bytes, reply: Reply, hold: Hold, lender: Option<Box<Lender>>) -> Self {
        let sealing = lender.map(|lender| {
            let sift = lender.sift();
            Sealing { lender, sift, ready: VecDeque::new(), share: Share::None }
        });
        Self { begun, reply: Some(reply), hold, sealing }
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        match &self.reply {
            Some(reply) if self.begun.is_empty() && self.sealing.is_none() => reply.size_hint(),
            _ => SizeHint::new(),
        }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Polled {
        loop {
            if let Some(ready) = self.sealing.as_mut().and_then(|sealing| sealing.ready.pop_front()) {
                return Poll::Ready(Some(Ok(Frame::data(ready))));
            }
            let frame = if self.begun.is_empty() {
                let Some(reply) = &mut self.reply else { return Poll::Ready(None) };
                match ready!(Pin::new(reply).poll_frame(cx)) {
                    Some(Ok(frame)) => frame,
                    end => return Poll::Ready(self.end(end.and_then(Result::err))),
                }
            } else {
                Frame::data(std::mem::take(&mut self.begun))
            };
            let (Some(sealing), Some(reply)) = (&mut self.sealing, &self.reply) else {
                return Poll::Ready(Some(Ok(frame)));
            };
            let Ok(data) = frame.into_data() else { continue };
            if let Err(error) = sealing.take(&data, reply) {
                return Poll::Ready(self.end(Some(error)));
            }
        }
    }

    /// The body is over. Of a text that was cut off nothing is said.
    fn end(&mut self, error: Option<backend::Error>) -> Option<Result<Frame<Bytes>, backend::Error>> {
        self.reply = None;
        self.hold.complete();
        error.map(Err)
    }
}

impl Sealing {
    fn take(&mut self, data: &Bytes, reply: &Reply) -> Result<(), backend::Error> {
        let Self { lender, sift, ready, share } = self;
        sift.push(data, |found, raw| lender.sealed_text(found, &raw), |bytes| ready.push_back(bytes));
        match sift.held_bytes() {
            0 => *share = None,
            MAX_SEALED_BYTES.. => {
                let what = format!("a text of more than {MAX_SEALED_BYTES} bytes to be shown again");
                return Err(backend::Error::TooLarge { what });
            }
            held_bytes => reply.budget().raise(share, held_bytes)?,
        }
        Ok(())
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        go_on(self.reply.take(), std::mem::take(&mut self.hold));
    }
}
