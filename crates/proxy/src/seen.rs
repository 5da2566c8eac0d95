//! Resources that backends named in their results: which backend each came from, so that a read of one that nobody lists
//! asks that backend first.
//!
//! What is remembered only orders the asking, so whatever is lost costs no more than asking in order. It is kept in this
//! process's memory, for one session of a legacy client, and for modern clients for one caller of one virtual server.

pub(crate) mod watch;

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use catalog::VersionKey;
use catalog::access::Principal;
use mcp::message::quote;
use quick_cache::DefaultHashBuilder;
use routing::target::VirtualTarget;
use tokio::time::Instant;

use crate::sessions::ClientSession;

/// Resources remembered for one client; the one named longest ago goes first. A conversation is about fewer. No more of one
/// answer are looked at.
const MOST_URIS: usize = 128;

/// Bytes of their URIs, which may be 2 KiB each and are seldom a hundred bytes.
const MOST_BYTES: usize = 16 * 1024;

/// Clients of whom something is remembered, at most 64 MiB for all of them; the one longest away goes first.
const MOST_CLIENTS: usize = 2048;

/// How long it is remembered of a client that is away: as long as its backend sessions are, by default.
const IDLE: Duration = Duration::from_secs(3600);

/// Shards keep data threads out of each other's way.
const SHARDS: usize = 16;

/// What is remembered of all clients.
#[derive(Default)]
pub(crate) struct Seen {
    shards: [Mutex<HashMap<Box<str>, Remembered>>; SHARDS],
    hasher: DefaultHashBuilder,
}

/// What is remembered of one client.
struct Remembered {
    owners: HashMap<Arc<str>, VersionKey>,
    /// The URIs, the one named longest ago first.
    order: VecDeque<Arc<str>>,
    bytes: usize,
    used: Instant,
}

/// Names the client that a call at a virtual server is of. `None` for callers without a name, of whom two cannot be told
/// apart.
pub(crate) fn client(
    target: &VirtualTarget,
    principal: &Principal,
    session: Option<&ClientSession>,
) -> Option<Box<str>> {
    if let Some(session) = session {
        return Some(format!("session\n{}", session.sealed.id).into());
    }
    let is_nameless = principal.token.is_none() && principal.issuer.is_empty();
    let is_ours = principal.token.is_some();
    let Principal { issuer, subject, .. } = principal;
    let name = || format!("caller\n{}\n{is_ours}\n{}\n{}", target.binding, quote(issuer), quote(subject));
    (!is_nameless).then(|| name().into())
}

impl Seen {
    /// Returns the version that named a resource last.
    pub(crate) fn owner(&self, client: &str, uri: &str) -> Option<VersionKey> {
        let mut shard = self.shard(client);
        let remembered = shard.get_mut(client)?;
        remembered.used = Instant::now();
        remembered.owners.get(uri).cloned()
    }

    /// Remembers that a version named a resource.
    pub(crate) fn note(&self, client: &str, uri: &str, key: &VersionKey) {
        let mut shard = self.shard(client);
        if !shard.contains_key(client) {
            if shard.len() >= MOST_CLIENTS / SHARDS {
                let oldest = shard.iter().min_by_key(|(_, known)| known.used).map(|(name, _)| name.clone());
                oldest.map(|oldest| shard.remove(&oldest));
            }
            shard.insert(client.into(), Remembered::new());
        }
        if let Some(remembered) = shard.get_mut(client) {
            remembered.note(uri, key);
        }
    }

    /// Forgets a client that is gone for good.
    pub(crate) fn forget(&self, client: &str) {
        self.shard(client).remove(client);
    }

    /// Forgets clients that have been away for long.
    pub(crate) fn reap(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.retain(|_, remembered| remembered.used.elapsed() < IDLE);
        }
    }

    fn shard(&self, client: &str) -> MutexGuard<'_, HashMap<Box<str>, Remembered>> {
        let index = self.hasher.hash_one(client) as usize % SHARDS;
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    fn new() -> Self {
        Self { owners: HashMap::new(), order: VecDeque::new(), bytes: 0, used: Instant::now() }
    }

    fn note(&mut self, uri: &str, key: &VersionKey) {
        self.used = Instant::now();
        if let Some(owner) = self.owners.get_mut(uri) {
            *owner = key.clone();
            return;
        }
        let uri: Arc<str> = uri.into();
        self.bytes += uri.len();
        self.owners.insert(uri.clone(), key.clone());
        self.order.push_back(uri);
        while self.order.len() > MOST_URIS || self.bytes > MOST_BYTES {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= oldest.len();
            self.owners.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests;
