//! Sessions with legacy backends that we keep for modern clients, who have none of their own.
//!
//! One serves all calls of a caller that can do the same things; nothing crosses between callers. A caller
//! without a name gets a session for each request.

use std::sync::Arc;

use auth::Issuer;
use mcp::era::Revision;
use mcp::message::{Meta, quote};
use routing::version::VersionTarget;

use crate::opaque::VirtualSession;
use crate::plane::{Call, NAMELESS};
use crate::relay::LEVELS;
use crate::sessions::ClientSession;

/// Finds or makes the session that serves a modern call.
pub(crate) fn session_for(
    call: &Call,
    version: &Arc<VersionTarget>,
    log_level: Option<usize>,
) -> Arc<ClientSession> {
    let meta = call.outline.meta.map(|span| span.of(&call.body)).unwrap_or_default();
    let read = Meta::read(meta);
    let raw =
        |span: Option<mcp::message::Span>| span.and_then(|span| std::str::from_utf8(span.of(meta)).ok());
    let capabilities = raw(read.client_capabilities).unwrap_or("{}");
    let client_info = raw(read.client_info).unwrap_or(NAMELESS);
    let level = log_level.map(|level| LEVELS[level]).unwrap_or_default();
    let principal = &call.principal;
    let is_nameless = principal.token.is_none() && principal.issuer.is_empty();
    // The client's own words stand last, so that they cannot pass for anything else.
    let key = format!("kept\n{}\n{}\n{level}\n{capabilities}", version.key.path, version.key.label);
    let sessions = &call.plane.shared.sessions;
    let token = format!("{}\n{}\n{key}", quote(&principal.issuer), quote(&principal.subject));
    if let Some(session) = sessions.find(&token, &key, principal).filter(|_| !is_nameless) {
        return session;
    }
    let sealed = VirtualSession {
        id: Issuer::new_id().to_string(),
        revision: Revision::LATEST_LEGACY,
        capabilities: capabilities.into(),
        client_info: client_info.into(),
    };
    let keeper = call.plane.backends.clone();
    let session = if is_nameless {
        sessions.apart(sealed, &key, principal, keeper)
    } else {
        sessions.enter_kept(&token, sealed, &key, principal, keeper)
    };
    if log_level.is_some() {
        session.state().log_level = Some(format!("\"{level}\""));
    }
    session
}
