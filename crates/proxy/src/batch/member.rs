//! One message of a batch, and what the messages of a batch must not be to each other.

use bytes::Bytes;
use mcp::message::{Kind, Outline};
use mcp::method::Method;

use crate::error::Error;
use crate::relay::id;

/// One message of a batch.
pub(super) struct Member {
    pub(super) body: Bytes,
    pub(super) role: Role,
}

/// What a message is to the others.
pub(super) enum Role {
    /// Gets an answer.
    Request { id: Bytes, is_initialize: bool },
    /// Gets none: a notification, or an answer of the client.
    OneWay,
    /// No message at all, which is said in its place.
    Invalid,
}

impl Member {
    pub(super) fn read(body: Bytes) -> Self {
        let role = match Outline::read(&body) {
            Ok(Outline { kind: Kind::Request, id: Some(id), method, .. }) => {
                Role::Request { id: body.slice(id.range()), is_initialize: method == Method::Initialize }
            }
            Ok(_) => Role::OneWay,
            Err(_) => Role::Invalid,
        };
        Self { body, role }
    }

    /// Returns the raw id of a request.
    pub(super) fn id(&self) -> Option<&Bytes> {
        match &self.role {
            Role::Request { id, .. } => Some(id),
            Role::OneWay | Role::Invalid => None,
        }
    }

    pub(super) fn is_one_way(&self) -> bool {
        matches!(self.role, Role::OneWay)
    }
}

/// Refuses a batch as a whole, before anything of it runs.
///
/// Source: MCP 2025-03-26, basic/lifecycle: `initialize` is never part of a batch, since nothing else may be sent
/// before it is answered. Ids are unique within a session (basic, requests); in a batch nobody could tell the
/// answers apart.
pub(super) fn check(members: &[Member]) -> Result<(), Error> {
    if members.iter().any(|member| matches!(member.role, Role::Request { is_initialize: true, .. })) {
        return Err(Error::InvalidRequest("initialize is sent by itself, not in a batch".into()));
    }
    let ids: Vec<_> = members.iter().filter_map(Member::id).collect();
    let is_repeated = |(index, one): (usize, &&Bytes)| ids[..index].iter().any(|id| id::is_same(id, one));
    if ids.iter().enumerate().any(is_repeated) {
        return Err(Error::InvalidRequest("two requests of the batch have the same id".into()));
    }
    Ok(())
}
