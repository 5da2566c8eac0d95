//! The messages of one request, or of a session's stream of news, as the body of an HTTP answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep};

use super::inbox::{Inbox, Mail};
use crate::error::Error;

/// Messages of a conversation for one reader. Dropped, it takes them out of the other side's care.
pub(crate) struct Messages {
    peer: Arc<dyn Peer>,
    inbox: Arc<Inbox>,
    pub(crate) belongs: Belongs,
    /// What was read ahead, to know which form the answer has.
    first: Option<Bytes>,
    is_json: bool,
    is_done: bool,
    timer: Pin<Box<Sleep>>,
}

/// The other side of a conversation, to those who read its messages.
pub(crate) trait Peer: Send + Sync {
    /// Forgets a request. Returns its raw id if no answer had come.
    fn forget(&self, number: u64) -> Option<Bytes>;
    /// Forgets a stream of news.
    fn close_news(&self, inbox: &Arc<Inbox>);
    /// Sends a message if there is room for it.
    fn try_write(&self, message: Bytes);
}

/// What the messages belong to.
pub(crate) enum Belongs {
    /// A request, by its number.
    Request {
        number: u64,
        /// Whether the other side is told when nobody waits any more.
        is_cancelled_by_leaving: bool,
    },
    /// The stream of news.
    News,
}

impl Messages {
    pub(crate) fn new(peer: Arc<dyn Peer>, inbox: Arc<Inbox>, belongs: Belongs) -> Self {
        let timer = Box::pin(tokio::time::sleep(Duration::ZERO));
        Self { peer, inbox, belongs, first: None, is_json: false, is_done: false, timer }
    }

    /// Waits for the first message. Returns whether it is the answer, so that no events need be made of it.
    pub(crate) async fn begin(&mut self, deadline: Instant) -> Result<bool, Error> {
        let timed_out = Error::TimedOut { what: "no answer", may_have_run: true };
        let first = std::future::poll_fn(|cx| self.inbox.poll(cx));
        match tokio::time::timeout_at(deadline, first).await.map_err(|_| timed_out)? {
            Some(Ok(Mail::Message(message))) => self.first = Some(message),
            Some(Ok(Mail::Answer(answer))) => {
                self.first = Some(answer);
                self.is_json = true;
            }
            Some(Err(error)) => return Err(error),
            // A subscription that ended before it began: an empty stream says so.
            None => self.is_done = true,
        }
        Ok(self.is_json)
    }

    /// Returns the whole answer, where it was the first message.
    pub(crate) fn answer(&self) -> Option<&Bytes> {
        self.first.as_ref().filter(|_| self.is_json)
    }

    /// Takes the next piece of the body; `None` at its end.
    pub(crate) fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if let Some(first) = self.first.take() {
            self.is_done = self.is_json;
            return Poll::Ready(Some(Ok(if self.is_json { first } else { event(&first) })));
        }
        if self.is_done {
            return Poll::Ready(None);
        }
        let mail = std::task::ready!(self.inbox.poll(cx));
        self.is_done = !matches!(mail, Some(Ok(Mail::Message(_))));
        Poll::Ready(match mail {
            Some(Ok(Mail::Message(message) | Mail::Answer(message))) => Some(Ok(event(&message))),
            Some(Err(error)) => Some(Err(error)),
            None => None,
        })
    }

    pub(crate) fn is_done(&self) -> bool {
        self.is_done && self.first.is_none()
    }

    /// Returns how much is still to come, where that is known.
    pub(crate) fn left(&self) -> Option<u64> {
        if self.is_done() {
            return Some(0);
        }
        self.answer().map(|answer| answer.len() as u64)
    }

    pub(crate) fn timer(&mut self) -> Pin<&mut Sleep> {
        self.timer.as_mut()
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        match self.belongs {
            Belongs::News => self.peer.close_news(&self.inbox),
            Belongs::Request { number, is_cancelled_by_leaving } => {
                let under_way = self.peer.forget(number);
                if let Some(id) = under_way.filter(|_| is_cancelled_by_leaving) {
                    self.peer.try_write(cancellation(&id));
                }
            }
        }
    }
}

fn event(message: &[u8]) -> Bytes {
    mcp::sse::encode(message, None)
}

/// Writes what tells the other side that nobody waits for a request any more.
///
/// Source: MCP 2026-07-28, basic/patterns/cancellation.
fn cancellation(id: &[u8]) -> Bytes {
    let id = String::from_utf8_lossy(id);
    let message = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the client closed the connection"}}}}"#
    );
    message.into()
}
