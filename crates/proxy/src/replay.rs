//! Event streams of sessions of ours, kept for a while: a client that lost one goes on with it.
//!
//! Source: MCP 2025-11-25, streamable HTTP, resumability and redelivery.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use mcp::sse;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Most events and bytes kept of one stream: what a client misses in a minute on a bad network, not a history.
const MOST_EVENTS: usize = 256;
const MOST_STREAM_BYTES: usize = 256 * 1024;

/// Most bytes and streams kept in all, so that no crowd of clients fills the memory.
const MOST_BYTES: usize = 64 * 1024 * 1024;
const MOST_STREAMS: usize = 10_000;

/// How long an event is kept, and a stream after its end. Clients come back within seconds, or after a night: not at
/// all.
const KEPT: Duration = Duration::from_secs(300);

/// When a client whose stream broke should come back, in milliseconds.
const RETRY_MS: u32 = 1_000;

/// Events that wait for a client, besides those it missed. One that reads more slowly loses its connection, and may
/// come back for what is kept.
const QUEUE: usize = 256;

/// How often it is looked whether somebody reads a stream that goes on without a call. What nobody read twice in a row
/// is over: as long as this and no longer than twice this may a client be away.
const AWAY: Duration = Duration::from_secs(15);

/// Begins the ids of events on streams that belong to no call.
const LISTENING: char = 'g';

/// All kept streams of this process.
pub(crate) struct Replays {
    streams: Mutex<BTreeMap<u64, Arc<Stream>>>,
    next: AtomicU64,
    bytes: Arc<AtomicUsize>,
}

/// One stream.
struct Stream {
    number: u64,
    /// Whether it belongs to no call.
    is_listening: bool,
    /// The id of the session it belongs to.
    owner: Box<str>,
    state: Mutex<State>,
    /// What all streams hold together.
    all_bytes: Arc<AtomicUsize>,
}

struct State {
    events: VecDeque<(Instant, Bytes)>,
    /// The place of the first event that is kept.
    first: u64,
    bytes: usize,
    ended: Option<Instant>,
    /// Who reads it, on a connection of its own: one at a time.
    reader: Option<mpsc::Sender<Bytes>>,
}

/// Who writes a stream; its end is the stream's.
pub(crate) struct Writing(Arc<Stream>);

/// How a stream goes on behind an event.
#[derive(Debug)]
pub(crate) enum After {
    /// With what was missed, and what comes.
    Going(mpsc::Receiver<Bytes>),
    /// With what was missed; the stream is over.
    Over(Vec<Bytes>),
}

/// Says whether the id of an event is one of a stream that belongs to no call. When such a stream is gone, another
/// does as well.
pub(crate) fn is_of_listening(id: &str) -> bool {
    id.starts_with(LISTENING)
}

/// Makes a queue to a client, with what it missed in it.
fn waiting(missed: Vec<Bytes>) -> (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>) {
    let (sender, receiver) = mpsc::channel(missed.len() + QUEUE);
    for event in missed {
        // There is room for it.
        let _ = sender.try_send(event);
    }
    (sender, receiver)
}

impl Default for Replays {
    fn default() -> Self {
        // Clients also bring ids of another process, or of this one before it was restarted.
        let next = AtomicU64::new(RandomState::new().hash_one("first") >> 1);
        Self { streams: Mutex::default(), next, bytes: Arc::default() }
    }
}

impl Replays {
    /// Begins to keep the stream of a session's call.
    pub(crate) fn begin(&self, owner: &str) -> Writing {
        self.enter(owner, false, None)
    }

    /// Begins a session's stream that belongs to no call, and to keep it. It is read from the start.
    /// Events that were missed of the one before come first.
    pub(crate) fn listen(&self, owner: &str, missed: Vec<Bytes>) -> (Writing, mpsc::Receiver<Bytes>) {
        let (sender, receiver) = waiting(missed);
        (self.enter(owner, true, Some(sender)), receiver)
    }

    fn enter(&self, owner: &str, is_listening: bool, reader: Option<mpsc::Sender<Bytes>>) -> Writing {
        let state = State { events: VecDeque::new(), first: 0, bytes: 0, ended: None, reader };
        let stream = Arc::new(Stream {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            is_listening,
            owner: owner.into(),
            state: Mutex::new(state),
            all_bytes: self.bytes.clone(),
        });
        let mut streams = self.lock();
        streams.insert(stream.number, stream.clone());
        if streams.len() > MOST_STREAMS {
            streams.pop_first();
        }
        Writing(stream)
    }

    /// Goes on behind an event; whoever read the stream before reads it no more. `None` where it is none of the
    /// session's, or something is no longer kept that belongs to a call.
    pub(crate) fn after(&self, owner: &str, id: &str) -> Option<After> {
        let is_listening = is_of_listening(id);
        let (number, place) = id.trim_start_matches(LISTENING).split_once('-')?;
        let (number, place) = (u64::from_str_radix(number, 16).ok()?, place.parse::<u64>().ok()?);
        let is_theirs =
            |stream: &&Arc<Stream>| *stream.owner == *owner && stream.is_listening == is_listening;
        let stream = self.lock().get(&number).filter(is_theirs)?.clone();
        let next = place.checked_add(1)?;
        let mut state = stream.lock();
        if next > state.end() || (next < state.first && !is_listening) {
            return None;
        }
        let seen = usize::try_from(next.saturating_sub(state.first)).unwrap_or(usize::MAX);
        let missed: Vec<Bytes> = state.events.iter().skip(seen).map(|(_, event)| event.clone()).collect();
        if state.ended.is_some() {
            return Some(After::Over(missed));
        }
        let (sender, receiver) = waiting(missed);
        state.reader = Some(sender);
        Some(After::Going(receiver))
    }

    /// Drops what was kept long enough.
    pub(crate) fn reap(&self) {
        self.lock().retain(|_, stream| {
            let mut state = stream.lock();
            while state.events.front().is_some_and(|(since, _)| since.elapsed() >= KEPT) {
                stream.drop_oldest(&mut state);
            }
            state.ended.is_none_or(|ended| ended.elapsed() < KEPT)
        });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Stream>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    fn add(&self, event: impl FnOnce(&str) -> Bytes) -> Bytes {
        let mut state = self.lock();
        let kind = if self.is_listening { String::from(LISTENING) } else { String::new() };
        let event = event(&format!("{kind}{:x}-{}", self.number, state.end()));
        state.bytes += event.len();
        state.events.push_back((Instant::now(), event.clone()));
        let mut all_bytes = self.all_bytes.fetch_add(event.len(), Ordering::Relaxed) + event.len();
        while state.events.len() > MOST_EVENTS || state.bytes > MOST_STREAM_BYTES || all_bytes > MOST_BYTES {
            let Some(left) = self.drop_oldest(&mut state) else { break };
            all_bytes = left;
        }
        if state.reader.as_ref().is_some_and(|reader| reader.try_send(event.clone()).is_err()) {
            state.reader = None;
        }
        event
    }

    /// Drops the oldest event. Returns what all streams hold then.
    fn drop_oldest(&self, state: &mut State) -> Option<usize> {
        let (_, oldest) = state.events.pop_front()?;
        state.first += 1;
        state.bytes -= oldest.len();
        Some(self.all_bytes.fetch_sub(oldest.len(), Ordering::Relaxed) - oldest.len())
    }

    fn is_read(&self) -> bool {
        self.lock().reader.as_ref().is_some_and(|reader| !reader.is_closed())
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

    /// Says whether it is this very stream.
    pub(crate) fn is(&self, number: u64) -> bool {
        self.0.number == number
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// Says whether somebody reads the stream on a connection of its own.
    pub(crate) fn is_read(&self) -> bool {
        self.0.is_read()
    }

    /// Returns a way to ask the same later.
    pub(crate) fn readers(&self) -> impl Fn() -> bool + Send + 'static {
        let stream = self.0.clone();
        move || stream.is_read()
    }

    /// Resolves when nobody has read the stream for a while.
    pub(crate) fn left(&self) -> impl Future<Output = ()> + Send + 'static {
        let is_read = self.readers();
        async move {
            let mut was_read = true;
            loop {
                tokio::time::sleep(AWAY).await;
                if !std::mem::replace(&mut was_read, is_read()) && !was_read {
                    return;
                }
            }
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.ended = Some(Instant::now());
        state.reader = None;
    }
}

#[cfg(test)]
mod tests;
