//! What an authorization server answers to who asks for a token.

use std::time::Duration;

use bytes::Bytes;
use catalog::endpoint::Secret;
use http::{HeaderValue, StatusCode};
use serde::Deserialize;

use super::Failure;

/// Life of a token whose end is not told. One that ends earlier is refused by its backend and had anew.
const UNTOLD_LIFE: Duration = Duration::from_secs(300);
/// Longest life believed: what is longer is had anew once a day.
const MAX_LIFE: Duration = Duration::from_secs(24 * 3600);
/// Longest error code that is repeated.
const MAX_CODE_CHARS: usize = 64;

/// A token that was granted.
pub(super) struct Granted {
    /// The value of `Authorization`.
    pub(super) header: HeaderValue,
    /// The token itself.
    pub(super) token: Secret,
    pub(super) life: Duration,
    /// What another is had for.
    pub(super) refresh_token: Option<Secret>,
    /// The scopes it is good for, where they are told.
    pub(super) scope: Option<String>,
}

#[derive(Deserialize)]
struct Success {
    access_token: String,
    token_type: String,
    #[serde(default)]
    expires_in: Option<Seconds>,
    #[serde(default)]
    refresh_token: Option<String>,
    #[serde(default)]
    scope: Option<String>,
}

/// Seconds, which some servers write as a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(f64),
    Text(String),
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

/// Reads an answer. Nothing of it but the error's code is repeated in a failure.
pub(super) fn read(status: StatusCode, body: &Bytes) -> Result<Granted, Failure> {
    if !status.is_success() {
        let refusal = serde_json::from_slice::<Refusal>(body);
        return Err(match refusal.map(|refusal| code(&refusal.error)) {
            Ok(code) if !code.is_empty() => Failure::Refused(code),
            _ => Failure::server(format_args!("answered HTTP {}", status.as_u16())),
        });
    }
    let Ok(success) = serde_json::from_slice::<Success>(body) else {
        return Err(Failure::server("gave an answer without a token"));
    };
    // Anything else (DPoP, RFC 9449) needs more than a header.
    if !success.token_type.eq_ignore_ascii_case("bearer") {
        return Err(Failure::server("gave a token of another type than Bearer"));
    }
    let granted = granted(&Secret::new(success.access_token), life(success.expires_in))?;
    Ok(Granted { refresh_token: success.refresh_token.map(Secret::new), scope: success.scope, ..granted })
}

/// Makes a token that is had already ready to be sent.
pub(super) fn granted(token: &Secret, life: Duration) -> Result<Granted, Failure> {
    let header = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
    let mut header = header.map_err(|_| Failure::server("gave a token that no header can hold"))?;
    header.set_sensitive(true);
    Ok(Granted { header, token: token.clone(), life, refresh_token: None, scope: None })
}

fn life(told: Option<Seconds>) -> Duration {
    let seconds = match told {
        None => return UNTOLD_LIFE,
        Some(Seconds::Number(seconds)) => Some(seconds),
        Some(Seconds::Text(text)) => text.trim().parse::<f64>().ok(),
    };
    let life = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    life.unwrap_or(UNTOLD_LIFE).min(MAX_LIFE)
}

/// Takes the characters that an error code may have (RFC 6749, section 5.2).
fn code(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        .take(MAX_CODE_CHARS)
        .collect()
}

#[cfg(test)]
mod tests;
