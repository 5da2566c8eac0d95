//! Which version of a server answers (design: the table of `X-MCP-Server-Version`).

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use mcp::headers::{SERVER_VERSION, VERSION_ROUTING, Wanted, wanted_version};
use routing::target::ServerTarget;
use routing::version::VersionTarget;

use crate::error::Error;
use crate::opaque::Unwrapped;

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");
const ENABLED: HeaderValue = HeaderValue::from_static("enabled");
const FALLBACK: HeaderValue = HeaderValue::from_static("fallback");

/// The version that answers a request, and how it came to be.
pub(crate) struct Choice {
    pub(crate) version: Arc<VersionTarget>,
    /// Whether an unknown label was asked for.
    pub(crate) is_fallback: bool,
    /// Whether answers say which version they come from.
    pub(crate) is_said: bool,
    /// The backend's session, where the request is part of one.
    pub(crate) session: Option<Arc<Unwrapped>>,
}

/// Chooses by the header alone.
pub(crate) fn choose(headers: &HeaderMap, server: &ServerTarget, strict: bool) -> Result<Choice, Error> {
    let (version, is_fallback) = match wanted_version(headers) {
        Wanted::Ambiguous => return Err(Error::Ambiguous { header: "X-MCP-Server-Version" }),
        Wanted::Unsaid | Wanted::Latest => (server.active(), false),
        Wanted::Label(label) => match server.version(label) {
            Some(version) => (version, false),
            None if strict => {
                let known = server.labels().collect::<Vec<_>>().join(", ");
                return Err(Error::NoSuchVersion {
                    path: server.path.to_string(),
                    asked: label.into(),
                    known,
                });
            }
            None => (server.active(), true),
        },
    };
    Ok(Choice { version: version.clone(), is_fallback, is_said: server.has_versions(), session: None })
}

/// Stays with a session's version. Only a known label that differs is refused.
pub(crate) fn of_session(
    headers: &HeaderMap,
    server: &ServerTarget,
    unwrapped: Arc<Unwrapped>,
) -> Result<Choice, Error> {
    let session = &unwrapped.session;
    // A version that was removed takes its sessions with it, also from one that comes after it.
    let version = server.version(&session.label).filter(|version| version.identity == session.identity);
    let version = version.ok_or(Error::SessionUnknown)?;
    let is_fallback = match wanted_version(headers) {
        Wanted::Ambiguous => return Err(Error::Ambiguous { header: "X-MCP-Server-Version" }),
        Wanted::Unsaid | Wanted::Latest => false,
        Wanted::Label(label) if label == session.label => false,
        Wanted::Label(label) if server.version(label).is_some() => {
            return Err(Error::SessionVersion { of_session: session.label.clone(), asked: label.into() });
        }
        Wanted::Label(_) => true,
    };
    Ok(Choice {
        version: version.clone(),
        is_fallback,
        is_said: server.has_versions(),
        session: Some(unwrapped),
    })
}

impl Choice {
    /// Goes to the version that made what the request shows again.
    pub(crate) fn belongs_to(&mut self, version: Arc<VersionTarget>) {
        self.is_fallback &= self.version.identity == version.identity && self.version.key == version.key;
        self.version = version;
    }

    /// Says in an answer's head which version it comes from, and that it goes away.
    pub(crate) fn dress(&self, headers: &mut HeaderMap) {
        if self.is_said {
            headers.insert(VERSION_ROUTING, if self.is_fallback { FALLBACK } else { ENABLED });
            headers.insert(SERVER_VERSION, self.version.label_header.clone());
        }
        if let Some(since) = &self.version.deprecation {
            headers.insert(DEPRECATION, since.clone());
        }
        if let Some(date) = &self.version.sunset {
            headers.insert(SUNSET, date.clone());
        }
    }
}

#[cfg(test)]
mod tests;
