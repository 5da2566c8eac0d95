//! One session of a legacy backend.

use std::collections::BTreeSet;

use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender};

use crate::wire::{Out, pipe};

/// Log levels, mildest first (RFC 5424).
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// What a legacy backend keeps of a client.
pub(crate) struct Session {
    /// The revision agreed.
    pub(crate) revision: String,
    /// What the client can do.
    pub(crate) capabilities: Value,
    /// URIs it subscribed to.
    pub(crate) subscribed: BTreeSet<String>,
    /// How often its `count` tool was called.
    pub(crate) count: u64,
    log_level: Option<String>,
    streams: Vec<Sender<Out>>,
}

impl Session {
    pub(crate) fn new(revision: &str, capabilities: Value) -> Self {
        Self {
            revision: revision.into(),
            capabilities,
            subscribed: BTreeSet::new(),
            count: 0,
            log_level: None,
            streams: Vec::new(),
        }
    }

    pub(crate) fn set_log_level(&mut self, level: &str) -> bool {
        self.log_level = Some(level.into());
        LEVELS.contains(&level)
    }

    /// Says whether a message of this level is wanted: only once a level was set, and from it upwards.
    pub(crate) fn wants_log(&self, level: &str) -> bool {
        let rank = |level: &str| LEVELS.iter().position(|one| *one == level);
        self.log_level.as_deref().is_some_and(|wanted| rank(level) >= rank(wanted))
    }

    pub(crate) fn open_stream(&mut self) -> Receiver<Out> {
        let (sender, receiver) = pipe();
        self.streams.retain(|stream| !stream.is_closed());
        self.streams.push(sender);
        receiver
    }

    pub(crate) fn open_streams(&self) -> usize {
        self.streams.iter().filter(|stream| !stream.is_closed()).count()
    }

    pub(crate) fn close_streams(&mut self) {
        self.streams.clear();
    }

    /// Sends a message on the newest open stream: a message goes to one stream only.
    pub(crate) fn push(&mut self, message: Value) {
        self.streams.retain(|stream| !stream.is_closed());
        if let Some(stream) = self.streams.last() {
            // The stream may close this very moment, or be full; then the message is lost, as on any network.
            let _ = stream.try_send(Out::Message(message));
        }
    }
}
