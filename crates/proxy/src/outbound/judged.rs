//! A body that is judged on its way: how did its call end?

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::Body as _;

use super::{Body, Polled};
use crate::ended::Outcome;
use crate::verdict::Verdict;

/// Takes down how a call ended, once.
pub(crate) type Tell = Box<dyn FnOnce(Outcome) + Send>;

/// A body that is judged on its way.
pub(super) struct Judged {
    pub(super) body: Body,
    verdict: Verdict,
    /// Gone once it was told.
    tell: Option<Tell>,
}

impl Judged {
    pub(super) fn new(body: Body, verdict: Verdict, tell: Tell) -> Self {
        Self { body, verdict, tell: Some(tell) }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Polled {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let outcome = match &frame {
            Some(Ok(frame)) if self.tell.is_some() => {
                frame.data_ref().and_then(|data| self.verdict.piece(data))
            }
            Some(Ok(_)) => None,
            Some(Err(_)) => Some(Outcome::Failed),
            None => Some(self.verdict.end()),
        };
        if let Some(outcome) = outcome
            && let Some(tell) = self.tell.take()
        {
            tell(outcome);
        }
        Poll::Ready(frame)
    }
}

impl Drop for Judged {
    fn drop(&mut self) {
        // A body whose length is known is not asked for its end.
        if let Some(tell) = self.tell.take() {
            tell(self.verdict.end());
        }
    }
}
