//! Wraps what must come back to the backend version that made it, and what we must know again ourselves:
//! session ids, cursors, states. Sealed, so that nobody can make or change one, and bound to caller and path.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use auth::Seal;
use bytes::Bytes;
use catalog::VersionKey;
use catalog::access::Principal;
use http::HeaderValue;
use mcp::era::Revision;
use quick_cache::sync::Cache;
use routing::version::VersionTarget;

mod task;
pub(crate) use task::{Place, Resting, Task};

/// Longest part of a client's own words that a session id carries: ids travel in a header of each request.
const MAX_CARRIED_BYTES: usize = 1024;

/// Session ids of server paths of which is remembered what they hold, and the longest one. At most a kilobyte or
/// two each; all others are opened again, which costs microseconds.
const MAX_REMEMBERED: usize = 10_000;
const MAX_REMEMBERED_BYTES: usize = 1024;

/// Prefix of the session ids of virtual servers.
const VIRTUAL_PREFIX: &str = "vs-";

/// The seals of everything opaque.
pub(crate) struct Opaque {
    seal: Seal,
    /// What a session id of a server path holds never changes.
    remembered: Cache<Box<str>, Arc<Unwrapped>>,
    tasks: Cache<Box<[u8]>, Arc<task::Known>>,
    hasher: RandomState,
}

/// A session id of a server path that was unwrapped.
#[derive(Debug)]
pub(crate) struct Unwrapped {
    pub(crate) session: DirectSession,
    /// The backend's id as its header has it; `None` where it fits in none.
    pub(crate) header: Option<HeaderValue>,
    /// Stands for the session among requests under way; two backends may well give the same id.
    pub(crate) number: u64,
    /// For whom and which path it opens.
    bound_to: Vec<u8>,
}

/// What the session id of a server path holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DirectSession {
    pub(crate) label: String,
    /// Of the version that made it; a later one of the same label is another.
    pub(crate) identity: u64,
    pub(crate) session: String,
}

/// What a backend gave a client to be shown to it again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lent {
    pub(crate) label: String,
    /// As in [`DirectSession`].
    pub(crate) identity: u64,
    /// A JSON string as the backend wrote it.
    pub(crate) raw: Bytes,
}

/// What the session id of a virtual server holds: all that is needed to go on without any memory of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VirtualSession {
    /// 16 random bytes in hex.
    pub(crate) id: String,
    pub(crate) revision: Revision,
    /// The client's capabilities, a JSON object.
    pub(crate) capabilities: Box<str>,
    /// The client's `clientInfo`, a JSON object.
    pub(crate) client_info: Box<str>,
}

impl Opaque {
    pub(crate) fn new(seal: Seal) -> Self {
        let (remembered, tasks) = (Cache::new(MAX_REMEMBERED), Cache::new(task::MAX_TASKS));
        Self { seal, remembered, tasks, hasher: RandomState::new() }
    }

    /// Wraps the session id a backend gave.
    pub(crate) fn wrap_session(&self, session: &DirectSession, path: &str, principal: &Principal) -> String {
        let plain = format!("{}\n{:x}\n{}", session.label, session.identity, session.session);
        self.seal.seal(plain.as_bytes(), &binding("session", path, principal))
    }

    /// Unwraps one. `None`: not made here, for another path, or for another caller.
    pub(crate) fn unwrap_session(
        &self,
        text: &str,
        path: &str,
        principal: &Principal,
    ) -> Option<Arc<Unwrapped>> {
        let remembered = self.remembered.get(text);
        if let Some(known) =
            remembered.filter(|known| is_binding(&known.bound_to, "session", path, principal))
        {
            return Some(known);
        }
        let bound_to = binding("session", path, principal);
        let session = DirectSession::from_text(&String::from_utf8(self.seal.open(text, &bound_to)?).ok()?)?;
        let number = self.hasher.hash_one((path, &session.label, &session.session));
        let unwrapped = Arc::new(Unwrapped::new(session, number, bound_to));
        if text.len() <= MAX_REMEMBERED_BYTES {
            self.remembered.insert(text.into(), unwrapped.clone());
        }
        Some(unwrapped)
    }

    /// Makes the id of a virtual server's session.
    pub(crate) fn mint_virtual(&self, session: &VirtualSession, path: &str, principal: &Principal) -> String {
        let sealed = self.seal.seal(session.to_text().as_bytes(), &binding("virtual", path, principal));
        format!("{VIRTUAL_PREFIX}{sealed}")
    }

    /// Reads one back. `None` as in [`Self::unwrap_session`].
    pub(crate) fn read_virtual(
        &self,
        text: &str,
        path: &str,
        principal: &Principal,
    ) -> Option<VirtualSession> {
        let sealed = text.strip_prefix(VIRTUAL_PREFIX)?;
        let plain = String::from_utf8(self.seal.open(sealed, &binding("virtual", path, principal))?).ok()?;
        VirtualSession::from_text(&plain)
    }

    /// Makes the `requestState` of a parked call.
    pub(crate) fn wrap_state(
        &self,
        name: &str,
        digest: u64,
        key: &VersionKey,
        principal: &Principal,
    ) -> String {
        let plain = format!("{name} {digest}");
        self.seal.seal(plain.as_bytes(), &binding("state", &state_path(key), principal))
    }

    /// Reads one back: the name of the parked call and the digest of what it asked.
    pub(crate) fn unwrap_state(
        &self,
        text: &str,
        key: &VersionKey,
        principal: &Principal,
    ) -> Option<(String, u64)> {
        let bound = binding("state", &state_path(key), principal);
        let plain = String::from_utf8(self.seal.open(text, &bound)?).ok()?;
        let (name, digest) = plain.split_once(' ')?;
        Some((name.into(), digest.parse().ok()?))
    }

    /// Seals what a backend gave, a raw JSON string, with the version that made it.
    pub(crate) fn lend(
        &self,
        purpose: &str,
        version: &VersionTarget,
        raw: &[u8],
        principal: &Principal,
    ) -> String {
        let mut plain = format!("{}\n{:x}\n", version.key.label, version.identity).into_bytes();
        plain.extend_from_slice(raw);
        self.seal.seal(&plain, &binding(purpose, version.key.path.as_str(), principal))
    }

    /// Opens it again. `None` as in [`Self::unwrap_session`], or where it was given for another purpose.
    pub(crate) fn returned(
        &self,
        purpose: &str,
        text: &str,
        path: &str,
        principal: &Principal,
    ) -> Option<Lent> {
        Lent::read(self.seal.open(text, &binding(purpose, path, principal))?.into())
    }

    /// Makes a cursor of ours into a list of `fingerprint`.
    pub(crate) fn cursor(
        &self,
        offset: usize,
        fingerprint: u64,
        path: &str,
        principal: &Principal,
    ) -> String {
        self.seal.seal(format!("{offset} {fingerprint}").as_bytes(), &binding("cursor", path, principal))
    }

    /// Reads one back; `None` also where the list has changed since.
    pub(crate) fn offset(
        &self,
        cursor: &str,
        fingerprint: u64,
        path: &str,
        principal: &Principal,
    ) -> Option<usize> {
        let plain = String::from_utf8(self.seal.open(cursor, &binding("cursor", path, principal))?).ok()?;
        let (offset, made_for) = plain.split_once(' ')?;
        (made_for.parse() == Ok(fingerprint)).then(|| offset.parse().ok())?
    }
}

/// Begins what stands for a session of our own; no session id of a backend holds it.
const OURS: char = '\n';

impl Unwrapped {
    pub(crate) fn new(session: DirectSession, number: u64, bound_to: Vec<u8>) -> Self {
        Self { header: HeaderValue::from_str(&session.session).ok(), session, number, bound_to }
    }
}

impl Lent {
    fn read(plain: Bytes) -> Option<Self> {
        let label = memchr::memchr(b'\n', &plain)?;
        let identity = label + 1 + memchr::memchr(b'\n', &plain[label + 1..])?;
        let text = |range: std::ops::Range<usize>| std::str::from_utf8(&plain[range]).ok();
        Some(Self {
            label: text(0..label)?.into(),
            identity: u64::from_str_radix(text(label + 1..identity)?, 16).ok()?,
            raw: plain.slice(identity + 1..),
        })
    }
}

impl DirectSession {
    fn from_text(text: &str) -> Option<Self> {
        let (label, rest) = text.split_once('\n')?;
        let (identity, session) = rest.split_once('\n')?;
        let identity = u64::from_str_radix(identity, 16).ok()?;
        Some(Self { label: label.into(), identity, session: session.into() })
    }

    /// Makes the session of a legacy client with a modern backend, which has none.
    pub(crate) fn ours(label: &str, identity: u64, session: &VirtualSession) -> Self {
        Self { label: label.into(), identity, session: format!("{OURS}{}", session.to_text()) }
    }

    /// Says whether there is no session at the backend behind it.
    pub(crate) fn is_ours(&self) -> bool {
        self.session.starts_with(OURS)
    }

    /// Reads what a session of our own holds.
    pub(crate) fn read_ours(&self) -> Option<VirtualSession> {
        VirtualSession::from_text(self.session.strip_prefix(OURS)?)
    }
}

impl VirtualSession {
    /// Writes it as the text that is sealed.
    pub(crate) fn to_text(&self) -> String {
        let Self { id, revision, capabilities, client_info } = self;
        format!("{id}\n{}\n{}\n{capabilities}{client_info}", revision.as_str(), capabilities.len())
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '\n');
        let (id, revision) = (parts.next()?, Revision::parse(parts.next()?)?);
        let length: usize = parts.next()?.parse().ok()?;
        let rest = parts.next()?;
        let (capabilities, client_info) = (rest.get(..length)?, rest.get(length..)?);
        Some(Self {
            id: id.into(),
            revision,
            capabilities: capabilities.into(),
            client_info: client_info.into(),
        })
    }
}

/// Keeps what a client said of itself short enough to travel in a header: where it is too long, an object
/// of only those members that MCP defines, without what is in them.
pub(crate) fn carried(json: &str, known: &[&str], fallback: &str) -> Box<str> {
    if json.len() <= MAX_CARRIED_BYTES {
        return json.into();
    }
    let mut kept = Vec::new();
    for name in known {
        if let Some(value) = mcp::message::member(json.as_bytes(), name) {
            let value = value.of(json.as_bytes());
            let short = if value.len() <= 128 { std::str::from_utf8(value).unwrap_or("{}") } else { "{}" };
            kept.push(format!("\"{name}\":{short}"));
        }
    }
    if kept.is_empty() { fallback.into() } else { format!("{{{}}}", kept.join(",")).into() }
}

fn state_path(key: &VersionKey) -> String {
    format!("{}:{}", key.path, key.label)
}

fn binding(kind: &str, path: &str, principal: &Principal) -> Vec<u8> {
    let mut bound = Vec::with_capacity(64 + path.len());
    for part in bound_parts(kind, path, principal) {
        bound.extend_from_slice(part.as_bytes());
        bound.push(0);
    }
    bound
}

/// Says whether `bound` is what [`binding`] makes.
fn is_binding(bound: &[u8], kind: &str, path: &str, principal: &Principal) -> bool {
    let mut parts = bound_parts(kind, path, principal).into_iter();
    let rest = parts.try_fold(bound, |rest, part| rest.strip_prefix(part.as_bytes())?.strip_prefix(b"\0"));
    rest.is_some_and(<[u8]>::is_empty)
}

fn bound_parts<'a>(kind: &'a str, path: &'a str, principal: &'a Principal) -> [&'a str; 5] {
    // A token issued to the subject "anonymous" is not the anonymous caller.
    let credential = if principal.token.is_some() { "own" } else { "" };
    [kind, path, &principal.subject, &principal.issuer, credential]
}

#[cfg(test)]
mod tests;
