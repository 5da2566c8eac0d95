//! What a browser carries for us, sealed so that only we can read or change it: its session, and a sign-in under way.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use catalog::token::TokenId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::keys::{RootKey, fill_random, hex};
use crate::outside::Flow;
use crate::seal::Seal;

/// What sessions are bound to, so that no other sealed text passes for one.
const SESSION: &[u8] = b"session";
/// What sign-ins under way are bound to.
const FLOW: &[u8] = b"flow";
/// Longest cookie that is looked at; browsers keep none beyond 4 KiB.
const MAX_BYTES: usize = 4096;

/// Seals and opens cookies.
pub struct Cookies(Seal);

/// A browser's session. It says which record to look at; whom it stands for, and until when, is in there.
#[derive(Clone, Serialize, Deserialize)]
pub struct Session {
    /// The id of its record.
    pub id: TokenId,
    /// Who vouched for the person; empty for ourselves.
    pub issuer: String,
    /// The token of ours that was shown to sign in, where one was: the session ends with it.
    pub token: Option<TokenId>,
    /// What a page of ours sends along with each write. No page of others can read it.
    pub proof: String,
}

impl Session {
    /// Begins a session with an id that was never used.
    pub fn new(issuer: &str, token: Option<TokenId>) -> Self {
        let id = format!("session-{}", random()).into();
        Self { id, issuer: issuer.into(), token, proof: random() }
    }

    /// Says whether a request shows the session's proof. Takes the same time wherever the two differ.
    pub fn is_proved_by(&self, shown: &str) -> bool {
        verify_slices_are_equal(self.proof.as_bytes(), shown.as_bytes()).is_ok()
    }
}

impl Cookies {
    /// Derives the key of an installation's cookies.
    pub fn new(root: &RootKey) -> Self {
        Self(Seal::new(root, "cookies"))
    }

    /// Seals a session.
    pub fn seal_session(&self, session: &Session) -> String {
        self.seal(session, SESSION)
    }

    /// Opens a session; `None` where it is not ours as we made it.
    pub fn open_session(&self, cookie: &str) -> Option<Session> {
        self.open(cookie, SESSION)
    }

    /// Seals a sign-in under way.
    pub fn seal_flow(&self, flow: &Flow) -> String {
        self.seal(flow, FLOW)
    }

    /// Opens a sign-in under way; `None` where it is not ours as we made it.
    pub fn open_flow(&self, cookie: &str) -> Option<Flow> {
        self.open(cookie, FLOW)
    }

    fn seal(&self, value: &impl Serialize, bound_to: &[u8]) -> String {
        let plain = serde_json::to_vec(value).expect("structs of texts can be written");
        self.0.seal(&plain, bound_to)
    }

    fn open<T: DeserializeOwned>(&self, cookie: &str, bound_to: &[u8]) -> Option<T> {
        let plain = (cookie.len() <= MAX_BYTES).then(|| self.0.open(cookie, bound_to))??;
        serde_json::from_slice(&plain).ok()
    }
}

/// Draws 256 bits, in hexadecimal.
pub(crate) fn random() -> String {
    let mut bytes = [0; 32];
    fill_random(&mut bytes);
    hex(&bytes)
}

#[cfg(test)]
mod tests;
