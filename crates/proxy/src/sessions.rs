//! Client sessions of virtual servers, and under each its backend sessions: memory first, then the store.
//!
//! Nothing here decides whether a session is valid: its sealed id does. What is kept is what cannot be
//! carried in it, and whatever is lost costs a fresh greeting.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use backend::Backends;
use bytes::Bytes;
use catalog::VersionKey;
use catalog::access::Principal;
use catalog::time::Timestamp;
use mcp::sse;
use mcp::subscription::Filter;
use quick_cache::DefaultHashBuilder;
use tokio::sync::{mpsc, oneshot};

use crate::opaque::VirtualSession;

mod listening;
mod record;
mod slot;
mod state;
pub(crate) use listening::{Listening, Refilter};
pub(crate) use record::Record;
pub(crate) use slot::{BackendSession, Slot};
pub(crate) use state::{Answer, Asked, Following, Heard, Outlet, Question, State};

/// Shards keep data threads out of each other's way.
const SHARDS: usize = 64;

/// How many resources one client session may subscribe to.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 1024;

/// How many questions of a backend wait for the one call of a session of our own; more are refused to it.
const MAX_QUESTIONS: usize = 32;

/// Questions that come to a call from beside its own stream.
pub(crate) type Questions = mpsc::Receiver<Question>;

/// A future of the second tier.
pub type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Where backend sessions outlive this process's memory. Stands on the catalog's store.
///
/// An implementer may lose entries: each loss costs one greeting. `put` and `remove` must not wait.
pub trait SessionStore: Send + Sync + 'static {
    /// Reads an entry; `None` where it is unknown or has been idle too long.
    fn get(&self, key: String) -> Pending<Option<Vec<u8>>>;
    /// Queues a write. The entry ends `idle_seconds` after its last write.
    fn put(&self, key: String, value: Vec<u8>, idle_seconds: u32);
}

/// How long and how many.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Idle time after which a session leaves memory.
    pub memory_idle: Duration,
    /// Idle time after which its backend sessions are forgotten.
    pub store_idle: Duration,
    /// Most sessions in memory; beyond, the ones longest idle go to the store early.
    pub most: usize,
}

/// All client sessions of this process.
pub(crate) struct Sessions {
    shards: Vec<Mutex<Shard>>,
    hasher: DefaultHashBuilder,
    store: Arc<dyn SessionStore>,
    settings: Settings,
    numbers: AtomicU64,
}

/// By token. Only tokens of our making are entered, so a quick hasher, keyed at random, is enough.
type Shard = HashMap<Box<str>, Arc<ClientSession>, DefaultHashBuilder>;

/// One client's session with a virtual server.
pub(crate) struct ClientSession {
    /// What its sealed id holds.
    pub(crate) sealed: VirtualSession,
    /// A number for it within this process.
    pub(crate) number: u64,
    /// The caller it belongs to.
    pub(crate) principal: Principal,
    /// The virtual server's path.
    pub(crate) path: Box<str>,
    /// Set for a session of our own, kept for modern clients: what ends it at the backends.
    keeper: Option<Arc<Backends>>,
    last_used_ms: AtomicI64,
    state: Mutex<State>,
}

impl ClientSession {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the place of the backend session with a version.
    pub(crate) fn slot(&self, key: &VersionKey) -> Arc<Slot> {
        let mut state = self.state();
        if let Some((_, slot)) = state.backends.iter().find(|(known, _)| known == key) {
            return slot.clone();
        }
        let slot = Arc::new(Slot::default());
        state.backends.push((key.clone(), slot.clone()));
        slot
    }

    /// Returns the versions whose backend sessions are open, or were, or are just being opened.
    pub(crate) fn versions(&self) -> Vec<VersionKey> {
        self.state().backends.iter().map(|(key, _)| key.clone()).collect()
    }

    /// Returns the backend sessions that are open now.
    pub(crate) fn open_backends(&self) -> Vec<(VersionKey, Arc<BackendSession>)> {
        let state = self.state();
        state.backends.iter().filter_map(|(key, slot)| Some((key.clone(), slot.current()?))).collect()
    }

    /// Has whoever listens to a modern backend do so with the subscriptions as they are now. Resolves to what the
    /// backend agreed to tell of. `None` where nobody listens to it.
    pub(crate) fn refilter(&self, key: &VersionKey) -> Option<oneshot::Receiver<Filter>> {
        let listener = self.state().refilters.get(key)?.clone();
        let (answer, granted) = oneshot::channel();
        // Where too many changes wait, those that wait are seen with this one.
        let _ = listener.try_send(answer);
        Some(granted)
    }

    /// Sends a message to the client's stream. Says whether it took it: none is open, or its client did not ask for such
    /// messages. A listen stream that is too slow ends, since its client has no other way to learn that it missed
    /// something.
    pub(crate) fn push(&self, message: &Bytes) -> bool {
        let mut state = self.state();
        let sender = match &state.stream {
            Some(Outlet::Listen(sender)) => sender,
            Some(Outlet::Kept { writing, .. }) => {
                writing.event(message);
                return true;
            }
            None => return false,
        };
        let dressed = state.listening.as_ref().and_then(|listening| listening.dressed(message));
        let Some(message) = dressed else { return false };
        let is_taken = sender.try_send(sse::encode(&message, None)).is_ok();
        if !is_taken {
            state.stream = None;
        }
        is_taken
    }

    /// Ends the GET stream of this number.
    pub(crate) fn end_stream(&self, number: u64) {
        let is_it =
            |stream: &mut Outlet| matches!(stream, Outlet::Kept { writing, .. } if writing.is(number));
        let ended = self.state().stream.take_if(is_it);
        drop(ended);
    }

    /// Takes a session of our own for one call; `None` while it has another, or had one that was cancelled. It is free when what is returned is
    /// dropped.
    pub(crate) fn reserve(&self) -> Option<Questions> {
        let mut state = self.state();
        if state.is_retired || state.running.as_ref().is_some_and(|running| !running.is_closed()) {
            return None;
        }
        let (sender, questions) = mpsc::channel(MAX_QUESTIONS);
        state.running = Some(sender);
        Some(questions)
    }

    /// Gives a question to the call that has the session. Says whether it took it.
    pub(crate) fn ask_running(&self, question: Question) -> bool {
        self.state().running.as_ref().is_some_and(|running| running.try_send(question).is_ok())
    }

    fn touch(&self) {
        self.last_used_ms.store(Timestamp::now().0, Ordering::Relaxed);
    }

    fn idle_ms(&self, now: i64) -> i64 {
        now - self.last_used_ms.load(Ordering::Relaxed)
    }

    fn is_busy(&self) -> bool {
        // Requests under way hold the session itself; only the map and one local name it otherwise.
        self.state().stream.as_ref().is_some_and(Outlet::is_read)
    }
}

impl Drop for ClientSession {
    /// Nobody else would end a session of our own.
    fn drop(&mut self) {
        let Some(keeper) = self.keeper.take() else { return };
        if let Some(heard) = self.state().heard.take() {
            heard.task.abort();
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        for (_, open) in self.open_backends() {
            let id = open.id.as_ref().and_then(|id| id.to_str().ok()).map(str::to_owned);
            if let (Some(id), Some(endpoint)) = (id, open.endpoint.clone()) {
                let keeper = keeper.clone();
                runtime.spawn(async move { keeper.end_session(&endpoint, &id, open.revision).await });
            }
        }
    }
}

impl Sessions {
    pub(crate) fn new(store: Arc<dyn SessionStore>, settings: Settings) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, hasher: DefaultHashBuilder::default(), store, settings, numbers: AtomicU64::new(1) }
    }

    /// Enters a session that was just minted under `token`.
    pub(crate) fn enter(
        &self,
        token: &str,
        sealed: VirtualSession,
        path: &str,
        principal: &Principal,
    ) -> Arc<ClientSession> {
        let session = self.make(sealed, path, principal, None, None);
        self.shard(token).entry(token.into()).or_insert(session).clone()
    }

    /// Enters a session of our own, which ends at its backends when it has been idle.
    pub(crate) fn enter_kept(
        &self,
        token: &str,
        sealed: VirtualSession,
        path: &str,
        principal: &Principal,
        keeper: Arc<Backends>,
    ) -> Arc<ClientSession> {
        let session = self.make(sealed, path, principal, None, Some(keeper));
        self.shard(token).entry(token.into()).or_insert(session).clone()
    }

    /// Makes a session of our own that nobody else finds; it ends at its backends with its last user.
    pub(crate) fn apart(
        &self,
        sealed: VirtualSession,
        path: &str,
        principal: &Principal,
        keeper: Arc<Backends>,
    ) -> Arc<ClientSession> {
        self.make(sealed, path, principal, None, Some(keeper))
    }

    /// Finds a session in memory. The caller, path and token must be those it was made for.
    pub(crate) fn find(&self, token: &str, path: &str, principal: &Principal) -> Option<Arc<ClientSession>> {
        let session = self.shard(token).get(token)?.clone();
        let is_theirs = &*session.path == path && session.principal.is_same_caller(principal);
        is_theirs.then(|| {
            session.touch();
            session
        })
    }

    /// Forgets a session in memory, unless another took its place.
    pub(crate) fn forget(&self, token: &str, session: &Arc<ClientSession>) {
        let mut shard = self.shard(token);
        if shard.get(token).is_some_and(|known| Arc::ptr_eq(known, session)) {
            shard.remove(token);
        }
    }

    /// Brings a session back that is valid by its seal but not in memory. `None`: it was ended.
    pub(crate) async fn restore(
        &self,
        token: &str,
        sealed: VirtualSession,
        path: &str,
        principal: &Principal,
    ) -> Option<Arc<ClientSession>> {
        let record = self.store.get(record_key(&sealed.id)).await.and_then(|bytes| Record::read(&bytes));
        if record.as_ref().is_some_and(|record| record.is_ended) {
            return None;
        }
        let session = self.make(sealed, path, principal, record, None);
        Some(self.shard(token).entry(token.into()).or_insert(session).clone())
    }

    /// Writes down a session's backend sessions, so that another process or a restart goes on with them.
    pub(crate) fn keep(&self, session: &ClientSession) {
        if session.keeper.is_some() {
            return;
        }
        let record = Record::of(session);
        if record.is_ended || !record.backends.is_empty() || record.log_level.is_some() {
            let seconds = u32::try_from(self.settings.store_idle.as_secs()).unwrap_or(u32::MAX);
            let seconds = if record.is_ended { record::ENDED_SECONDS } else { seconds };
            self.store.put(record_key(&session.sealed.id), record.to_bytes(), seconds);
        }
    }

    /// Ends a session for good: from now on its id is unknown, here and wherever the store is shared.
    pub(crate) fn end(&self, token: &str, session: &ClientSession) {
        session.state().is_ended = true;
        self.keep(session);
        self.shard(token).remove(token);
    }

    /// Writes down and drops what has been idle, and the longest idle where there are too many.
    pub(crate) fn reap(&self) {
        let now = Timestamp::now().0;
        let idle_ms = i64::try_from(self.settings.memory_idle.as_millis()).unwrap_or(i64::MAX);
        let most = self.settings.most.div_ceil(SHARDS);
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let mut excess = shard.len().saturating_sub(most);
            let mut limit_ms = idle_ms;
            if excess > 0 {
                let mut ages: Vec<_> = shard.values().map(|session| session.idle_ms(now)).collect();
                ages.sort_unstable();
                limit_ms = ages[most];
            }
            shard.retain(|_, session| {
                let age = session.idle_ms(now);
                let is_idle = age >= idle_ms || (excess > 0 && age >= limit_ms);
                let is_kept = !is_idle || Arc::strong_count(session) > 1 || session.is_busy();
                if !is_kept {
                    excess = excess.saturating_sub(1);
                    self.keep(session);
                }
                is_kept
            });
            if shard.capacity() > 4 * shard.len().max(16) {
                shard.shrink_to_fit();
            }
        }
    }

    /// Writes down everything, before the process ends.
    pub(crate) fn keep_all(&self) {
        for session in self.all() {
            self.keep(&session);
        }
    }

    /// Returns every session in memory.
    pub(crate) fn all(&self) -> Vec<Arc<ClientSession>> {
        let lock = |shard: &Mutex<Shard>| {
            shard.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect::<Vec<_>>()
        };
        self.shards.iter().flat_map(lock).collect()
    }

    /// Returns how many sessions are in memory.
    pub(crate) fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }

    fn make(
        &self,
        sealed: VirtualSession,
        path: &str,
        principal: &Principal,
        record: Option<Record>,
        keeper: Option<Arc<Backends>>,
    ) -> Arc<ClientSession> {
        Arc::new(ClientSession {
            sealed,
            number: self.numbers.fetch_add(1, Ordering::Relaxed),
            principal: principal.clone(),
            path: path.into(),
            keeper,
            last_used_ms: AtomicI64::new(Timestamp::now().0),
            state: Mutex::new(record.map(Record::into_state).unwrap_or_default()),
        })
    }

    fn shard(&self, token: &str) -> MutexGuard<'_, Shard> {
        let index = self.hasher.hash_one(token) as usize % SHARDS;
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn record_key(id: &str) -> String {
    format!("vs/{id}")
}

#[cfg(test)]
mod tests;
