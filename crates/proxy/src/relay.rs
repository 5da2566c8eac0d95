//! Messages that a backend sends on the way to its answer: which go to the client, and as what.

pub(crate) mod id;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use mcp::bridge::{self, Caching, InputRequest};
use mcp::error::{code, error_body, result_body};
use mcp::message::{Kind, Outline, Span, elements, is_array, member, text};
use mcp::method::Method;
use mcp::rewrite::{Edit, splice};
use mcp::sse::{Event, encode};

use crate::forward::Errand;
use crate::lending::Lender;
use crate::sessions::{Answer, Asked};

/// What becomes of one message of a backend.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Nothing is told to the client.
    Nothing,
    /// Sent on before the answer.
    Message(Bytes),
    /// The answer itself.
    Answer(Bytes),
    /// A question that ends the request: the client answers it with a request of its own (2026-07-28).
    Question { id: Bytes, question: InputRequest },
    /// The backend asks what the client of the modern era did not declare, so the request ends with this error.
    Lacking(Bytes),
}

/// What an answer wears when client and backend are of different eras.
#[derive(Clone, Debug)]
pub(crate) enum Dress {
    /// Both sides are of one era.
    Same,
    /// A legacy backend's answer to a modern client.
    ToModern {
        method: Method,
        caching: Option<Caching>,
        uri: Option<String>,
        /// Lowest level of log messages the client asked for; none without.
        log_level: Option<usize>,
    },
    /// A modern backend's answer to a legacy client.
    ToLegacy { method: Method },
}

/// Levels of RFC 5424 as MCP names them, the lowest first.
pub(crate) const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Gives an answer the id its client used, where ours went upstream.
#[derive(Clone, Debug)]
pub(crate) struct RestoreId {
    pub(crate) own: Bytes,
    pub(crate) clients: Bytes,
}

/// What a stream of messages from one backend belongs to.
pub(crate) struct Relay {
    /// The session to ask the client in; without one, requests of the backend are refused.
    pub(crate) errand: Option<Arc<Errand>>,
    /// Whether the client can be asked on this very stream.
    pub(crate) may_ask: bool,
    /// Whether changes of lists go to the client as the backend tells of them, since it is the backend's own lists
    /// that the client reads.
    pub(crate) passes_lists: bool,
    pub(crate) restore: Option<RestoreId>,
    /// The progress token that the backend was given, and that of the request which waits for its answer now.
    pub(crate) progress: Option<RestoreId>,
    /// The raw id of the request at the backend; answers with another are none. `None` takes them all.
    pub(crate) awaited: Option<Bytes>,
    pub(crate) dress: Dress,
    /// Seals what the answer gives the client to be shown again.
    pub(crate) lender: Option<Box<Lender>>,
    /// Made with the first request put to the client; its end says that no answer is waited for.
    pub(crate) life: OnceLock<Arc<()>>,
}

impl Passed {
    fn sealed_by(self, relay: &Relay) -> Self {
        match self {
            Self::Message(data) => Self::Message(relay.sealed(data)),
            other => other,
        }
    }
}

impl Relay {
    /// Hands on what both sides understand as it is.
    pub(crate) fn untouched() -> Self {
        Self {
            errand: None,
            may_ask: true,
            passes_lists: false,
            restore: None,
            progress: None,
            awaited: None,
            dress: Dress::Same,
            lender: None,
            life: OnceLock::new(),
        }
    }

    /// Says whether an answer must be read and changed.
    pub(crate) fn rewrites(&self) -> bool {
        self.restore.is_some() || self.lender.is_some() || !matches!(self.dress, Dress::Same)
    }

    /// Decides about one message.
    pub(crate) fn pass(&self, data: Bytes) -> Passed {
        // An answer holds no key "method": inside a string its quotes would be escaped.
        let is_json = matches!(data.trim_ascii_start().first(), Some(b'{' | b'['));
        if is_json && memchr::memmem::find(&data, b"\"method\"").is_none() {
            return self.answer(data);
        }
        let Ok(outline) = Outline::read(&data) else {
            tracing::debug!("a backend sent an event that is no JSON-RPC message");
            return Passed::Nothing;
        };
        match outline.kind {
            Kind::Response => self.answer(data),
            Kind::Notification => self.notification(&outline, data).sealed_by(self),
            Kind::Request => self.request(&outline, data).sealed_by(self),
        }
    }

    fn answer(&self, data: Bytes) -> Passed {
        if self.is_foreign(&data) {
            tracing::debug!("a backend answered a request that was not asked here");
            return Passed::Nothing;
        }
        Passed::Answer(self.finished(data))
    }

    /// Says whether an answer is to another request. Errors often come without an id and count as ours.
    pub(crate) fn is_foreign(&self, data: &[u8]) -> bool {
        let Some(awaited) = &self.awaited else { return false };
        let found = id::find(data).or_else(|| Outline::read(data).ok()?.id);
        match found.map(|span| span.of(data)) {
            None | Some(b"null") => member(data, "error").is_none(),
            Some(found) => !id::is_same(found, awaited),
        }
    }

    /// Puts the client's id back and the answer into the dress of the client's era, and seals what it gives.
    pub(crate) fn finished(&self, data: Bytes) -> Bytes {
        let data = self.restored(data);
        let data = match &self.dress {
            Dress::Same => data,
            Dress::ToModern { method, caching, uri, .. } => {
                bridge::answer_to_modern(&data, *method, caching.as_ref(), uri.as_deref())
            }
            Dress::ToLegacy { method } => bridge::answer_to_legacy(&data, *method),
        };
        self.sealed(data)
    }

    fn sealed(&self, data: Bytes) -> Bytes {
        match &self.lender {
            Some(lender) => lender.sealed(data),
            None => data,
        }
    }

    /// Seals what an event gives and leaves all else of it as it came.
    pub(crate) fn exact(&self, event: Event) -> Bytes {
        let sealed = self.sealed(event.data.clone());
        if sealed == event.data {
            return event.raw;
        }
        encode(&sealed, event.id.as_deref().and_then(|id| std::str::from_utf8(id).ok()))
    }

    fn restored(&self, data: Bytes) -> Bytes {
        let Some(restore) = &self.restore else { return data };
        if is_array(&data) {
            // One that is passed on as it is, as both sides know them.
            let all = elements(&data).unwrap_or_default().into_iter();
            let ids = all.filter_map(|one| Some(id::find(one.of(&data))?.shifted(one.start)));
            let own = ids.filter(|id| id::is_same(id.of(&data), &restore.own));
            let mut edits: Vec<_> = own.map(|at| Edit { at, with: restore.clients.clone() }).collect();
            return splice(&data, &mut edits);
        }
        match id::find(&data).or_else(|| Outline::read(&data).ok()?.id) {
            Some(id) if id::is_same(id.of(&data), &restore.own) => {
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
                if self.passes_lists { Passed::Message(data) } else { Passed::Nothing }
            }
            Method::Message if !self.wants_log(outline, &data) => Passed::Nothing,
            Method::Progress => Passed::Message(self.retold(outline, data)),
            Method::ResourceUpdated if matches!(self.dress, Dress::ToModern { .. }) => Passed::Nothing,
            _ => Passed::Message(data),
        }
    }

    /// Gives progress the token of the request that waits now; a client knows only those it gave last.
    fn retold(&self, outline: &Outline, data: Bytes) -> Bytes {
        let (Some(tokens), Some(params)) = (&self.progress, outline.params) else { return data };
        match member(params.of(&data), "progressToken") {
            Some(token) if token.of(params.of(&data)) == &tokens.own[..] => {
                let at = token.shifted(u32::try_from(params.range().start).unwrap_or(u32::MAX));
                splice(&data, &mut [Edit { at, with: tokens.clients.clone() }])
            }
            _ => data,
        }
    }

    /// Modern clients get log messages only where the request asked for them, at that level or above.
    fn wants_log(&self, outline: &Outline, data: &[u8]) -> bool {
        let Dress::ToModern { log_level, .. } = &self.dress else { return true };
        let Some(lowest) = log_level else { return false };
        let params = outline.params.map(|span| span.of(data)).unwrap_or_default();
        let level = member(params, "level").and_then(|span| text(span.of(params)));
        level
            .and_then(|level| LEVELS.iter().position(|known| *known == level))
            .is_some_and(|level| level >= *lowest)
    }

    fn request(&self, outline: &Outline, data: Bytes) -> Passed {
        let Some(errand) = &self.errand else { return Passed::Message(data) };
        let id = outline.id.expect("a request has an id");
        if outline.method == Method::Ping {
            errand.clone().post_aside(result_body(id.of(&data), b"{}"));
            return Passed::Nothing;
        }
        if self.may_ask && matches!(self.dress, Dress::ToModern { .. }) {
            return self.question(errand, outline, &data, id);
        }
        let asked = self.may_ask.then(|| self.ask(errand, outline, &data, id)).flatten();
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

impl Relay {
    /// Makes a question of a request, for a client that answers with a request of its own.
    fn question(&self, errand: &Arc<Errand>, outline: &Outline, data: &Bytes, id: Span) -> Passed {
        let capability = match outline.method {
            Method::Elicit => "elicitation",
            Method::CreateMessage => "sampling",
            Method::RootsList => "roots",
            _ => {
                let reason = "no client can be asked this";
                let answer = error_body(Some(id.of(data)), code::METHOD_NOT_FOUND, reason, None);
                errand.clone().post_aside(answer);
                return Passed::Nothing;
            }
        };
        if member(errand.session.sealed.capabilities.as_bytes(), capability).is_none() {
            return Passed::Lacking(self.lacking(capability));
        }
        let name = outline.method_name.and_then(|span| text(span.of(data))).unwrap_or_default();
        // Copies: a question may wait long, and what it came in may be large.
        let params =
            outline.params.map_or(Bytes::from_static(b"{}"), |span| Bytes::copy_from_slice(span.of(data)));
        let id = Bytes::copy_from_slice(id.of(data));
        // The backend's id is unique within its session, and so among the open questions of a call.
        let key = format!("{QUESTION_PREFIX}{}", String::from_utf8_lossy(&id).trim_matches('"'));
        let question = InputRequest { key, method: outline.method, method_name: name.into_owned(), params };
        Passed::Question { id, question }
    }

    /// Makes the error that tells a client which capability its request needs.
    fn lacking(&self, capability: &str) -> Bytes {
        let id = self.restore.as_ref().map(|restore| &restore.clients[..]);
        let message = format!("the request needs the client capability {capability}");
        let data = format!(r#"{{"requiredCapabilities":{{"{capability}":{{}}}}}}"#);
        error_body(id, code::MISSING_CAPABILITY, &message, Some(&data))
    }

    /// Notes a request of a backend and returns it under an id of ours; `None` where too many are open.
    fn ask(&self, errand: &Errand, outline: &Outline, data: &Bytes, id: Span) -> Option<Bytes> {
        let progress_token = outline.meta.and_then(|meta| {
            let token = mcp::message::Meta::read(meta.of(data)).progress_token?;
            Some(data.slice(token.shifted(meta.start).range()))
        });
        let life = Arc::downgrade(self.life.get_or_init(Arc::default));
        let answer = Answer::ToBackend { key: errand.version.key.clone(), id: data.slice(id.range()), life };
        let number = errand.session.state().ask(Asked { answer, progress_token })?;
        Some(splice(data, &mut [Edit { at: id, with: asked_id(number).into() }]))
    }
}

/// Begins the keys of questions.
const QUESTION_PREFIX: &str = "ask-";

/// Begins the ids under which a client is asked.
const ASKED_PREFIX: &str = "ask-";

/// Returns the raw JSON of the id under which a client is asked.
pub(crate) fn asked_id(number: u64) -> String {
    format!("\"{ASKED_PREFIX}{number}\"")
}

/// Reads the number out of such an id, given as raw JSON.
pub(crate) fn asked_number(id: &[u8]) -> Option<u64> {
    mcp::message::text(id)?.strip_prefix(ASKED_PREFIX)?.parse().ok()
}

#[cfg(test)]
mod tests;
