//! Credentials of backends are kept under the root key: `store::record::Sealer` on `auth::Seal`.

/// Seals what the store must not hold in plain text.
pub(crate) struct Sealing(auth::Seal);

/// What the sealed text is bound to, so that no other sealed text of ours passes for a credential.
const BOUND_TO: &[u8] = b"backend credential";

impl Sealing {
    /// Derives the key for credentials from the root key.
    pub(crate) fn new(root: &auth::RootKey) -> Self {
        Self(auth::Seal::new(root, "store credentials"))
    }
}

impl store::record::Sealer for Sealing {
    fn seal(&self, plain: &str) -> String {
        self.0.seal(plain.as_bytes(), BOUND_TO)
    }

    fn is_current(&self, sealed: &str) -> bool {
        self.0.is_current(sealed, BOUND_TO)
    }

    fn open(&self, sealed: &str) -> Option<String> {
        self.0.open(sealed, BOUND_TO).and_then(|plain| String::from_utf8(plain).ok())
    }
}
