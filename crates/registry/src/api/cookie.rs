//! Cookies on the wire: their names, how they are set and read, and what a write by cookie must show besides.
//!
//! A browser sends cookies along whoever had it send the request. So a write needs two more things that pages of others
//! cannot have: it comes from our own origin, as the browser itself says, and shows the session's proof.

use http::header::{COOKIE, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use url::Url;

use super::error::Problem;
use crate::Settings;
use crate::sessions::Open;

/// The header in which a page of ours shows the proof of `GET /api/me`.
pub(crate) const PROOF: &str = "x-csrf-token";

/// One of our cookies.
#[derive(Clone, Copy)]
pub(crate) enum Name {
    /// Holds a session.
    Session,
    /// Holds a sign-in under way.
    Flow,
}

impl Name {
    /// Over TLS the browser itself sees to it that no other host, and nothing without TLS, has set it.
    fn full(self, settings: &Settings) -> String {
        let name = match self {
            Self::Session => "switchyard-session",
            Self::Flow => "switchyard-sign-in",
        };
        if is_secure(settings) { format!("__Host-{name}") } else { name.into() }
    }

    /// Makes the value of `Set-Cookie`; no seconds take it away.
    pub(crate) fn set(self, settings: &Settings, value: &str, seconds: i64) -> HeaderValue {
        let secure = if is_secure(settings) { "; Secure" } else { "" };
        let name = self.full(settings);
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
        HeaderValue::try_from(text).expect("names and sealed texts are ASCII")
    }

    /// Returns what a request carries under this name, each where there are several.
    pub(crate) fn read<'a>(
        self,
        settings: &Settings,
        headers: &'a HeaderMap,
    ) -> impl Iterator<Item = &'a str> {
        let name = self.full(settings);
        let all = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(move |(one, _)| *one == name)
            .map(|(_, value)| value)
    }
}

fn is_secure(settings: &Settings) -> bool {
    settings.public_url.as_ref().is_some_and(|url| url.starts_with("https://"))
}

/// Checks a request that came with a session's cookie, if it writes.
pub(crate) fn check(
    method: &Method,
    headers: &HeaderMap,
    open: &Open,
    settings: &Settings,
) -> Result<(), Problem> {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    check_origin(headers, settings)?;
    let shown = headers.get(PROOF).and_then(|value| value.to_str().ok()).unwrap_or_default();
    check_proof(shown, open)
}

/// Checks that a request shows the session's proof.
pub(crate) fn check_proof(shown: &str, open: &Open) -> Result<(), Problem> {
    if open.session.is_proved_by(shown) {
        return Ok(());
    }
    let detail = "a write by cookie needs the header X-CSRF-Token with the csrf_token of GET /api/me";
    Err(Problem::new(StatusCode::FORBIDDEN, detail))
}

/// Checks that a page of ours, and nobody else's, had the browser send this.
pub(crate) fn check_origin(headers: &HeaderMap, settings: &Settings) -> Result<(), Problem> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let site = text("sec-fetch-site");
    let is_ours = match text(ORIGIN.as_str()) {
        Some(origin) => is_own(origin, text(HOST.as_str()), settings),
        None => site.is_some(),
    };
    if is_ours && site.is_none_or(|site| site == "same-origin") {
        return Ok(());
    }
    Err(Problem::new(StatusCode::FORBIDDEN, "this was sent by a page of another site, or by no page at all"))
}

fn is_own(origin: &str, host: Option<&str>, settings: &Settings) -> bool {
    match settings.public_url.as_deref().and_then(|url| Url::parse(url).ok()) {
        Some(url) => url.origin().ascii_serialization() == origin,
        None => {
            let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            rest.is_some() && rest == host
        }
    }
}

#[cfg(test)]
mod tests;
