//! Messages that a backend sends on the way to its answer: which go to the client, and as what.

use bytes::Bytes;
use mcp::error::{code, error_body, result_body};
use mcp::message::{Kind, Outline, Span};
use mcp::method::Method;
use mcp::rewrite::{Edit, splice};

use crate::forward::Errand;
use crate::sessions::{Asked, MAX_ASKED};

/// What becomes of one message of a backend.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Nothing is told to the client.
    Nothing,
    /// Sent on before the answer.
    Message(Bytes),
    /// The answer itself.
    Answer(Bytes),
}

/// Gives an answer the id its client used, where ours went upstream.
#[derive(Clone, Debug)]
pub(crate) struct RestoreId {
    pub(crate) own: Bytes,
    pub(crate) clients: Bytes,
}

/// What a stream of messages from one backend belongs to.
pub(crate) struct Relay {
    /// The session to ask the client in; without one, requests of the backend are refused.
    pub(crate) errand: Option<Errand>,
    /// Whether the client can be asked on this very stream.
    pub(crate) may_ask: bool,
    pub(crate) restore: Option<RestoreId>,
}

impl Relay {
    /// Decides about one message.
    pub(crate) fn pass(&self, data: Bytes) -> Passed {
        // An answer holds no key "method": inside a string its quotes would be escaped.
        if memchr::memmem::find(&data, b"\"method\"").is_none() {
            return Passed::Answer(self.restored(data));
        }
        let Ok(outline) = Outline::read(&data) else {
            tracing::debug!("a backend sent an event that is no JSON-RPC message");
            return Passed::Nothing;
        };
        match outline.kind {
            Kind::Response => Passed::Answer(self.restored(data)),
            Kind::Notification => self.notification(&outline, data),
            Kind::Request => self.request(&outline, data),
        }
    }

    /// Puts the client's id back.
    pub(crate) fn restored(&self, data: Bytes) -> Bytes {
        let Some(restore) = &self.restore else { return data };
        match Outline::read(&data) {
            Ok(Outline { id: Some(id), .. }) if id.of(&data) == restore.own => {
                splice(&data, &mut [Edit { at: id, with: restore.clients.clone() }])
            }
            _ => data,
        }
    }

    fn notification(&self, outline: &Outline, data: Bytes) -> Passed {
        let Some(errand) = &self.errand else { return Passed::Message(data) };
        match outline.method {
            // The inventory is read again; the snapshot that follows tells every stream of it, once.
            Method::ToolsListChanged | Method::PromptsListChanged | Method::ResourcesListChanged => {
                (errand.shared.hint)(errand.version.key.clone());
                Passed::Nothing
            }
            _ => Passed::Message(data),
        }
    }

    fn request(&self, outline: &Outline, data: Bytes) -> Passed {
        let Some(errand) = &self.errand else { return Passed::Message(data) };
        let id = outline.id.expect("a request has an id");
        if outline.method == Method::Ping {
            errand.clone().post_aside(result_body(id.of(&data), b"{}"));
            return Passed::Nothing;
        }
        let asked = self.may_ask.then(|| ask(errand, outline, &data, id)).flatten();
        match asked {
            Some(message) => Passed::Message(message),
            None => {
                let reason = "the client cannot be asked now";
                errand.clone().post_aside(error_body(
                    Some(id.of(&data)),
                    code::METHOD_NOT_FOUND,
                    reason,
                    None,
                ));
                Passed::Nothing
            }
        }
    }
}

/// Notes a request of a backend and returns it under an id of ours; `None` where too many are open.
fn ask(errand: &Errand, outline: &Outline, data: &Bytes, id: Span) -> Option<Bytes> {
    let progress_token = outline.meta.and_then(|meta| {
        let token = mcp::message::Meta::read(meta.of(data)).progress_token?;
        Some(data.slice(token.shifted(meta.start).range()))
    });
    let mut state = errand.session.state();
    if state.asked.len() >= MAX_ASKED {
        return None;
    }
    let number = state.next_asked;
    state.next_asked += 1;
    let asked = Asked { key: errand.version.key.clone(), id: data.slice(id.range()), progress_token };
    state.asked.insert(number, asked);
    drop(state);
    Some(splice(data, &mut [Edit { at: id, with: format!("\"{ASKED_PREFIX}{number}\"").into() }]))
}

/// Begins the ids under which a client is asked.
const ASKED_PREFIX: &str = "ask-";

/// Reads the number out of such an id, given as raw JSON.
pub(crate) fn asked_number(id: &[u8]) -> Option<u64> {
    mcp::message::text(id)?.strip_prefix(ASKED_PREFIX)?.parse().ok()
}
