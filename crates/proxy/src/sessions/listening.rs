//! What a session listens for: the filter of a modern client, and changes of it towards modern backends.

use bytes::Bytes;
use mcp::message::Outline;
use mcp::subscription::{Filter, tagged};
use tokio::sync::{mpsc, oneshot};

/// Longest message of a backend on a listen stream. With the length of its queue this bounds what a slow client can
/// make us hold; such messages are a hundred bytes.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// Asks whoever listens to a backend to do so with the subscriptions as they are now. The backend's answer is what it
/// agreed to tell of; none comes where it did not agree to anything.
pub(crate) type Refilter = mpsc::Sender<oneshot::Sender<Filter>>;

/// One `subscriptions/listen` of a modern client.
#[derive(Debug)]
pub(crate) struct Listening {
    /// The raw id of the request, which all messages repeat.
    pub(crate) id: Bytes,
    /// What is sent; nothing else is.
    pub(crate) filter: Filter,
}

impl Listening {
    /// Returns a message as the client gets it; `None` where it is not for it.
    pub(crate) fn dressed(&self, message: &Bytes) -> Option<Bytes> {
        if message.len() > MAX_MESSAGE_BYTES {
            tracing::debug!("a notification of a backend is too long for a listen stream");
            return None;
        }
        let outline = Outline::read(message).ok()?;
        self.filter.wants(message, &outline).then(|| tagged(message, &outline, &self.id))
    }
}
