//! Calls of modern clients that wait at a legacy backend for an answer of the client.
//!
//! A legacy backend asks in the middle of a call; a modern client is asked by ending its request. So the call
//! is parked, its stream open and unread, until the client's next request brings the answers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use auth::Issuer;
use bytes::Bytes;
use mcp::bridge::{InputRequest, asking};
use mcp::error::{code, error_body};
use tokio::time::Instant;

use crate::hold::Hold;
use crate::opaque::Opaque;
use crate::relay::Relay;
use crate::rest::{self, Rest};
use crate::sessions::Question;

/// How long a parked call waits; as long as a round of input may take a person.
const PATIENCE: Duration = Duration::from_secs(600);

/// Longest silence of a backend once its call goes on, counted anew: while it was parked nobody listened.
const SILENCE: Duration = Duration::from_secs(300);

/// Most calls parked at once; each holds a connection and what the kernel buffers for it.
const MOST: usize = 10_000;

/// All parked calls of this process.
pub(crate) struct Parked {
    calls: Mutex<HashMap<String, (Instant, ParkedCall)>>,
    most: usize,
}

/// One parked call.
pub(crate) struct ParkedCall {
    pub(crate) rest: Rest,
    pub(crate) hold: Hold,
    pub(crate) relay: Relay,
    /// The open questions, each with the backend's own raw id.
    pub(crate) open: Vec<Question>,
}

impl Default for Parked {
    fn default() -> Self {
        Self { calls: Mutex::default(), most: MOST }
    }
}

impl Parked {
    /// Parks a call and returns the answer that asks its client.
    pub(crate) fn park(&self, mut call: ParkedCall, opaque: &Opaque) -> Bytes {
        if let Rest::Stream { reply, decoder, trail } = &mut call.rest {
            reply.compact();
            decoder.compact();
            trail.compact();
        }
        let Some(ticket) = call.hold.ticket.clone() else { return Bytes::new() };
        let questions: Vec<InputRequest> = call.open.iter().map(|(_, question)| question.clone()).collect();
        let name = Issuer::new_id().to_string();
        let mut calls = self.lock();
        if calls.len() >= self.most {
            drop(calls);
            call.give_up();
            return error_body(Some(&ticket.id), code::OVERLOADED, "too many calls wait for input", None);
        }
        calls.insert(name.clone(), (Instant::now(), call));
        drop(calls);
        let state = opaque.wrap_state(&name, ticket.digest, &ticket.key, &ticket.principal);
        asking(&ticket.id, &questions, &state)
    }

    /// Takes a call out, to go on with it.
    pub(crate) fn take(&self, name: &str) -> Option<ParkedCall> {
        let (_, mut call) = self.lock().remove(name)?;
        if let Rest::Stream { reply, .. } = &mut call.rest {
            reply.set_idle(Some(SILENCE));
        }
        Some(call)
    }

    /// Gives up what nobody came back for; its backends are told.
    pub(crate) fn reap(&self) {
        let mut ended = Vec::new();
        let mut calls = self.lock();
        let names: Vec<_> = calls.iter().filter(|(_, (since, _))| since.elapsed() > PATIENCE).collect();
        for name in names.into_iter().map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            ended.extend(calls.remove(&name));
        }
        drop(calls);
        ended.into_iter().for_each(|(_, call)| call.give_up());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Instant, ParkedCall)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ParkedCall {
    /// Ends a call whose client does not come back.
    fn give_up(self) {
        let Self { rest, hold, open, .. } = self;
        rest::give_up(hold, rest, open);
    }
}

#[cfg(test)]
mod tests;
