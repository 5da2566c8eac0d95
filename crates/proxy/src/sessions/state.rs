//! What changes in a client's session: its backend sessions, its stream, and what its client was asked.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use catalog::VersionKey;
use mcp::bridge::InputRequest;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use super::listening::{Listening, Refilter};
use super::slot::Slot;
use crate::replay::Writing;

/// How many requests of backends one client session may leave unanswered; more are refused to the backend.
const MAX_ASKED: usize = 256;

/// A question of a backend, with the backend's own raw id.
pub(crate) type Question = (Bytes, InputRequest);

/// What changes in a session.
#[derive(Default)]
pub(crate) struct State {
    /// Backend sessions, opened on first use.
    pub(crate) backends: Vec<(VersionKey, Arc<Slot>)>,
    /// Requests of backends that wait for the client's answer, by our number.
    pub(crate) asked: HashMap<u64, Asked>,
    /// The next such number.
    pub(crate) next_asked: u64,
    /// The open GET stream, or the listen stream that the session was made for.
    pub(crate) stream: Option<Outlet>,
    /// What is listened to, where a client of the modern era listens.
    pub(crate) listening: Option<Listening>,
    /// Where those who listen to a modern backend are told that the subscriptions changed.
    pub(crate) refilters: HashMap<VersionKey, Refilter>,
    /// In a session of our own, where questions on the GET stream go: to the one call that runs.
    pub(crate) running: Option<mpsc::Sender<Question>>,
    /// Whether a call in a session of our own was cancelled that its backend may ask something in: such a question has
    /// no other owner.
    pub(crate) is_retired: bool,
    /// The GET stream of a session of our own.
    pub(crate) heard: Option<Heard>,
    /// The level the client set, as a JSON string.
    pub(crate) log_level: Option<String>,
    /// Resources subscribed to, and the version that owns each.
    pub(crate) subscriptions: HashMap<Box<str>, VersionKey>,
    /// Set by DELETE.
    pub(crate) is_ended: bool,
}

/// Where messages for the client go.
pub(crate) enum Outlet {
    /// To a listen stream, which ends with its connection.
    Listen(mpsc::Sender<Bytes>),
    /// To a GET stream, which its client may leave for a while.
    Kept { writing: Writing, _following: Following },
}

/// What feeds a GET stream; it ends with the stream.
pub(crate) struct Following(AbortHandle);

impl Outlet {
    /// Says whether a client reads it now.
    pub(crate) fn is_read(&self) -> bool {
        match self {
            Self::Listen(sender) => !sender.is_closed(),
            Self::Kept { writing, .. } => writing.is_read(),
        }
    }
}

impl Following {
    pub(crate) fn new(task: AbortHandle) -> Self {
        Self(task)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The GET stream of a session of our own, while somebody reads it.
pub(crate) struct Heard {
    /// Whether it was opened, or could not be.
    pub(crate) settled: watch::Receiver<bool>,
    pub(crate) task: AbortHandle,
}

/// A request of a backend that the client was asked to answer.
pub(crate) struct Asked {
    pub(crate) answer: Answer,
    /// The progress token it gave, raw, so that the client's progress finds it.
    pub(crate) progress_token: Option<Bytes>,
}

/// Where a client's answer goes.
pub(crate) enum Answer {
    /// To a legacy backend, under its own raw id. `life` ends with the stream on which it asked.
    ToBackend { key: VersionKey, id: Bytes, life: Weak<()> },
    /// To a round of input that waits for it: the whole message.
    ToRound(oneshot::Sender<Bytes>),
}

impl Asked {
    /// Says whether nobody waits for the answer any more.
    fn is_over(&self) -> bool {
        match &self.answer {
            Answer::ToBackend { life, .. } => life.strong_count() == 0,
            Answer::ToRound(waiting) => waiting.is_closed(),
        }
    }
}

impl State {
    /// Notes a request for the client and returns its number; `None` where too many are open.
    pub(crate) fn ask(&mut self, asked: Asked) -> Option<u64> {
        if self.asked.len() >= MAX_ASKED {
            // Clients leave questions unanswered whose call is over.
            self.asked.retain(|_, asked| !asked.is_over());
        }
        if self.asked.len() >= MAX_ASKED {
            return None;
        }
        let number = self.next_asked;
        self.next_asked += 1;
        self.asked.insert(number, asked);
        Some(number)
    }
}
