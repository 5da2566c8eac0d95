//! Calls in the audit trail, written behind: the data plane tells of them, one task stores them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::{Counter, counter};
use proxy::ended::{Ended, Outcome};
use store::Store;
use store::audit::{CALLS, Entry};
use tokio::sync::Notify;

/// Notes that may wait; some ten megabytes. One that finds no room is dropped and counted.
const MAX_WAITING: usize = 20_000;
/// Most notes in one write, so that a person's change waits behind a few milliseconds only.
const BATCH: usize = 1000;
/// Pause between two writes. Each is synced to the disk, so few large ones are better than many small ones.
const PAUSE: Duration = Duration::from_millis(250);

/// Notes of calls on their way to the store.
pub(crate) struct Calls {
    store: Arc<dyn Store>,
    waiting: Mutex<Vec<Entry>>,
    work: Notify,
    /// Held while a batch is being written.
    writing: tokio::sync::Mutex<()>,
    noted: Counter,
    dropped: Counter,
}

impl Calls {
    /// Keeps notes in `store`; nothing is written before `run` runs.
    pub(crate) fn new(store: Arc<dyn Store>) -> Arc<Self> {
        let noted = counter!("switchyard_audit_calls_total");
        let dropped = counter!("switchyard_audit_calls_dropped_total");
        let (waiting, work, writing) = (Mutex::default(), Notify::new(), tokio::sync::Mutex::default());
        Arc::new(Self { store, waiting, work, writing, noted, dropped })
    }

    /// Takes a note, or drops it where too many wait. Waits for nothing.
    pub(crate) fn note(&self, ended: Ended) {
        let entry = entry(ended);
        let mut waiting = self.lock();
        if waiting.len() >= MAX_WAITING {
            return self.dropped.increment(1);
        }
        waiting.push(entry);
        drop(waiting);
        self.noted.increment(1);
        self.work.notify_one();
    }

    /// Writes what waits, for ever. **cancel** loses no more than the batch it was at.
    pub(crate) async fn run(&self) {
        loop {
            self.work.notified().await;
            tokio::time::sleep(PAUSE).await;
            self.flush().await;
        }
    }

    /// Writes what waits.
    pub(crate) async fn flush(&self) {
        let _alone = self.writing.lock().await;
        loop {
            let batch: Vec<_> = {
                let mut waiting = self.lock();
                let end = waiting.len().min(BATCH);
                waiting.drain(..end).collect()
            };
            if batch.is_empty() {
                return;
            }
            let count = batch.len() as u64;
            if let Err(error) = self.store.append_audit(batch).await {
                self.dropped.increment(count);
                tracing::warn!(%error, count, "calls could not be noted in the audit trail");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn entry(ended: Ended) -> Entry {
    let Ended { at, caller, endpoint, method, name, version, outcome, took } = ended;
    let millis = (took.as_secs_f64() * 1e6).round() / 1e3;
    let data = match version {
        Some(key) => serde_json::json!({
            "server": key.path.as_str(), "version": key.label.as_str(), "duration_ms": millis,
        }),
        None => serde_json::json!({ "duration_ms": millis }),
    };
    Entry {
        at,
        actor: caller,
        action: format!("{CALLS}{method}").into(),
        object: Some(endpoint),
        outcome: match outcome {
            Outcome::Ok => store::audit::Outcome::Ok,
            Outcome::Refused => store::audit::Outcome::Refused,
            Outcome::Failed => store::audit::Outcome::Failed,
        },
        detail: name,
        data: Some(data.to_string().into()),
        source: None,
    }
}

#[cfg(test)]
mod tests;
