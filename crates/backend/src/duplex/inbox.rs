//! Messages that wait for one reader, who may be on another thread.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::error::Error;
use crate::host::lock;

/// Most messages that wait, and most bytes of them. A message beyond is dropped: waiting for a slow reader would make
/// all others wait too.
const MAX_WAITING: usize = 1024;
const MAX_WAITING_BYTES: usize = 1024 * 1024;

/// Messages that wait for their reader.
#[derive(Default)]
pub(crate) struct Inbox(Mutex<State>);

#[derive(Default)]
struct State {
    messages: VecDeque<Bytes>,
    bytes: usize,
    end: Option<End>,
    reader: Option<Waker>,
}

/// What follows the messages.
enum End {
    /// An answer, for which there always is room.
    Answer(Bytes),
    Failed(Error),
    Nothing,
}

/// What a reader gets.
#[derive(Debug)]
pub(crate) enum Mail {
    /// More follows.
    Message(Bytes),
    /// The answer, the last there is.
    Answer(Bytes),
}

impl Inbox {
    /// Puts a message in. Returns whether there was room; a lone message always has some.
    pub(crate) fn push(&self, message: Bytes) -> bool {
        let mut state = lock(&self.0);
        let has_room = state.messages.is_empty()
            || state.messages.len() < MAX_WAITING && state.bytes + message.len() <= MAX_WAITING_BYTES;
        if state.end.is_none() && has_room {
            state.bytes += message.len();
            state.messages.push_back(message);
            state.wake();
            return true;
        }
        // After its end nobody misses anything.
        state.end.is_some()
    }

    /// Puts the answer in.
    pub(crate) fn answer(&self, answer: Bytes) {
        self.end(End::Answer(answer));
    }

    /// Says that no answer will come.
    pub(crate) fn fail(&self, error: Error) {
        self.end(End::Failed(error));
    }

    /// Says that nothing more will come.
    pub(crate) fn close(&self) {
        self.end(End::Nothing);
    }

    fn end(&self, end: End) {
        let mut state = lock(&self.0);
        if state.end.is_none() {
            state.end = Some(end);
            state.wake();
        }
    }

    /// Takes the next message out; `None` at the end.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Mail, Error>>> {
        let mut state = lock(&self.0);
        if let Some(message) = state.messages.pop_front() {
            state.bytes -= message.len();
            return Poll::Ready(Some(Ok(Mail::Message(message))));
        }
        match state.end.replace(End::Nothing) {
            Some(End::Answer(answer)) => Poll::Ready(Some(Ok(Mail::Answer(answer)))),
            Some(End::Failed(error)) => Poll::Ready(Some(Err(error))),
            Some(End::Nothing) => Poll::Ready(None),
            None => {
                state.end = None;
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl State {
    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

#[cfg(test)]
mod tests;
