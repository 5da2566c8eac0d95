//! What a user allowed the gateway to do for them at a backend.

use std::sync::Arc;

use crate::access::Principal;
use crate::endpoint::Secret;
use crate::name::ServerPath;
use crate::time::Timestamp;

/// Most connections kept; each is some kilobytes.
pub const MAX_CONNECTIONS: usize = 20_000;

/// Somebody with a token: who they are, and who says so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct User {
    /// Who vouches for them; empty where we do.
    pub issuer: Arc<str>,
    /// Unique within `issuer`.
    pub subject: Arc<str>,
}

/// Whose connection it is, and with which server. There is one at most.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionKey {
    /// The server.
    pub server: ServerPath,
    /// The user.
    pub user: User,
}

/// What a user allowed the gateway to do for them at a server, and the tokens for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Whose it is.
    pub key: ConnectionKey,
    /// Names it. Drawn anew whenever the user allows it anew.
    pub id: Arc<str>,
    /// Tells for which backend and authorization server it was allowed, in hexadecimal: its tokens are sent nowhere else.
    pub place: String,
    /// Where its tokens were had, and are renewed.
    pub token_url: String,
    /// The scopes that were granted, as far as they are known, with blanks between.
    pub scope: String,
    /// What is sent to the backend.
    pub access_token: Secret,
    /// When that ends.
    pub expires_at: Timestamp,
    /// What another one is had for.
    pub refresh_token: Option<Secret>,
    /// When the user allowed it.
    pub created_at: Timestamp,
    /// When its tokens were last renewed.
    pub updated_at: Timestamp,
}

impl User {
    /// Returns who calls.
    pub fn of(principal: &Principal) -> Self {
        Self { issuer: principal.issuer.clone(), subject: principal.subject.clone() }
    }
}
