//! What a browser carries: on the way from the page to us, and to the authorization server and back.

use auth::{Issuer, Seal};
use catalog::connection::User;
use catalog::time::Timestamp;
use http::{HeaderMap, HeaderValue, header};
use serde::{Deserialize, Serialize};

use crate::api::base::Base;

/// How long a user may take, in seconds.
const WITHIN_SECONDS: i64 = 600;
/// Cookie of the page: only forms of the page come with it.
const FORM_COOKIE: &str = "switchyard_form";
/// Cookie of the way to the authorization server and back.
const PASSAGE_COOKIE: &str = "switchyard_connect";

/// The page as one browser was shown it.
#[derive(Serialize, Deserialize)]
pub(super) struct Form {
    nonce: String,
    ends_at: i64,
}

/// One way to the authorization server and back. Travels sealed, as the `state`.
#[derive(Serialize, Deserialize)]
pub(super) struct Passage {
    pub(super) server: String,
    pub(super) version: String,
    issuer: String,
    subject: String,
    #[serde(skip, default = "nobody")]
    pub(super) user: User,
    /// The secret half of PKCE.
    pub(super) verifier: String,
    nonce: String,
    ends_at: i64,
}

impl Form {
    pub(super) fn begin() -> Self {
        Self { nonce: secret(), ends_at: end() }
    }

    pub(super) fn seal(&self, seal: &Seal) -> String {
        sealed(self, seal, b"form")
    }

    pub(super) fn cookie(&self, base: &Base) -> HeaderValue {
        cookie(FORM_COOKIE, &self.nonce, "Strict", base)
    }

    /// Says whether a form came from a page that this browser was shown.
    pub(super) fn came_with(headers: &HeaderMap, text: &str, seal: &Seal) -> bool {
        opened::<Self>(text, seal, b"form")
            .is_some_and(|form| form.ends_at > now() && has_cookie(headers, FORM_COOKIE, &form.nonce))
    }
}

impl Passage {
    pub(super) fn begin(server: &catalog::name::ServerPath, version: &str, user: User) -> Self {
        Self {
            server: server.to_string(),
            version: version.into(),
            issuer: user.issuer.to_string(),
            subject: user.subject.to_string(),
            user,
            // 43 characters at least (RFC 7636, section 4.1).
            verifier: format!("{}{}", secret(), secret()),
            nonce: secret(),
            ends_at: end(),
        }
    }

    pub(super) fn seal(&self, seal: &Seal) -> String {
        sealed(self, seal, b"passage")
    }

    pub(super) fn cookie(&self, base: &Base) -> HeaderValue {
        // Lax: the browser comes from another site.
        cookie(PASSAGE_COOKIE, &self.nonce, "Lax", base)
    }

    /// Returns the cookie that ends the passage.
    pub(super) fn no_cookie(base: &Base) -> HeaderValue {
        cookie(PASSAGE_COOKIE, "; Max-Age=0", "Lax", base)
    }

    /// Opens a state, if it is of this browser and not too old.
    pub(super) fn open(headers: &HeaderMap, text: &str, seal: &Seal) -> Option<Self> {
        let mut passage = opened::<Self>(text, seal, b"passage")?;
        passage.user =
            User { issuer: passage.issuer.as_str().into(), subject: passage.subject.as_str().into() };
        let is_good = passage.ends_at > now() && has_cookie(headers, PASSAGE_COOKIE, &passage.nonce);
        is_good.then_some(passage)
    }
}

fn nobody() -> User {
    User { issuer: "".into(), subject: "".into() }
}

/// Draws 128 random bits in hexadecimal.
fn secret() -> String {
    Issuer::new_id().to_string()
}

fn now() -> i64 {
    Timestamp::now().as_seconds()
}

fn end() -> i64 {
    now() + WITHIN_SECONDS
}

fn sealed(value: &impl Serialize, seal: &Seal, kind: &[u8]) -> String {
    seal.seal(&serde_json::to_vec(value).expect("texts and numbers are JSON"), kind)
}

fn opened<T: for<'de> Deserialize<'de>>(text: &str, seal: &Seal, kind: &[u8]) -> Option<T> {
    serde_json::from_slice(&seal.open(text, kind)?).ok()
}

fn cookie(name: &str, value: &str, same_site: &str, base: &Base) -> HeaderValue {
    let secure = if base.is_https() { "; Secure" } else { "" };
    let path = base.path();
    let text = format!("{name}={value}; Path={path}/api/connect; HttpOnly; SameSite={same_site}{secure}");
    HeaderValue::from_str(&text).expect("hexadecimal digits and a path")
}

fn has_cookie(headers: &HeaderMap, name: &str, expected: &str) -> bool {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.any(|(known, value)| known == name && value == expected)
}
