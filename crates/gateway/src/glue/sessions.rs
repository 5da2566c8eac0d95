//! The second tier of sessions: `proxy::SessionStore` on the store, written behind.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use catalog::time::Timestamp;
use store::Store;
use tokio::sync::Notify;

/// Writes that may wait: as many as there are sessions in memory by default, all of which are written when the
/// program ends. A write is a few hundred bytes; one that finds no room is dropped, which costs its session a
/// fresh greeting should it ever be needed from the store.
const MAX_WAITING: usize = 100_000;
/// A read of the store slower than this is worth less than a fresh greeting.
const READ_WITHIN: Duration = Duration::from_secs(2);
/// Rest after a write failed, so that a store that is away is not hammered.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Sessions on the store. Reads see what is still waiting to be written.
pub(crate) struct StoredSessions {
    store: Arc<dyn Store>,
    waiting: Mutex<Waiting>,
    work: Notify,
    idle: Notify,
}

/// Writes not done yet, the latest of each key, in the order their keys first came.
#[derive(Default)]
struct Waiting {
    writes: HashMap<String, Write>,
    order: VecDeque<String>,
    /// Tells a write from a later one of the same key.
    next: u64,
}

#[derive(Clone)]
struct Write {
    number: u64,
    value: Vec<u8>,
    expires_at: Timestamp,
}

impl StoredSessions {
    /// Keeps sessions in `store`; nothing is written before `run` runs.
    pub(crate) fn new(store: Arc<dyn Store>) -> Arc<Self> {
        let (waiting, work, idle) = (Mutex::default(), Notify::new(), Notify::new());
        Arc::new(Self { store, waiting, work, idle })
    }

    /// Writes what waits, for ever. **cancel** loses no more than the write it was at.
    pub(crate) async fn run(&self) {
        loop {
            let Some((key, write)) = self.first() else {
                self.idle.notify_waiters();
                self.work.notified().await;
                continue;
            };
            if let Err(error) = self.store.keep_session(&key, write.value, write.expires_at).await {
                metrics::counter!("switchyard_session_writes_failed_total").increment(1);
                tracing::warn!(%error, "cannot write a session to the store");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
            self.done(&key, write.number);
        }
    }

    /// Waits until everything is written, while `run` runs elsewhere.
    pub(crate) async fn flush(&self) {
        loop {
            let mut idle = std::pin::pin!(self.idle.notified());
            idle.as_mut().enable();
            if self.lock().writes.is_empty() {
                return;
            }
            idle.await;
        }
    }

    fn push(&self, key: String, value: Vec<u8>, expires_at: Timestamp) {
        let mut waiting = self.lock();
        waiting.next += 1;
        let write = Write { number: waiting.next, value, expires_at };
        if let Some(earlier) = waiting.writes.get_mut(&key) {
            *earlier = write;
            return;
        }
        if waiting.writes.len() >= MAX_WAITING {
            metrics::counter!("switchyard_session_writes_dropped_total").increment(1);
            return;
        }
        waiting.order.push_back(key.clone());
        waiting.writes.insert(key, write);
        drop(waiting);
        self.work.notify_one();
    }

    fn first(&self) -> Option<(String, Write)> {
        let waiting = self.lock();
        let key = waiting.order.front()?;
        waiting.writes.get(key).map(|write| (key.clone(), write.clone()))
    }

    /// Takes a write out, unless a later one of the same key came meanwhile; that one waits its turn.
    fn done(&self, key: &str, number: u64) {
        let mut waiting = self.lock();
        waiting.order.pop_front();
        if waiting.writes.get(key).is_some_and(|write| write.number != number) {
            waiting.order.push_back(key.to_owned());
        } else {
            waiting.writes.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The handle the data plane holds.
#[derive(Clone)]
pub(crate) struct Sessions(pub(crate) Arc<StoredSessions>);

impl proxy::sessions::SessionStore for Sessions {
    fn get(&self, key: String) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>> {
        let waiting = self.0.lock().writes.get(&key).cloned();
        let sessions = self.0.clone();
        Box::pin(async move {
            let now = Timestamp::now();
            if let Some(write) = waiting {
                return (now < write.expires_at).then_some(write.value);
            }
            match tokio::time::timeout(READ_WITHIN, sessions.store.session(&key, now)).await {
                Ok(Ok(value)) => value,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "cannot read a session from the store");
                    None
                }
                Err(_) => None,
            }
        })
    }

    fn put(&self, key: String, value: Vec<u8>, idle_seconds: u32) {
        self.0.push(key, value, Timestamp::now().plus_seconds(idle_seconds.into()));
    }
}

#[cfg(test)]
mod tests;
