//! What reads of inventories found, stored by one task in small batches: thousands are read after a start, and each
//! by itself would cost a transaction and a table.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use catalog::endpoint::Endpoint;
use catalog::inventory::Inventory;
use catalog::{Catalog, VersionKey};
use store::change::{Change, Edit};
use tokio::sync::{mpsc, oneshot};

use crate::apply::Error;
use crate::unread::{Outcome, Unread};
use crate::{Registry, metrics};

/// Most inventories in one change. A person's change waits for one such change at the most.
const MAX_BATCH: usize = 16;
/// About how many bytes of lists one change may write; a larger inventory is a change by itself.
const MAX_BATCH_BYTES: usize = 256 * 1024;
/// Shortest time from one change to the next; what is read meanwhile gathers.
const PAUSE: Duration = Duration::from_millis(50);
/// And at least so many times as long as the change took, so that most of the time nobody finds one in their way.
const REST: u32 = 4;
/// Longest pause, however slow the disk is.
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// A version's inventory as it was just read.
pub(crate) struct Observation {
    pub(crate) key: VersionKey,
    /// Where it was read.
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) read: Inventory,
}

/// What comes of an observation.
pub(crate) struct Seen {
    inventory: Arc<Inventory>,
    is_new: bool,
    has_new_version: bool,
}

/// Takes observations to the task that stores them.
pub(crate) struct Observations {
    sender: mpsc::Sender<Told>,
}

/// An observation, and who waits for what comes of it.
pub(crate) struct Told {
    observation: Observation,
    outcome: oneshot::Sender<Outcome>,
}

impl Observations {
    /// Makes the way to the task, and its other end, which [`follow`] works off.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Told>) {
        // A full batch is enough: those who read wait, which bounds what is kept in memory.
        let (sender, receiver) = mpsc::channel(MAX_BATCH);
        (Self { sender }, receiver)
    }

    /// Has an observation stored with the next batch, and returns what came of it.
    pub(crate) async fn keep(&self, observation: Observation) -> Outcome {
        let key = observation.key.clone();
        let (outcome, kept) = oneshot::channel();
        let is_taken = self.sender.send(Told { observation, outcome }).await.is_ok();
        match kept.await {
            Ok(outcome) if is_taken => outcome,
            _ => Err(unstored(key, &Error::Interrupted)),
        }
    }
}

impl Observation {
    /// Compares it with what is known. `None` where the version is gone or lives elsewhere by now.
    pub(crate) fn compare(&self, catalog: &Catalog) -> Option<Seen> {
        let server = catalog.servers.get(&self.key.path)?;
        if server.version(self.key.label.as_str())?.endpoint != self.endpoint {
            return None;
        }
        let known = catalog.inventories.get(&self.key);
        let before = known.map(|one| one.reported.clone()).unwrap_or_default();
        let (reported, has_new_version) =
            before.observe(self.read.reported.version.as_deref(), self.read.read_at);
        if let Some(known) = known
            && known.reported == reported
            && known.offers_the_same(&self.read)
        {
            return Some(Seen { inventory: known.clone(), is_new: false, has_new_version: false });
        }
        let inventory = Arc::new(Inventory { reported, ..self.read.clone() });
        Some(Seen { inventory, is_new: true, has_new_version })
    }

    /// Returns what the one who asked for the read learns, once the change was made or not.
    pub(crate) fn outcome(&self, stored: Result<Option<Seen>, &Error>) -> Outcome {
        let key = &self.key;
        let seen = stored.map_err(|error| unstored(key.clone(), error))?;
        let Seen { inventory, has_new_version, .. } = seen.ok_or_else(|| Unread::Gone(key.clone()))?;
        if has_new_version {
            let reported = &inventory.reported;
            let (version, previous) = (reported.version.as_deref(), reported.previous.as_deref());
            tracing::info!(server.path = %key.path, label = %key.label, version, previous, "reported version changed");
            metrics::reported_version_changed(&key.path);
        }
        Ok(inventory)
    }

    fn bytes(&self) -> usize {
        let read = &self.read;
        let lists = [&read.tools, &read.prompts, &read.resources, &read.templates];
        let older = read.legacy.as_deref();
        let older = older.map(|one| [&one.tools, &one.prompts, &one.resources, &one.templates]);
        let items = lists.into_iter().flatten().chain(older.into_iter().flatten().flatten().flatten());
        items.map(|item| item.json.len()).sum()
    }
}

impl Seen {
    /// Returns the edit that stores it, if it is news.
    pub(crate) fn edit(&self, key: &VersionKey) -> Option<Edit> {
        self.is_new.then(|| Edit::PutInventory(key.clone(), self.inventory.clone()))
    }
}

/// Stores what comes, batch after batch, until nobody can send any more or the registry is gone.
pub(crate) async fn follow(registry: Weak<Registry>, mut receiver: mpsc::Receiver<Told>) {
    let mut waiting = Vec::with_capacity(MAX_BATCH);
    loop {
        let room = MAX_BATCH - waiting.len();
        if waiting.is_empty() && receiver.recv_many(&mut waiting, room).await == 0 {
            return;
        }
        // More may have come during the pause.
        while waiting.len() < MAX_BATCH
            && let Ok(told) = receiver.try_recv()
        {
            waiting.push(told);
        }
        let rest = waiting.split_off(fitting(&waiting));
        let batch = std::mem::replace(&mut waiting, rest);
        let Some(registry) = registry.upgrade() else { return };
        let took = registry.keep_all(batch).await;
        drop(registry);
        tokio::time::sleep((took * REST).clamp(PAUSE, MAX_PAUSE)).await;
    }
}

/// Returns how many of those that wait fit into one change: one at least.
fn fitting(waiting: &[Told]) -> usize {
    let mut bytes = 0;
    let fits = waiting.iter().take_while(|told| {
        bytes += told.observation.bytes();
        bytes <= MAX_BATCH_BYTES
    });
    fits.count().max(1)
}

impl Registry {
    /// Stores a batch in one change. Returns how long the change took, once it was its turn.
    async fn keep_all(self: &Arc<Self>, batch: Vec<Told>) -> Duration {
        let turn = self.turns.for_note().await;
        let begun = Instant::now();
        let stored = self.apply_in(turn, |catalog| {
            let seen: Vec<_> = batch.iter().map(|told| told.observation.compare(catalog)).collect();
            let found = batch.iter().zip(&seen);
            let edits = found.filter_map(|(told, seen)| seen.as_ref()?.edit(&told.observation.key)).collect();
            Ok((Change::new(edits), seen))
        });
        let outcomes: Vec<_> = match stored.await {
            Ok(seen) => {
                batch.iter().zip(seen).map(|(told, seen)| told.observation.outcome(Ok(seen))).collect()
            }
            Err(error) => batch.iter().map(|told| told.observation.outcome(Err(&error))).collect(),
        };
        for (told, outcome) in batch.into_iter().zip(outcomes) {
            // Whoever left does not want to know.
            let _ = told.outcome.send(outcome);
        }
        begun.elapsed()
    }
}

fn unstored(key: VersionKey, error: &Error) -> Unread {
    Unread::Unstored { key, reason: error.to_string() }
}

#[cfg(test)]
mod tests;
