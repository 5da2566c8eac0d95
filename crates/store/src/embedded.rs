//! The embedded store: SQLite in one data directory, for one process.
//!
//! `switchyard.db` holds the catalog with its audit trail and is synced with every change. `sessions.db` holds backend sessions,
//! which are many and cheap to lose. Both may be read by other tools meanwhile; `switchyard.lock` keeps a
//! second gateway away.

mod audit;
mod checkpoint;
mod database;
mod directory;
mod read;
mod sessions;
mod write;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use catalog::Catalog;
use catalog::time::Timestamp;
use rusqlite::Connection;
use tokio::sync::watch;

use crate::audit::{Entry, Page, Query, Retention};
use crate::change::Change;
use crate::error::Error;
use crate::record::Sealer;
use crate::{Pending, Store};

/// File of the catalog in the data directory.
pub const CATALOG_FILE: &str = "switchyard.db";
/// File of the sessions in the data directory.
pub const SESSIONS_FILE: &str = "sessions.db";

/// Keeps everything in one directory. Cheap to clone; the directory is free again when the last clone is
/// gone.
#[derive(Clone)]
pub struct EmbeddedStore {
    inner: Arc<Inner>,
}

// Fields are dropped in this order: the databases are closed before the directory is given back.
struct Inner {
    catalog: Mutex<Connection>,
    /// Carries the catalog's log over. Shared, so that this work keeps the directory from nobody.
    checkpoint: Arc<Mutex<Connection>>,
    sessions: Mutex<Connection>,
    file: PathBuf,
    sealer: Arc<dyn Sealer>,
    revision: watch::Sender<u64>,
    _lock: File,
}

impl EmbeddedStore {
    /// Opens the store in a directory, which is made (mode 0700) where it is missing.
    ///
    /// Fails with [`Error::InUse`] where another process has it, with [`Error::Newer`] where a newer program
    /// wrote it.
    pub async fn open(directory: &Path, sealer: Arc<dyn Sealer>) -> Result<Self, Error> {
        let directory = directory.to_owned();
        let inner = blocking(move || Inner::open(&directory, sealer)).await?;
        Ok(Self { inner: Arc::new(inner) })
    }

    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, Error> + Send + 'static,
    ) -> Pending<'_, T> {
        let inner = self.inner.clone();
        Box::pin(blocking(move || work(&inner)))
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EmbeddedStore").field(&self.inner.file).finish()
    }
}

impl Store for EmbeddedStore {
    fn load(&self) -> Pending<'_, Catalog> {
        // A connection of its own, so that reading a large catalog holds up no writer.
        self.run(|inner| read::load(&mut database::open_to_read(&inner.file)?, &*inner.sealer))
    }

    fn apply(&self, change: Change) -> Pending<'_, u64> {
        let checkpoint = self.inner.checkpoint.clone();
        let stored = self.run(move |inner| {
            let mut connection = locked(&inner.catalog);
            let revision = write::apply(&mut connection, &change, &*inner.sealer)?;
            inner.revision.send_replace(revision);
            // The change is stored, whatever the log looks like.
            let is_log_long = checkpoint::waiting(&connection).is_ok_and(|pages| pages >= checkpoint::PAGES);
            Ok((revision, is_log_long))
        });
        Box::pin(async move {
            let (revision, is_log_long) = stored.await?;
            if is_log_long {
                // Not waited for. Whoever comes while one is under way leaves it at that.
                tokio::task::spawn_blocking(move || carry_log_over(&checkpoint));
            }
            Ok(revision)
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.inner.revision.subscribe()
    }

    fn append_audit(&self, entries: Vec<Entry>) -> Pending<'_, ()> {
        self.run(move |inner| audit::append_all(&mut locked(&inner.catalog), &entries))
    }

    fn audit(&self, query: Query) -> Pending<'_, Page> {
        // A connection of its own, as in `load`.
        self.run(move |inner| audit::find(&mut database::open_to_read(&inner.file)?, &query))
    }

    fn sweep_audit(&self, keep: Retention) -> Pending<'_, u64> {
        self.run(move |inner| sweep(audit::SWEEP_BATCH, || audit::sweep_some(&locked(&inner.catalog), &keep)))
    }

    fn keep_session(&self, key: &str, value: Vec<u8>, expires_at: Timestamp) -> Pending<'_, ()> {
        let key = key.to_owned();
        self.run(move |inner| sessions::keep(&locked(&inner.sessions), &key, &value, expires_at))
    }

    fn session(&self, key: &str, now: Timestamp) -> Pending<'_, Option<Vec<u8>>> {
        let key = key.to_owned();
        self.run(move |inner| sessions::find(&locked(&inner.sessions), &key, now))
    }

    fn forget_session(&self, key: &str) -> Pending<'_, ()> {
        let key = key.to_owned();
        self.run(move |inner| sessions::forget(&locked(&inner.sessions), &key))
    }

    fn sweep(&self, now: Timestamp) -> Pending<'_, u64> {
        self.run(move |inner| {
            sweep(sessions::SWEEP_BATCH, || sessions::sweep_some(&locked(&inner.sessions), now))
        })
    }
}

impl Inner {
    fn open(directory: &Path, sealer: Arc<dyn Sealer>) -> Result<Self, Error> {
        let lock = directory::take(directory)?;
        let file = directory.join(CATALOG_FILE);
        let mut catalog = database::open(&file, database::Kind::Catalog)?;
        let resealed = write::reseal(&mut catalog, &*sealer)?;
        if resealed > 0 {
            tracing::info!(rows = resealed, "credentials were sealed anew with the key in use");
        }
        checkpoint::leave_to_us(&catalog)?;
        let checkpoint = checkpoint::open(&file)?;
        let sessions = sessions::open(&directory.join(SESSIONS_FILE))?;
        directory::sync(directory)?;
        let (revision, _) = watch::channel(read::revision(&catalog)?);
        Ok(Self {
            catalog: Mutex::new(catalog),
            checkpoint: Arc::new(Mutex::new(checkpoint)),
            sessions: Mutex::new(sessions),
            file,
            sealer,
            revision,
            _lock: lock,
        })
    }
}

/// Carries the catalog's log over, unless that is under way.
fn carry_log_over(connection: &Mutex<Connection>) {
    let connection = match connection.try_lock() {
        Ok(connection) => connection,
        Err(TryLockError::Poisoned(left)) => left.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    match checkpoint::carry_over(&connection) {
        // Somebody reads what it was before, or writes without pause; the next change comes back to it.
        Ok(remaining) if remaining > 0 => tracing::debug!(remaining, "the log was not carried over whole"),
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "the log of changes could not be carried over"),
    }
}

/// Drops batch after batch until one is not full, and returns how many rows went. The lock is given back between
/// batches, so that no request waits for the whole sweep.
fn sweep(full: u64, mut sweep_some: impl FnMut() -> Result<u64, Error>) -> Result<u64, Error> {
    let mut dropped = 0;
    loop {
        let batch = sweep_some()?;
        dropped += batch;
        if batch < full {
            return Ok(dropped);
        }
    }
}

/// Runs work that waits for the disk where waiting hurts nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        Err(_) => Err(Error::Unavailable("the program is ending".into())),
    }
}

/// Takes a connection. One that a panic left behind is sound: its transaction was rolled back.
fn locked(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
