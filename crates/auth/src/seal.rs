//! Sealed text: what we hand out or store so that only we can read or change it.

use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::keys::RootKey;

/// Seals bytes for one purpose (AES-256-GCM). A copy shares the keys: the first seals, all of them open.
///
/// A random nonce of 96 bits is drawn each time, which is safe for about four thousand million seals of a key.
#[derive(Clone)]
pub struct Seal(Arc<[RandomizedNonceKey]>);

impl Seal {
    /// Makes the seal of a purpose; what another purpose sealed stays closed.
    pub fn new(root: &RootKey, purpose: &'static str) -> Self {
        let key = |root: RootKey| {
            let key = root.derive(&format!("seal: {purpose}"));
            RandomizedNonceKey::new(&AES_256_GCM, &key).expect("AES-256 takes 32 bytes")
        };
        Self(root.each().map(key).collect())
    }

    /// Seals bytes so that they open only together with `bound_to`, which is not in the text.
    ///
    /// Shape: nonce (12 bytes), ciphertext, tag (16 bytes), in base64url without padding.
    pub fn seal(&self, plain: &[u8], bound_to: &[u8]) -> String {
        let mut hidden = plain.to_vec();
        let nonce = self.0[0].seal_in_place_append_tag(Aad::from(bound_to), &mut hidden);
        let nonce = nonce.expect("AES-256-GCM seals what fits in memory");
        let mut sealed = Vec::with_capacity(NONCE_LEN + hidden.len());
        sealed.extend_from_slice(nonce.as_ref());
        sealed.append(&mut hidden);
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// Opens sealed text. `None` where it was altered, spelt differently, bound to something else, or not ours.
    pub fn open(&self, text: &str, bound_to: &[u8]) -> Option<Vec<u8>> {
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        self.0.iter().find_map(|key| open_with(key, sealed.clone(), bound_to))
    }

    /// Says whether the key in use opens a text, so that it need not be sealed anew.
    pub fn is_current(&self, text: &str, bound_to: &[u8]) -> bool {
        let sealed = URL_SAFE_NO_PAD.decode(text).ok();
        sealed.is_some_and(|sealed| open_with(&self.0[0], sealed, bound_to).is_some())
    }
}

fn open_with(key: &RandomizedNonceKey, mut sealed: Vec<u8>, bound_to: &[u8]) -> Option<Vec<u8>> {
    let (nonce, hidden) = sealed.split_at_mut_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let length = key.open_in_place(nonce, Aad::from(bound_to), hidden).ok()?.len();
    sealed.truncate(NONCE_LEN + length);
    sealed.drain(..NONCE_LEN);
    Some(sealed)
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal(secret)")
    }
}

#[cfg(test)]
mod tests;
