//! A backend's stream taken apart: which of its messages go to the client, and as what.

use std::collections::VecDeque;

use bytes::Bytes;
use mcp::message::apart;
use mcp::sse;

use super::MAX_EVENT_BYTES;
use crate::lending::Lender;
use crate::relay::{Passed, Relay};
use crate::replay::Writing;
use crate::sessions::Question;
use crate::trail::{Resuming, Trail};

/// How many events are looked at in one go.
pub(super) const EVENTS_AT_ONCE: usize = 128;

/// A stream that is taken apart.
pub(super) struct Decoded {
    pub(super) relay: Relay,
    pub(super) decoder: sse::Decoder,
    pub(super) trail: Trail,
    /// Where the events are kept for a client that comes back for them.
    pub(super) kept: Option<Writing>,
    pub(super) ready: VecDeque<Bytes>,
    pub(super) has_answered: bool,
    /// The first event, where it refuses the request as a whole.
    pub(super) refusal: Option<Bytes>,
    /// Whether the decoder may hold events that were not looked at.
    pub(super) is_behind: bool,
    /// Whether every event goes on, byte for byte unless something in it is sealed.
    is_exact: bool,
    /// What to say where the backend's stream ends without an answer.
    unanswered: Bytes,
}

/// What came of some bytes of a backend.
pub(super) enum Taken {
    All,
    TooLong,
    /// The client was refused, and the backend need not go on.
    Refused,
    /// The backend asks, and the client is one that answers with another request.
    Questions(Vec<Question>),
}

impl Decoded {
    /// Takes a stream apart. Of a parked call the decoder holds what came behind the question.
    pub(super) fn new(relay: Relay, decoder: sse::Decoder, trail: Trail, unanswered: Bytes) -> Self {
        Self {
            relay,
            decoder,
            trail,
            kept: None,
            ready: VecDeque::new(),
            has_answered: false,
            refusal: None,
            is_behind: true,
            is_exact: false,
            unanswered,
        }
    }

    /// Takes a stream apart for nothing but what `lender` seals in it.
    pub(super) fn exact(lender: Box<Lender>) -> Self {
        let relay = Relay { lender: Some(lender), ..Relay::untouched() };
        let decoder = sse::Decoder::new(MAX_EVENT_BYTES);
        let all = Self::new(relay, decoder, Trail::default(), Bytes::new());
        Self { is_behind: false, is_exact: true, ..all }
    }

    /// Says whether the client may come back for the answer.
    pub(super) fn is_awaited(&self) -> bool {
        self.kept.is_some() && !self.has_answered
    }

    /// Looks at the next events and passes on the messages in them.
    pub(super) fn look(&mut self) -> Taken {
        let mut questions = Vec::new();
        for _ in 0..EVENTS_AT_ONCE {
            let Some(event) = self.decoder.next() else {
                self.is_behind = false;
                break;
            };
            let Ok(event) = event else {
                self.is_behind = false;
                return Taken::TooLong;
            };
            if self.is_exact {
                self.ready.push_back(self.relay.exact(event));
                continue;
            }
            self.trail.note(&event);
            if event.data.is_empty() {
                continue;
            }
            for message in apart(event.data) {
                match self.relay.pass(message) {
                    Passed::Nothing => {}
                    Passed::Message(data) => self.ready.push_back(self.event(&data)),
                    Passed::Answer(data) => {
                        self.has_answered = true;
                        self.ready.push_back(self.event(&data));
                    }
                    Passed::Question { id, question } => questions.push((id, question)),
                    Passed::Lacking(error) => {
                        (self.has_answered, self.is_behind) = (true, false);
                        self.refusal = Some(error.clone()).filter(|_| self.ready.is_empty());
                        self.ready.push_back(self.event(&error));
                        return Taken::Refused;
                    }
                }
            }
        }
        if questions.is_empty() { Taken::All } else { Taken::Questions(questions) }
    }

    /// Makes the event of a message.
    fn event(&self, message: &[u8]) -> Bytes {
        match &self.kept {
            Some(kept) => kept.event(message),
            None => sse::encode(message, None),
        }
    }

    /// Goes on with a stream that ended before the answer.
    pub(super) fn resume(&mut self, end: Option<&backend::Error>) -> Option<Resuming> {
        if self.has_answered {
            return None;
        }
        self.trail.resume(end, self.relay.errand.as_ref())
    }

    /// The backend's stream is over: the client gets an error in place of an answer that did not come.
    pub(super) fn finish(&mut self) {
        if !self.has_answered && !self.unanswered.is_empty() {
            self.has_answered = true;
            self.ready.push_back(self.event(&self.unanswered));
        }
    }
}
