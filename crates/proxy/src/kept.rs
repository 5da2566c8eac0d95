//! Sessions with legacy backends that we keep for modern clients, who have none of their own.
//!
//! One serves all calls of a caller that can do the same things; nothing crosses between callers. A caller
//! without a name gets a session for each request. Calls that the backend may ask something in have a session to
//! themselves while they run, so that each question has one owner.

use std::sync::Arc;

use auth::Issuer;
use catalog::VersionKey;
use mcp::era::Revision;
use mcp::message::{Meta, member, quote};
use mcp::method::Method;
use routing::version::VersionTarget;

use crate::opaque::VirtualSession;
use crate::plane::{Call, NAMELESS};
use crate::relay::LEVELS;
use crate::sessions::{ClientSession, Questions};

pub(crate) mod stream;

/// How many sessions one caller keeps for calls that run at once; those beyond get one that ends with them.
const MOST_KEPT: usize = 32;

/// A session for a call.
pub(crate) struct Kept {
    pub(crate) session: Arc<ClientSession>,
    /// What is asked beside the stream of the call, where the backend may ask.
    pub(crate) questions: Option<Questions>,
}

/// Finds or makes the session that serves a modern call.
pub(crate) fn session_for(call: &Call, version: &Arc<VersionTarget>, log_level: Option<usize>) -> Kept {
    let meta = call.outline.meta.map(|span| span.of(&call.body)).unwrap_or_default();
    let read = Meta::read(meta);
    let raw =
        |span: Option<mcp::message::Span>| span.and_then(|span| std::str::from_utf8(span.of(meta)).ok());
    let capabilities = raw(read.client_capabilities).unwrap_or("{}");
    let client_info = raw(read.client_info).unwrap_or(NAMELESS);
    let level = log_level.map(|level| LEVELS[level]).unwrap_or_default();
    let principal = &call.principal;
    let is_nameless = principal.is_nameless();
    // The client's own words stand last, so that they cannot pass for anything else.
    let VersionKey { path, label: version_label } = &version.key;
    let key = format!("kept\n{path}\n{version_label}\n{:x}\n{level}\n{capabilities}", version.identity);
    let sessions = &call.plane.shared.sessions;
    let made = || VirtualSession {
        id: Issuer::new_id().to_string(),
        revision: Revision::LATEST_LEGACY,
        capabilities: capabilities.into(),
        client_info: client_info.into(),
    };
    let keeper = || call.plane.backends.clone();
    let with_level = |session: Arc<ClientSession>| {
        if log_level.is_some() {
            session.state().log_level = Some(format!("\"{level}\""));
        }
        session
    };
    let kept = |number: usize| {
        let token = format!("{number}\n{}\n{}\n{key}", quote(&principal.issuer), quote(&principal.subject));
        let known = sessions.find(&token, &key, principal).filter(|known| {
            let is_retired = known.state().is_retired;
            if is_retired {
                sessions.forget(&token, known);
            }
            !is_retired
        });
        known.unwrap_or_else(|| with_level(sessions.enter_kept(&token, made(), &key, principal, keeper())))
    };
    let may_be_asked = may_ask(call.outline.method, capabilities);
    if !is_nameless && !may_be_asked {
        return Kept { session: kept(0), questions: None };
    }
    let numbers = if is_nameless { 0..0 } else { 0..MOST_KEPT };
    for session in numbers.map(kept) {
        if let Some(questions) = session.reserve() {
            return Kept { session, questions: Some(questions) };
        }
    }
    let session = with_level(sessions.apart(made(), &key, principal, keeper()));
    let questions = may_be_asked.then(|| session.reserve()).flatten();
    Kept { session, questions }
}

/// Says whether a backend may ask something while it answers.
fn may_ask(method: Method, capabilities: &str) -> bool {
    let is_asking = matches!(method, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead);
    let can = |name| member(capabilities.as_bytes(), name).is_some();
    is_asking && ["elicitation", "sampling", "roots"].into_iter().any(can)
}
