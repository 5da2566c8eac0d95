//! Which tools each version offers, and when to ask again: on registration, on a switch, on a changed endpoint or
//! reported version, when a backend says so, and on the slow clock of `health`.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use catalog::VersionKey;
use catalog::endpoint::Endpoint;
use catalog::inventory::Inventory;
use catalog::time::Timestamp;
use store::change::Change;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use crate::observations::Observation;
use crate::unread::{Outcome, Unread};
use crate::{Registry, metrics};

/// Longest time for all pages of all lists of one backend.
const READ_DEADLINE: Duration = Duration::from_secs(60);
/// Shortest time between two reads that hints asked for, so that a backend which keeps announcing changes is not
/// read without pause.
const HINT_PAUSE: Duration = Duration::from_millis(200);
/// Most hints that wait. The slow clock makes up for those beyond.
const MAX_HINTS: usize = 10_000;

/// How soon what was read must be stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Urgency {
    /// Somebody asked for this version and waits.
    Now,
    /// With the next batch of what the gateway notes by itself.
    Whenever,
}

/// The reads that run: one a version at a time.
#[derive(Default)]
pub(crate) struct Reads {
    flights: Mutex<HashMap<VersionKey, Arc<Flight>>>,
}

/// The reads of one version. Whoever comes while one runs waits for the next, which all who wait share: an answer
/// never shows what was before the question.
#[derive(Default)]
struct Flight {
    begun: AtomicU64,
    last: tokio::sync::Mutex<Option<(u64, Outcome)>>,
}

/// Versions that something said have changed.
#[derive(Default)]
pub(crate) struct Hints {
    sets: Mutex<HintSets>,
    wake: Notify,
}

#[derive(Default)]
struct HintSets {
    queued: HashSet<VersionKey>,
    running: HashSet<VersionKey>,
}

impl Registry {
    /// Probes a version and reads its inventory now, for somebody who waits. Single-flight per version; a read that
    /// began before the call does not count.
    pub async fn refresh(self: &Arc<Self>, key: &VersionKey) -> Result<Arc<Inventory>, Unread> {
        self.refresh_with(key, Urgency::Now).await
    }

    /// Like [`refresh`](Self::refresh), for one of many: what is read is stored together with what others read.
    pub(crate) async fn refresh_among_many(self: &Arc<Self>, key: &VersionKey) -> Outcome {
        self.refresh_with(key, Urgency::Whenever).await
    }

    async fn refresh_with(self: &Arc<Self>, key: &VersionKey, urgency: Urgency) -> Outcome {
        let flight = self.reads.flight(key);
        let ticket = flight.begun.load(Ordering::SeqCst);
        let mut last = flight.last.lock().await;
        if let Some((number, outcome)) = &*last
            && *number > ticket
        {
            return outcome.clone();
        }
        let number = flight.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let outcome = self.read(key, urgency).await;
        *last = Some((number, outcome.clone()));
        outcome
    }

    /// Takes the hint that a version may offer something else now, and has it read soon.
    pub fn hint_changed(self: &Arc<Self>, key: VersionKey) {
        let mut sets = self.hints.sets();
        if sets.queued.len() < MAX_HINTS && sets.queued.insert(key) {
            self.hints.wake.notify_one();
        }
    }

    /// Reads what hints ask for. Never returns.
    pub(crate) async fn follow_hints(self: &Arc<Self>) {
        let room = Arc::new(Semaphore::new(self.parts.settings.probe_parallel.max(1)));
        let mut reads = JoinSet::new();
        loop {
            for key in self.hints.take() {
                let (registry, room) = (self.clone(), room.clone());
                reads.spawn(async move {
                    let running = Running { registry: &registry, key: &key };
                    let _room = room.acquire().await;
                    if let Err(error) = registry.refresh_among_many(&key).await {
                        tracing::info!(error = ?error.to_string(), "inventory not read");
                    }
                    tokio::time::sleep(HINT_PAUSE).await;
                    drop(running);
                });
            }
            self.hints.wake.notified().await;
            while reads.try_join_next().is_some() {}
        }
    }

    async fn read(self: &Arc<Self>, key: &VersionKey, urgency: Urgency) -> Outcome {
        let endpoint = self.endpoint(key).ok_or_else(|| Unread::Gone(key.clone()))?;
        let (began, now) = (Instant::now(), Timestamp::now());
        let known = self.catalog().inventory(&key.path, &key.label).map(|one| one.eras());
        let reading = self.parts.backends.inventory(&endpoint, known, now);
        let read = match tokio::time::timeout(READ_DEADLINE, reading).await {
            Ok(Ok(inventory)) => Ok(inventory),
            Ok(Err(error)) => Err(error.reason()),
            Err(_) => Err(format!("its lists took more than {} s", READ_DEADLINE.as_secs())),
        };
        metrics::probed("inventory", read.is_ok(), began.elapsed());
        match read {
            Ok(inventory) => {
                self.board.read_whole(key, inventory.reported.version.clone(), began.elapsed());
                self.keep(Observation { key: key.clone(), endpoint, read: inventory }, urgency).await
            }
            Err(reason) => {
                self.board.failed(key, reason.clone());
                Err(Unread::Backend { key: key.clone(), reason })
            }
        }
    }

    /// Stores what was read, unless it is what was known, or the version lives elsewhere by now.
    async fn keep(self: &Arc<Self>, observation: Observation, urgency: Urgency) -> Outcome {
        if urgency == Urgency::Whenever {
            return self.observations.keep(observation).await;
        }
        let stored = self.apply(|catalog| {
            let seen = observation.compare(catalog);
            let edit = seen.as_ref().and_then(|seen| seen.edit(&observation.key));
            Ok((Change::new(edit.into_iter().collect()), seen))
        });
        observation.outcome(stored.await.as_mut().map(Option::take).map_err(|error| &*error))
    }

    /// Returns where a version lives.
    pub(crate) fn endpoint(&self, key: &VersionKey) -> Option<Arc<Endpoint>> {
        let catalog = self.catalog();
        Some(catalog.servers.get(&key.path)?.version(key.label.as_str())?.endpoint.clone())
    }
}

impl Reads {
    fn flight(&self, key: &VersionKey) -> Arc<Flight> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.get(key) {
            return flight.clone();
        }
        flights.retain(|_, flight| Arc::strong_count(flight) > 1);
        flights.entry(key.clone()).or_default().clone()
    }
}

impl Hints {
    fn sets(&self) -> MutexGuard<'_, HintSets> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the hints of versions that are not being read; a read that runs may have missed what is hinted at.
    fn take(&self) -> Vec<VersionKey> {
        let mut sets = self.sets();
        let ready: Vec<_> = sets.queued.iter().filter(|key| !sets.running.contains(*key)).cloned().collect();
        for key in &ready {
            sets.queued.remove(key);
            sets.running.insert(key.clone());
        }
        ready
    }
}

/// A hinted read that runs; its end lets the next hint for the version through.
struct Running<'a> {
    registry: &'a Registry,
    key: &'a VersionKey,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.registry.hints.sets().running.remove(self.key);
        self.registry.hints.wake.notify_one();
    }
}
