//! What has been used up: for each key the moment at which it is as fresh as one that never was used.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::rate::Rate;

/// Parts of the table, each with a lock of its own; far more than threads.
const SHARDS: usize = 64;
/// Most keys of one part. A quarter of a million in all, some eight megabytes; each stands for a caller with a good
/// token, an endpoint, or both.
const MAX_KEYS: usize = 4096;

/// The moments by key. A key that is missing is fresh.
pub(crate) struct Buckets([Mutex<Shard>; SHARDS]);

type Shard = HashMap<u64, u64, BuildHasherDefault<AsItIs>>;

/// Takes keys that are hashes already.
#[derive(Default)]
pub(crate) struct AsItIs(u64);

impl Default for Buckets {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Buckets {
    /// Takes one request at a moment in nanoseconds, or tells how long there is none. Where more keys are in use than
    /// are kept, a new one is let through: refusing it would let some keep out others.
    pub(crate) fn take(&self, key: u64, rate: &Rate, now: u64) -> Result<(), u64> {
        let mut shard = self.shard(key);
        if let Some(fresh_at) = shard.get_mut(&key) {
            let wait = fresh_at.saturating_sub(now).saturating_sub(rate.ahead);
            if wait > 0 {
                return Err(wait);
            }
            *fresh_at = now.max(*fresh_at) + rate.each;
            return Ok(());
        }
        if shard.len() >= MAX_KEYS {
            shard.retain(|_, fresh_at| *fresh_at > now);
        }
        if shard.len() < MAX_KEYS {
            shard.insert(key, now + rate.each);
        }
        Ok(())
    }

    /// Takes back that one request was taken.
    pub(crate) fn give_back(&self, key: u64, rate: &Rate) {
        if let Some(fresh_at) = self.shard(key).get_mut(&key) {
            *fresh_at = fresh_at.saturating_sub(rate.each);
        }
    }

    /// Forgets keys that are fresh.
    pub(crate) fn sweep(&self, now: u64) {
        for shard in &self.0 {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.retain(|_, fresh_at| *fresh_at > now);
            if shard.capacity() > 4 * shard.len().max(64) {
                shard.shrink_to_fit();
            }
        }
    }

    fn shard(&self, key: u64) -> MutexGuard<'_, Shard> {
        // The table inside looks at the other end of the key.
        self.0[(key >> 32) as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|shard| shard.lock().unwrap().len()).sum()
    }
}

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests;
