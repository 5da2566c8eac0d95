//! The public keys of a provider (RFC 7517).

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// Most keys of a provider that are looked at; the largest have some ten.
const MAX_KEYS: usize = 100;

/// The keys of a provider that sign tokens.
#[derive(Default)]
pub(super) struct KeySet {
    keys: Vec<Key>,
}

/// One key.
pub(super) struct Key {
    source: Jwk,
    algorithms: Vec<Algorithm>,
    pub(super) key: DecodingKey,
}

impl KeySet {
    /// Reads a set; keys that are not for signing, or that we cannot use, are left out. Fails where it is no set.
    pub(super) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Value>,
        }
        let document: Document = serde_json::from_slice(body)?;
        let jwks =
            document.keys.into_iter().take(MAX_KEYS).filter_map(|key| serde_json::from_value(key).ok());
        Ok(Self { keys: jwks.filter_map(Key::new).collect() })
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the keys a token may be signed with: the one it names, or each that fits where it names none.
    pub(super) fn fitting(&self, id: Option<&str>, algorithm: Algorithm) -> impl Iterator<Item = &Key> {
        let is_meant = move |key: &&Key| id.is_none() || key.source.common.key_id.as_deref() == id;
        self.keys.iter().filter(is_meant).filter(move |key| key.algorithms.contains(&algorithm))
    }

    /// Says whether a key of this set is gone from a later one.
    pub(super) fn lost_any(&self, later: &Self) -> bool {
        self.keys.iter().any(|key| !later.keys.iter().any(|other| other.source == key.source))
    }
}

impl Key {
    fn new(source: Jwk) -> Option<Self> {
        let common = &source.common;
        let signs = common.public_key_use.as_ref().is_none_or(|of| *of == PublicKeyUse::Signature);
        let verifies = common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
        if !signs || !verifies {
            return None;
        }
        use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
        let mut algorithms = match &source.algorithm {
            AlgorithmParameters::RSA(_) => vec![RS256, RS384, RS512, PS256, PS384, PS512],
            AlgorithmParameters::EllipticCurve(curve) => match curve.curve {
                EllipticCurve::P256 => vec![ES256],
                EllipticCurve::P384 => vec![ES384],
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => vec![EdDSA],
            // A shared secret that is published is none.
            _ => return None,
        };
        if let Some(named) = common.key_algorithm {
            algorithms.retain(|algorithm| jsonwebtoken::jwk::KeyAlgorithm::from(*algorithm) == named);
        }
        let key = DecodingKey::from_jwk(&source).ok().filter(|_| !algorithms.is_empty())?;
        Some(Self { source, algorithms, key })
    }
}
