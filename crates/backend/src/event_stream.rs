//! Backends over HTTP+SSE, the transport of 2024-11-05: a GET opens an event stream, whose first event names the URL that
//! messages are posted to, and everything the backend says comes on that stream.
//!
//! They answer at the same seam as backends over streamable HTTP. A session is a stream: `initialize` opens it, DELETE
//! and the backend close it. The session's id is ours.

mod channel;
mod exchange;
mod opening;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use channel::Channel;

use crate::host::lock;

/// Most streams that are open at once; each holds a connection and a task.
const MAX_STREAMS: usize = 4096;

/// The streams that are open, by the ids of their sessions. All threads share them.
#[derive(Default)]
pub struct EventStreams(Mutex<HashMap<String, Arc<Channel>>>);

impl EventStreams {
    /// Returns the stream of a session with the backend at `url`, if it is still open.
    fn find(&self, id: &str, url: &str) -> Option<Arc<Channel>> {
        lock(&self.0).get(id).filter(|channel| channel.is_at(url) && !channel.board.is_closed()).cloned()
    }

    /// Says whether there is room for one more. Those that are closed make some.
    fn has_room(&self) -> bool {
        let mut streams = lock(&self.0);
        if streams.len() >= MAX_STREAMS {
            streams.retain(|_, channel| !channel.board.is_closed());
        }
        streams.len() < MAX_STREAMS
    }

    fn enter(&self, id: String, channel: Arc<Channel>) {
        let mut streams = lock(&self.0);
        streams.retain(|_, channel| !channel.board.is_closed());
        streams.insert(id, channel);
    }

    /// Takes a session's stream out, to be closed.
    fn leave(&self, id: &str, url: &str) -> Option<Arc<Channel>> {
        let mut streams = lock(&self.0);
        streams.get(id).filter(|channel| channel.is_at(url))?;
        streams.remove(id).filter(|channel| !channel.board.is_closed())
    }
}

#[cfg(test)]
mod tests;
