//! What an issued token is allowed and until when. The token itself is never kept.

use std::sync::Arc;

use crate::scope::Scope;
use crate::time::Timestamp;

/// Id of an issued token, the `jti` of its claims.
pub type TokenId = Arc<str>;

/// Longest life of an issued token, in seconds: ten years.
pub const MAX_LIFE_SECONDS: i64 = 10 * 366 * 24 * 3600;

/// The record of a token we issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedToken {
    /// Its id.
    pub id: TokenId,
    /// Who presents it.
    pub subject: String,
    /// Who vouches for the subject, where it was made by a caller of an identity provider for themselves.
    pub subject_issuer: Option<String>,
    /// What it is for.
    pub description: String,
    /// Groups it names.
    pub groups: Vec<String>,
    /// Scopes it carries itself.
    pub scopes: Vec<Scope>,
    /// Whether it is an administrator's.
    pub is_admin: bool,
    /// The one endpoint path it is good for, where it is bound.
    pub resource: Option<String>,
    /// Who had it made.
    pub created_by: String,
    /// The token it was made with, by a caller who is no administrator; it is revoked with that one.
    pub made_with: Option<TokenId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl IssuedToken {
    /// Says whether it would still be let in.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && now < self.expires_at
    }
}

#[cfg(test)]
mod tests;
