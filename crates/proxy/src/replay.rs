//! Event streams of virtual servers, kept for a while: a client that lost one goes on with it.
//!
//! Source: MCP 2025-11-25, streamable HTTP, resumability and redelivery.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use mcp::sse;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// Most events and bytes kept of one stream: what a client misses in a minute on a bad network, not a history.
const MOST_EVENTS: usize = 256;
const MOST_STREAM_BYTES: usize = 256 * 1024;

/// Most bytes and streams kept in all, so that no crowd of clients fills the memory.
const MOST_BYTES: usize = 64 * 1024 * 1024;
const MOST_STREAMS: usize = 10_000;

/// How long a stream is kept after its end. Clients come back within seconds, or after a night: not at all.
const KEPT: Duration = Duration::from_secs(300);

/// When a client whose stream broke should come back, in milliseconds.
const RETRY_MS: u32 = 1_000;

/// All kept streams of this process.
pub(crate) struct Replays {
    streams: Mutex<BTreeMap<u64, Arc<Stream>>>,
    next: AtomicU64,
    bytes: Arc<AtomicUsize>,
}

/// One stream.
struct Stream {
    number: u64,
    /// The id of the session it belongs to.
    owner: Box<str>,
    state: Mutex<State>,
    changed: watch::Sender<()>,
    /// What all streams hold together.
    all_bytes: Arc<AtomicUsize>,
}

struct State {
    events: VecDeque<Bytes>,
    /// The place of the first event that is kept.
    first: u64,
    bytes: usize,
    ended: Option<Instant>,
}

/// Who writes a stream; its end is the stream's.
pub(crate) struct Writing(Arc<Stream>);

/// Who goes on with a stream.
pub(crate) struct Reading {
    stream: Arc<Stream>,
    next: u64,
}

impl Default for Replays {
    fn default() -> Self {
        // Clients also bring ids of another process, or of this one before it was restarted.
        let next = AtomicU64::new(RandomState::new().hash_one("first") >> 1);
        Self { streams: Mutex::default(), next, bytes: Arc::default() }
    }
}

impl Replays {
    /// Begins to keep a stream of a session.
    pub(crate) fn begin(&self, owner: &str) -> Writing {
        let stream = Arc::new(Stream {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            owner: owner.into(),
            state: Mutex::new(State { events: VecDeque::new(), first: 0, bytes: 0, ended: None }),
            changed: watch::Sender::new(()),
            all_bytes: self.bytes.clone(),
        });
        let mut streams = self.lock();
        streams.insert(stream.number, stream.clone());
        if streams.len() > MOST_STREAMS {
            streams.pop_first();
        }
        Writing(stream)
    }

    /// Finds what came after an event; `None` where it is none of the session's, or something is no longer kept.
    pub(crate) fn after(&self, owner: &str, id: &str) -> Option<Reading> {
        let (number, place) = id.split_once('-')?;
        let (number, place) = (u64::from_str_radix(number, 16).ok()?, place.parse::<u64>().ok()?);
        let stream = self.lock().get(&number).filter(|stream| *stream.owner == *owner)?.clone();
        let next = place.checked_add(1)?;
        let is_kept = {
            let state = stream.lock();
            next >= state.first && next <= state.end()
        };
        is_kept.then_some(Reading { stream, next })
    }

    /// Drops streams that ended a while ago.
    pub(crate) fn reap(&self) {
        self.lock().retain(|_, stream| stream.lock().ended.is_none_or(|ended| ended.elapsed() < KEPT));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Stream>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    fn add(&self, event: impl FnOnce(&str) -> Bytes) -> Bytes {
        let mut state = self.lock();
        let event = event(&format!("{:x}-{}", self.number, state.end()));
        state.bytes += event.len();
        state.events.push_back(event.clone());
        let mut all_bytes = self.all_bytes.fetch_add(event.len(), Ordering::Relaxed) + event.len();
        while state.events.len() > MOST_EVENTS || state.bytes > MOST_STREAM_BYTES || all_bytes > MOST_BYTES {
            let Some(oldest) = state.events.pop_front() else { break };
            state.first += 1;
            state.bytes -= oldest.len();
            all_bytes = self.all_bytes.fetch_sub(oldest.len(), Ordering::Relaxed) - oldest.len();
        }
        drop(state);
        self.changed.send_replace(());
        event
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The place behind the last event.
    fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let bytes = self.lock().bytes;
        self.all_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Writing {
    /// Makes the event of a message and keeps it.
    pub(crate) fn event(&self, message: &[u8]) -> Bytes {
        self.0.add(|id| sse::encode(message, Some(id)))
    }

    /// Makes the first event, which has no message: it tells a place to come back to before anything happened
    /// (from 2025-11-25 on; older clients do not expect it).
    pub(crate) fn primer(&self) -> Bytes {
        self.0.add(|id| format!("id: {id}\nretry: {RETRY_MS}\ndata: \n\n").into())
    }

    /// Returns a way to ask whether somebody goes on with the stream.
    pub(crate) fn readers(&self) -> impl Fn() -> bool + Send + 'static {
        let stream = self.0.clone();
        move || stream.changed.receiver_count() > 0
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.lock().ended = Some(Instant::now());
        self.0.changed.send_replace(());
    }
}

impl Reading {
    /// Sends what came and what comes, to the stream's end. Ends early where events come faster than they are taken
    /// and some are no longer kept.
    pub(crate) async fn run(mut self, sender: mpsc::Sender<Bytes>) {
        let mut changed = self.stream.changed.subscribe();
        loop {
            let (events, is_over) = {
                let state = self.stream.lock();
                let Some(seen) = self.next.checked_sub(state.first) else { return };
                let seen = usize::try_from(seen).unwrap_or(usize::MAX);
                (state.events.iter().skip(seen).cloned().collect::<Vec<_>>(), state.ended.is_some())
            };
            for event in events {
                self.next += 1;
                if sender.send(event).await.is_err() {
                    return;
                }
            }
            if is_over || changed.changed().await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
