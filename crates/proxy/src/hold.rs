//! What lives as long as an answer: its place among requests under way, and what its end means to a backend.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::VersionKey;
use catalog::access::Principal;

use crate::cancel;
use crate::flights::Airborne;
use crate::forward::Errand;

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
}

impl Hold {
    /// For a legacy client, whose closed connection is no cancellation.
    pub(crate) fn patient(patience: Duration, airborne: Option<Airborne>) -> Self {
        Self { airborne, patience: Some(patience), cancels: None, ticket: None }
    }

    /// The answer is complete: nothing is to be cancelled or waited for.
    pub(crate) fn complete(&mut self) {
        self.cancels = None;
        self.airborne = None;
        self.patience = None;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some((errand, upstream_id)) = self.cancels.take() {
            cancel::tell(errand, &upstream_id);
        }
    }
}
