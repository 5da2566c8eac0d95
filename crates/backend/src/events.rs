//! The events of a backend's stream, one after another.

use mcp::sse::{Decoder, Event, TooLong};

use crate::error::Error;
use crate::reply::Reply;

/// A stream that is read event by event.
pub struct Events {
    reply: Reply,
    decoder: Decoder,
}

/// Why the next event cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// It is longer than any that is held.
    #[error(transparent)]
    TooLong(TooLong),
    /// The stream broke off.
    #[error(transparent)]
    Broken(Error),
}

impl From<Unread> for Error {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::TooLong(error) => Self::not_mcp(error.to_string()),
            Unread::Broken(error) => error,
        }
    }
}

impl Events {
    /// Reads a stream whose events have at most so many bytes.
    pub fn new(reply: Reply, max_event_bytes: usize) -> Self {
        Self { reply, decoder: Decoder::new(max_event_bytes) }
    }

    /// Waits for the next event, which may say nothing; `None` at the end. May be dropped and called again.
    pub async fn next(&mut self) -> Option<Result<Event, Unread>> {
        loop {
            // A piece may hold thousands of events that mean nothing. Nothing is taken out before it, so nothing is lost
            // where the wait is dropped.
            tokio::task::coop::consume_budget().await;
            if let Some(event) = self.decoder.next() {
                return Some(event.map_err(Unread::TooLong));
            }
            match self.reply.frame().await? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        self.decoder.push(data);
                    }
                }
                Err(error) => return Some(Err(Unread::Broken(error))),
            }
        }
    }
}
