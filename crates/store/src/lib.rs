//! Keeping the catalog: the trait every store implements, the changes it takes, the embedded store, and the
//! suite that each store passes.
//!
//! A store knows rows and revisions. It deliberately does not know the rules of the catalog: whoever makes a
//! [`change::Change`] has checked it.
#![warn(missing_docs)]

pub mod audit;
pub mod change;
pub mod conformance;
pub mod embedded;
pub mod error;
pub mod record;

use std::future::Future;
use std::pin::Pin;

use catalog::Catalog;
use catalog::time::Timestamp;
use tokio::sync::watch;

use change::Change;
pub use error::Error;

/// An answer that a store is still working on.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Keeps a catalog, its audit trail, and the backend sessions of clients.
///
/// A trait because there are two: SQLite in one directory for one process, MongoDB for many. Both pass
/// [`conformance`] whole. An implementer owes its callers this:
///
/// - A change is stored whole or not at all, also when the process is killed or the power fails. What
///   `apply` has acknowledged is there after a restart.
/// - Expectations are checked in the same transaction that writes.
/// - A row that cannot be read costs only itself: it is logged, left out of the section it belongs to, and named in
///   `Catalog::unreadable`. A token in such a row counts as revoked.
/// - Sessions are a convenience. Losing some of them is no error; keeping an expired one is.
///
/// Dropping a future does not undo what it asked for: a change may still be stored.
pub trait Store: Send + Sync + 'static {
    /// Reads the whole catalog, at one revision.
    fn load(&self) -> Pending<'_, Catalog>;

    /// Stores a change with its entry in the audit trail, and returns the catalog's new revision. Fails with
    /// [`Error::Moved`], and writes nothing, where an expectation does not hold.
    fn apply(&self, change: Change) -> Pending<'_, u64>;

    /// Follows the latest revision known here, also when another process wrote it.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Adds entries of what changed nothing to the audit trail, all of them or none.
    fn append_audit(&self, entries: Vec<audit::Entry>) -> Pending<'_, ()>;

    /// Returns a page of the audit trail.
    fn audit(&self, query: audit::Query) -> Pending<'_, audit::Page>;

    /// Drops the entries of the audit trail that are past keeping, and returns how many.
    fn sweep_audit(&self, keep: audit::Retention) -> Pending<'_, u64>;

    /// Keeps a session until `expires_at`, in place of an earlier one under the same key.
    fn keep_session(&self, key: &str, value: Vec<u8>, expires_at: Timestamp) -> Pending<'_, ()>;

    /// Returns a session that is kept and has not expired at `now`.
    fn session(&self, key: &str, now: Timestamp) -> Pending<'_, Option<Vec<u8>>>;

    /// Drops a session, if it is there.
    fn forget_session(&self, key: &str) -> Pending<'_, ()>;

    /// Drops the sessions that have expired at `now` and returns how many.
    fn sweep(&self, now: Timestamp) -> Pending<'_, u64>;
}
