//! What an authorization server answers to who asks for a token.

use std::time::Duration;

use bytes::Bytes;
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
    pub(super) life: Duration,
}

#[derive(Deserialize)]
struct Success {
    access_token: String,
    token_type: String,
    #[serde(default)]
    expires_in: Option<Seconds>,
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
        return Err(Failure::server(match refusal.map(|refusal| code(&refusal.error)) {
            Ok(code) if !code.is_empty() => format!("refused: {code}"),
            _ => format!("answered HTTP {}", status.as_u16()),
        }));
    }
    let Ok(success) = serde_json::from_slice::<Success>(body) else {
        return Err(Failure::server("gave an answer without a token"));
    };
    // Anything else (DPoP, RFC 9449) needs more than a header.
    if !success.token_type.eq_ignore_ascii_case("bearer") {
        return Err(Failure::server("gave a token of another type than Bearer"));
    }
    let header = HeaderValue::from_str(&format!("Bearer {}", success.access_token));
    let mut header = header.map_err(|_| Failure::server("gave a token that no header can hold"))?;
    header.set_sensitive(true);
    Ok(Granted { header, life: life(success.expires_in) })
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
