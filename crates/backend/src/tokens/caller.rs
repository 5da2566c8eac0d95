//! On whose behalf a request is sent, for backends that want a token of the caller.

use std::sync::Arc;

use catalog::endpoint::Secret;

use super::digest::{self, Digest};

/// A caller, who is known to be who they say. A copy shares what it holds.
#[derive(Clone)]
pub struct Caller(Arc<Inner>);

struct Inner {
    token: Secret,
    digest: Digest,
}

impl Caller {
    /// Takes the token that the caller came with. It goes to authorization servers only, never to a backend.
    pub fn new(token: &str) -> Self {
        let digest = digest::of(&["token", token]);
        Self(Arc::new(Inner { token: Secret::new(token), digest }))
    }

    pub(super) fn token(&self) -> &str {
        self.0.token.reveal()
    }

    pub(super) fn digest(&self) -> Digest {
        self.0.digest
    }
}
