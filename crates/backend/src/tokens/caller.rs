//! On whose behalf a request is sent, for backends that want a token of the caller.

use std::sync::Arc;

use catalog::connection::User;
use catalog::endpoint::Secret;

use super::digest::{self, Digest};

/// A caller, who is known to be who they say. A copy shares what it holds.
#[derive(Clone)]
pub struct Caller(Arc<Inner>);

struct Inner {
    user: User,
    token: Secret,
    digest: Digest,
}

impl Caller {
    /// Takes who the caller is, and the token they came with. That goes to authorization servers only, never to a backend.
    pub fn new(user: User, token: &str) -> Self {
        let digest = digest::of(&["token", token]);
        Self(Arc::new(Inner { user, token: Secret::new(token), digest }))
    }

    pub(super) fn token(&self) -> &str {
        self.0.token.reveal()
    }

    pub(super) fn user(&self) -> &User {
        &self.0.user
    }

    pub(super) fn digest(&self) -> Digest {
        self.0.digest
    }
}
