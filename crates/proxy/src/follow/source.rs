//! One backend that is followed: for whom, and what its follower says of it once it listens.

use std::sync::Arc;
use std::time::Duration;

use catalog::VersionKey;
use mcp::subscription::Filter;
use tokio::sync::mpsc;

use crate::forward::Errand;
use crate::lending;
use crate::plane::Front;
use crate::relay::Relay;

/// First and longest pause before a backend's stream that ended is opened again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Reports that wait to be read: one a backend, and virtual servers have some dozens.
const MOST_REPORTS: usize = 256;

/// A backend that is followed.
pub(crate) struct Source {
    pub(crate) errand: Arc<Errand>,
    pub(crate) front: Front,
    /// Whether the client reads the backend's own lists and hears of them from it.
    pub(crate) passes_lists: bool,
    pub(crate) ready: Ready,
}

impl Source {
    /// Makes what decides about the backend's messages.
    pub(super) fn relay(&self) -> Relay {
        let (errand, may_ask) = (Some(self.errand.clone()), self.front == Front::Legacy);
        let Errand { shared, version, session, .. } = &*self.errand;
        let lender = lending::of_stream(shared, version, &session.principal, Some(&session.path));
        Relay { errand, may_ask, passes_lists: self.passes_lists, lender, ..Relay::untouched() }
    }
}

/// Tells once that a backend is listened to, or cannot be now. Dropping it tells so too.
#[derive(Clone, Default)]
pub(crate) struct Ready(Option<mpsc::Sender<Granted>>);

/// All that a backend agreed to tell of, where that is not all that was asked.
pub(crate) struct Granted {
    pub(crate) key: VersionKey,
    pub(crate) filter: Filter,
}

impl Ready {
    /// Makes one that can be copied for each backend. The receiver is at its end once all of them are done.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Granted>) {
        let (sender, receiver) = mpsc::channel(MOST_REPORTS);
        (Self(Some(sender)), receiver)
    }

    /// Nothing stands against what was asked.
    pub(super) fn done(&mut self) {
        self.0 = None;
    }

    /// The backend tells of this and of nothing else.
    pub(super) fn granted(&mut self, key: &VersionKey, filter: Filter) {
        if let Some(sender) = self.0.take() {
            // Whoever waited may have given up.
            let _ = sender.try_send(Granted { key: key.clone(), filter });
        }
    }
}

/// Pauses between attempts, each twice as long as the one before.
pub(super) struct Pause(Duration);

impl Pause {
    pub(super) fn first() -> Self {
        Self(FIRST_PAUSE)
    }

    pub(super) fn reset(&mut self) {
        self.0 = FIRST_PAUSE;
    }

    pub(super) async fn take(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(LONGEST_PAUSE);
    }
}
