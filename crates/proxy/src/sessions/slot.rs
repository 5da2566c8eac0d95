//! The place of one backend session: open, being opened, or lost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use catalog::endpoint::Endpoint;
use mcp::era::Revision;

/// Place of one backend session. Whoever holds `opening` greets; everybody else waits for it.
#[derive(Default)]
pub(crate) struct Slot {
    pub(crate) opening: tokio::sync::Mutex<()>,
    /// Tells streams of an older session that there is a newer one.
    pub(crate) renewed: tokio::sync::Notify,
    current: Mutex<Option<Arc<BackendSession>>>,
    failed: Mutex<Failed>,
}

/// How often greeting failed, and why it did last.
#[derive(Default)]
struct Failed {
    times: u64,
    reason: Option<Arc<backend::Error>>,
}

/// An open session with a backend.
#[derive(Debug)]
pub(crate) struct BackendSession {
    /// The id it gave; `None` for a backend that gives none.
    pub(crate) id: Option<http::HeaderValue>,
    /// The revision agreed on.
    pub(crate) revision: Revision,
    /// Where it was opened; unknown for one that another process opened.
    pub(crate) endpoint: Option<Arc<Endpoint>>,
    /// Of the version it was opened with; its id is shown to no other.
    pub(crate) identity: u64,
}

impl Slot {
    pub(crate) fn current(&self) -> Option<Arc<BackendSession>> {
        self.lock().clone()
    }

    pub(crate) fn set(&self, session: BackendSession) -> Arc<BackendSession> {
        let session = Arc::new(session);
        *self.lock() = Some(session.clone());
        self.renewed.notify_waiters();
        session
    }

    /// Returns how often greeting failed so far.
    pub(crate) fn failures(&self) -> u64 {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).times
    }

    /// Returns why greeting failed, if it did since there were `before` failures: whoever waited for it then
    /// need not try again.
    pub(crate) fn failed_since(&self, before: u64) -> Option<Arc<backend::Error>> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.reason.clone().filter(|_| failed.times > before)
    }

    /// Notes that greeting failed.
    pub(crate) fn fail(&self, reason: backend::Error) -> Arc<backend::Error> {
        let reason = Arc::new(reason);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        *failed = Failed { times: failed.times + 1, reason: Some(reason.clone()) };
        reason
    }

    /// Forgets a session that its backend no longer knows, unless another one took its place meanwhile.
    pub(crate) fn forget(&self, lost: &Arc<BackendSession>) {
        let mut current = self.lock();
        if current.as_ref().is_some_and(|now| Arc::ptr_eq(now, lost)) {
            *current = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<BackendSession>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
