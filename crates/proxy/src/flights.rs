//! Requests that are under way in backend sessions: which id each has there.
//!
//! A backend tells the answers of one session apart by id, but clients reuse ids (some always send 1). The
//! first request of an id keeps it; one that comes while the first still runs gets an id of ours.

use std::collections::{HashMap, hash_map};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use catalog::VersionKey;
use quick_cache::DefaultHashBuilder;
use tokio::sync::Notify;

/// Shards keep data threads out of each other's way.
const SHARDS: usize = 32;

/// Ids of ours begin here: beyond any counter a client has reached, and exact in a JavaScript number.
const FIRST_OWN_ID: u64 = 7_000_000_000_000_000;

/// All requests under way.
pub(crate) struct Flights {
    shards: [Mutex<Shard>; SHARDS],
    hasher: DefaultHashBuilder,
    next_id: AtomicU64,
}

/// By session and raw id. The hasher is quick and keyed at random, which is enough for a map of so few.
type Shard = HashMap<Box<[u8]>, Entry, DefaultHashBuilder>;

/// One request under way.
struct Entry {
    flight: Flight,
    /// The client's id, where that is not the one there: session and raw id.
    asked_as: Option<Box<[u8]>>,
    /// Its client cancelled it; a second cancellation of the same id means another.
    is_cancelled: bool,
    /// The request itself, and its cancellation until the backend has it. As long as one of them is on its way no
    /// other request gets the id, which the cancellation could hit.
    holders: u32,
}

/// What is known of a request under way.
#[derive(Clone)]
pub(crate) struct Flight {
    /// The version that answers it.
    pub(crate) key: VersionKey,
    /// Its raw id there, where that is not the client's.
    pub(crate) own_id: Option<Bytes>,
    /// Ends it, where its backend knows no cancellation but a closed connection.
    pub(crate) stop: Option<Arc<Notify>>,
}

/// Holds the place of a request: as the request itself, or as its cancellation.
pub(crate) struct Airborne {
    flights: Arc<Flights>,
    slot: Box<[u8]>,
    /// The raw id to send upstream, where it is not the client's.
    pub(crate) own_id: Option<Bytes>,
    /// Told when the client cancels, for one that was begun so.
    pub(crate) stop: Option<Arc<Notify>>,
}

impl Flights {
    pub(crate) fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            hasher: DefaultHashBuilder::default(),
            next_id: AtomicU64::new(FIRST_OWN_ID),
        }
    }

    /// Enters a request. Where one of the same id runs in the session already, it gets an id of ours.
    pub(crate) fn begin(self: &Arc<Self>, session: u64, id: &[u8], key: &VersionKey) -> Airborne {
        self.enter(session, id, key, None)
    }

    /// Enters a request that we end ourselves when its client cancels it.
    pub(crate) fn begin_stoppable(self: &Arc<Self>, session: u64, id: &[u8], key: &VersionKey) -> Airborne {
        self.enter(session, id, key, Some(Arc::new(Notify::new())))
    }

    fn enter(
        self: &Arc<Self>,
        session: u64,
        id: &[u8],
        key: &VersionKey,
        stop: Option<Arc<Notify>>,
    ) -> Airborne {
        let mut slot = slot(session, id);
        let (mut own_id, mut asked_as) = (None, None);
        loop {
            let mut shard = self.shard(&slot);
            if let hash_map::Entry::Vacant(entry) = shard.entry(slot.clone()) {
                let flight = Flight { key: key.clone(), own_id: own_id.clone(), stop: stop.clone() };
                entry.insert(Entry { flight, asked_as, is_cancelled: false, holders: 1 });
                drop(shard);
                return Airborne { flights: self.clone(), slot, own_id, stop };
            }
            drop(shard);
            let own = self.next_id.fetch_add(1, Ordering::Relaxed).to_string();
            slot = self::slot(session, own.as_bytes());
            asked_as = Some(self::slot(session, id));
            own_id = Some(own.into());
        }
    }

    /// Cancels the request a client means by an id of its own: of several, the oldest that is not cancelled yet. What
    /// is returned beside it is to be kept until the backend has the cancellation.
    pub(crate) fn cancel(self: &Arc<Self>, session: u64, id: &[u8]) -> Option<(Flight, Airborne)> {
        let slot = slot(session, id);
        self.cancel_at(slot.clone()).or_else(|| self.cancel_at(self.oldest_renamed(&slot)?))
    }

    fn cancel_at(self: &Arc<Self>, slot: Box<[u8]>) -> Option<(Flight, Airborne)> {
        let mut shard = self.shard(&slot);
        let entry = shard.get_mut(&slot).filter(|entry| !entry.is_cancelled)?;
        entry.is_cancelled = true;
        entry.holders += 1;
        let flight = entry.flight.clone();
        drop(shard);
        Some((flight, Airborne { flights: self.clone(), slot, own_id: None, stop: None }))
    }

    /// Looks through all that run; only cancellations come here, and hardly any of those.
    fn oldest_renamed(&self, asked_as: &[u8]) -> Option<Box<[u8]>> {
        let renamed = self.shards.iter().flat_map(|shard| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let is_meant = |entry: &Entry| !entry.is_cancelled && entry.asked_as.as_deref() == Some(asked_as);
            let meant = shard.iter().filter(|(_, entry)| is_meant(entry));
            meant.map(|(slot, _)| slot.clone()).collect::<Vec<_>>()
        });
        // The session is the same, and ids of ours only grow.
        renamed.min()
    }

    #[cfg(test)]
    pub(crate) fn find(&self, session: u64, id: &[u8]) -> Option<Flight> {
        let slot = slot(session, id);
        let under_its_own = self.shard(&slot).get(&slot).map(|entry| entry.flight.clone());
        under_its_own.or_else(|| {
            let renamed = self.oldest_renamed(&slot)?;
            self.shard(&renamed).get(&renamed).map(|entry| entry.flight.clone())
        })
    }

    fn shard(&self, slot: &[u8]) -> MutexGuard<'_, Shard> {
        let index = self.hasher.hash_one(slot) as usize % SHARDS;
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Airborne {
    fn drop(&mut self) {
        let mut shard = self.flights.shard(&self.slot);
        if let hash_map::Entry::Occupied(mut entry) = shard.entry(std::mem::take(&mut self.slot)) {
            entry.get_mut().holders -= 1;
            if entry.get().holders == 0 {
                entry.remove();
            }
        }
    }
}

fn slot(session: u64, id: &[u8]) -> Box<[u8]> {
    let mut slot = Vec::with_capacity(8 + id.len());
    slot.extend_from_slice(&session.to_ne_bytes());
    slot.extend_from_slice(id);
    slot.into()
}

#[cfg(test)]
mod tests;
