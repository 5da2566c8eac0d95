//! What one request works with: the parts all threads share, and this thread's own connections.

use std::sync::Arc;

use backend::Backends;
use bytes::Bytes;
use catalog::access::Principal;
use http::HeaderMap;
use mcp::headers::Accepts;
use mcp::message::Outline;
use routing::Table;

use crate::shared::Shared;

/// The data plane as one thread has it.
#[derive(Clone)]
pub(crate) struct Plane {
    pub(crate) shared: Arc<Shared>,
    pub(crate) backends: Arc<Backends>,
}

/// One message a client posted, read and let in.
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
}
