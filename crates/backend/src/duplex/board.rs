//! What waits for the messages of one conversation, and whether it still goes on.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use mcp::message::Outline;
use tokio::time::Instant;

use super::inbox::Inbox;
use super::switchboard::{Delivered, Entered, Serves, Switchboard};
use crate::error::Error;
use crate::host::lock;

/// Those who wait, and whether there is still something to wait for.
pub(crate) struct Board(Mutex<State>);

struct State {
    switch: Switchboard,
    /// Why it takes no requests any more.
    closed: Option<Closed>,
    used: Instant,
}

/// How a conversation ended, for those who waited.
#[derive(Clone)]
pub(crate) enum Closed {
    /// It never began.
    NotStarted(String),
    /// It ended, or was ended, while it went on.
    Ended(String),
}

impl Board {
    pub(crate) fn new(serves: Serves) -> Self {
        Self(Mutex::new(State { switch: Switchboard::new(serves), closed: None, used: Instant::now() }))
    }

    /// Enters a request and returns it as it must be sent.
    pub(crate) fn enter(&self, message: &Bytes, outline: &Outline) -> Result<Entered, Error> {
        let mut state = lock(&self.0);
        state.used = Instant::now();
        match &state.closed {
            Some(closed) => Err(closed.before()),
            None => state.switch.enter(message, outline).ok_or(Error::Overloaded),
        }
    }

    /// Enters a request that belongs to no session. Fails where a session was begun meanwhile.
    pub(crate) fn enter_by_itself(&self, message: &Bytes, outline: &Outline) -> Result<Entered, Error> {
        let mut state = lock(&self.0);
        state.used = Instant::now();
        match &state.closed {
            Some(closed) => Err(closed.before()),
            None if !state.switch.serves_anybody() => Err(Error::unreachable("it serves a session by now")),
            None => state.switch.enter(message, outline).ok_or(Error::Overloaded),
        }
    }

    /// Serves one session from now on, unless somebody waits for an answer. Returns whether it does.
    pub(crate) fn begin_session(&self) -> bool {
        lock(&self.0).switch.begin_session()
    }

    /// Forgets a request. Returns its raw id if no answer had come.
    pub(crate) fn forget(&self, number: u64) -> Option<Bytes> {
        let mut state = lock(&self.0);
        state.used = Instant::now();
        state.switch.forget(number)
    }

    /// Opens the stream of news.
    pub(crate) fn open_news(&self) -> Arc<Inbox> {
        let mut state = lock(&self.0);
        state.used = Instant::now();
        let inbox = state.switch.open_news();
        if state.closed.is_some() {
            inbox.close();
        }
        inbox
    }

    /// Forgets a stream of news.
    pub(crate) fn close_news(&self, inbox: &Arc<Inbox>) {
        let mut state = lock(&self.0);
        state.used = Instant::now();
        state.switch.close_news(inbox);
    }

    /// Notes that it is used.
    pub(crate) fn touch(&self) {
        lock(&self.0).used = Instant::now();
    }

    /// Delivers one message, or a batch of them.
    pub(crate) fn deliver(&self, line: Bytes) -> Vec<Delivered> {
        lock(&self.0).switch.deliver(line)
    }

    /// Returns the error of a request that comes too late; `None` where it still takes them.
    pub(crate) fn closed(&self) -> Option<Error> {
        lock(&self.0).closed.as_ref().map(Closed::before)
    }

    /// Says whether it takes requests no more.
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.0).closed.is_some()
    }

    /// Says whether anybody waits for an answer.
    pub(crate) fn is_asked(&self) -> bool {
        lock(&self.0).switch.is_asked()
    }

    /// Returns since when nobody has used it; `None` while somebody does.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let state = lock(&self.0);
        (!state.switch.is_busy()).then_some(state.used)
    }

    /// Takes no more requests, and tells all who wait. Only the first reason counts.
    pub(crate) fn close(&self, closed: &Closed) {
        let mut state = lock(&self.0);
        if state.closed.is_some() {
            return;
        }
        state.closed = Some(closed.clone());
        let (requests, news) = state.switch.clear();
        drop(state);
        for request in requests {
            request.fail(closed.during());
        }
        if let Some(news) = news {
            news.close();
        }
    }
}

impl Closed {
    /// The error of a request that was being answered.
    fn during(&self) -> Error {
        match self {
            Self::NotStarted(reason) => Error::unreachable(reason.clone()),
            Self::Ended(reason) => Error::Broken { reason: reason.clone() },
        }
    }

    /// The error of a request that comes too late.
    fn before(&self) -> Error {
        let (Self::NotStarted(reason) | Self::Ended(reason)) = self;
        Error::unreachable(reason.clone())
    }
}
