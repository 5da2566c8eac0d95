//! What lives as long as an answer: its place among requests under way, and what its end means to a backend.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use catalog::VersionKey;
use catalog::access::Principal;

use crate::cancel;
use crate::flights::Airborne;
use crate::forward::Errand;
use crate::sessions::{Question, Questions};

/// What lives as long as the answer to one request.
#[derive(Default)]
pub(crate) struct Hold {
    /// The request's place among those under way.
    pub(crate) airborne: Option<Airborne>,
    /// How long the backend may go on when the client is gone; `None` ends it at once.
    pub(crate) patience: Option<Duration>,
    /// Whom to tell, and of which id, when the client of the modern era goes away: there it is a cancellation.
    pub(crate) cancels: Option<(Arc<Errand>, Bytes)>,
    /// What the call must show to go on after a question; `None` where it cannot be asked.
    pub(crate) ticket: Option<Box<Ticket>>,
    /// What the backend asks beside the stream of the call. While it is here, the call's session has no other.
    pub(crate) questions: Option<Questions>,
}

/// What a call must show again to go on: who it is of and what it asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) key: VersionKey,
    pub(crate) principal: Principal,
    /// Over method, name and arguments.
    pub(crate) digest: u64,
    /// The raw id of the request that is answered now.
    pub(crate) id: Bytes,
    /// The raw progress token of the request that the backend has.
    pub(crate) progress_token: Option<Bytes>,
}

impl Hold {
    /// For a legacy client, whose closed connection is no cancellation.
    pub(crate) fn patient(patience: Duration, airborne: Option<Airborne>) -> Self {
        Self { airborne, patience: Some(patience), cancels: None, ticket: None, questions: None }
    }

    /// The answer is complete: nothing is to be cancelled or waited for.
    pub(crate) fn complete(&mut self) {
        if let Some((errand, _)) = self.cancels.take() {
            self.unasked().iter().for_each(|question| errand.clone().post_aside(cancel::refusal(question)));
        }
        self.airborne = None;
        self.patience = None;
    }

    /// The call ends here: its backend is told where that is a cancellation, and that nobody answers what it has
    /// asked.
    pub(crate) fn cancel(&mut self, mut asked: Vec<Question>) {
        if let Some((errand, upstream_id)) = self.cancels.take() {
            if self.questions.is_some() {
                cancel::retire(errand.clone());
            }
            asked.extend(self.unasked());
            cancel::tell(errand, &upstream_id, &asked, self.airborne.take());
        }
        self.complete();
    }

    /// Takes out what the backend asked beside the stream of the call and the client was not asked.
    fn unasked(&mut self) -> Vec<Question> {
        let Some(mut questions) = self.questions.take() else { return Vec::new() };
        questions.close();
        std::iter::from_fn(|| questions.try_recv().ok()).collect()
    }

    /// Waits until the backend asks beside the stream of the call; for ever where it has no other way to ask.
    pub(crate) async fn asked(&mut self) -> Vec<Question> {
        poll_fn(|cx| self.poll_asked(cx)).await
    }

    /// Ready with all that the backend asked beside the stream of the call.
    pub(crate) fn poll_asked(&mut self, cx: &mut Context<'_>) -> Poll<Vec<Question>> {
        let Some(questions) = &mut self.questions else { return Poll::Pending };
        let Poll::Ready(Some(first)) = questions.poll_recv(cx) else { return Poll::Pending };
        let mut open = vec![first];
        while let Ok(more) = questions.try_recv() {
            open.push(more);
        }
        Poll::Ready(open)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.cancel(Vec::new());
    }
}
