//! What one request works with: the parts all threads share, and this thread's own connections.

use std::sync::Arc;

use auth::Issuer;
use backend::Backends;
use bytes::Bytes;
use catalog::access::Principal;
use catalog::endpoint::Era;
use http::HeaderMap;
use mcp::era::negotiate;
use mcp::headers::Accepts;
use mcp::message::{Outline, text};
use routing::Table;

use crate::error::Error;
use crate::opaque::{VirtualSession, carried};
use crate::shared::Shared;

/// The data plane as one thread has it.
#[derive(Clone)]
pub(crate) struct Plane {
    pub(crate) shared: Arc<Shared>,
    pub(crate) backends: Arc<Backends>,
}

/// One message a client posted, read and let in.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) plane: Plane,
    /// The snapshot this request lives by.
    pub(crate) table: Arc<Table>,
    pub(crate) principal: Arc<Principal>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) outline: Outline,
    pub(crate) front: Front,
    pub(crate) accepts: Accepts,
}

/// The era of the client's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    /// 2024-11-05 to 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

impl Front {
    /// Returns the era as the catalog names it.
    pub(crate) fn era(self) -> Era {
        match self {
            Self::Legacy => Era::Legacy,
            Self::Modern => Era::Modern,
        }
    }
}

impl Call {
    /// Returns the raw id, for the answer.
    pub(crate) fn id(&self) -> Option<&[u8]> {
        self.outline.id.map(|id| id.of(&self.body))
    }

    /// Returns a member of `params` that the outline does not know, as raw JSON.
    pub(crate) fn param(&self, name: &str) -> Option<&[u8]> {
        let params = self.outline.params?.of(&self.body);
        mcp::message::member(params, name).map(|span| span.of(params))
    }

    /// Names a method that is not served here.
    pub(crate) fn unknown_method(&self) -> Error {
        let name = self.outline.method_name.and_then(|span| text(span.of(&self.body)));
        Error::UnknownMethod(name.unwrap_or_default().into_owned())
    }

    /// Agrees on a revision with a legacy client, and notes what it said of itself in `initialize`.
    pub(crate) fn client_session(&self) -> Result<VirtualSession, Error> {
        let asked = self.param("protocolVersion").and_then(text);
        let asked = asked.ok_or_else(|| Error::InvalidParams("params.protocolVersion is missing".into()))?;
        let object = |name| self.param(name).filter(|raw| raw.starts_with(b"{"));
        let object = |name| object(name).and_then(|raw| std::str::from_utf8(raw).ok());
        let capabilities = object("capabilities").unwrap_or("{}");
        let client_info = object("clientInfo").unwrap_or(NAMELESS);
        Ok(VirtualSession {
            id: Issuer::new_id().to_string(),
            revision: negotiate(&asked),
            capabilities: carried(capabilities, &["roots", "sampling", "elicitation"], "{}"),
            client_info: carried(client_info, &["name", "version", "title"], NAMELESS),
        })
    }
}

/// A client that does not say its name.
pub(crate) const NAMELESS: &str = r#"{"name":"unknown","version":"0"}"#;
