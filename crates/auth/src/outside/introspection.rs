//! Tokens that only their issuer can read: it is asked about them (RFC 7662).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use catalog::endpoint::Secret;
use catalog::time::Timestamp;
use tokio::sync::Semaphore;
use url::form_urlencoded::Serializer;

use super::claim_name::Claims;
use super::claims;
use super::discovery;
use super::fetch::{Question, basic};
use super::provider::Provider;
use super::settings::{IntrospectionSettings, ProviderSettings};
use super::{Vouched, Voucher};
use crate::refused::Refused;

/// Most questions at once: whoever guesses tokens must not make us a nuisance to the provider.
const MAX_AT_ONCE: usize = 16;
/// Longest wait for a turn to ask.
const TURN_WITHIN: Duration = Duration::from_secs(2);
/// Longest wait for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long a token that is none is remembered, so that a client that repeats itself costs no more questions.
const REFUSED_SECONDS: i64 = 10;
/// Most tokens remembered as none, 40 bytes each.
const MAX_REFUSED: usize = 10_000;
/// Life of a token whose issuer names none; it is asked about again long before.
const LIFE_SECONDS: i64 = 3600;

/// Asks about tokens.
pub(super) struct Opaque {
    turns: Semaphore,
    /// Tokens that are none, by their SHA-256, and until when that is believed.
    refused: Mutex<HashMap<[u8; 32], Timestamp>>,
}

impl Default for Opaque {
    fn default() -> Self {
        Self { turns: Semaphore::new(MAX_AT_ONCE), refused: Mutex::default() }
    }
}

impl Opaque {
    /// Returns whom a token stands for: the first provider that vouches for it says so.
    pub(super) async fn find_out(
        &self,
        providers: &[Arc<Provider>],
        bearer: &str,
        now: Timestamp,
    ) -> Result<Vouched, Refused> {
        let asked = || providers.iter().filter_map(|one| Some((one, one.settings.introspection.as_ref()?)));
        if asked().next().is_none() || !is_token(bearer) {
            return Err(Refused::Malformed);
        }
        let key: [u8; 32] =
            digest(&SHA256, bearer.as_bytes()).as_ref().try_into().expect("SHA-256 is 32 bytes");
        if self.refused().get(&key).is_some_and(|until| now < *until) {
            return Err(Refused::Inactive);
        }
        let turn = tokio::time::timeout(TURN_WITHIN, self.turns.acquire()).await;
        let _turn = turn.map_err(|_| Refused::Unreachable)?.map_err(|_| Refused::Unreachable)?;
        let mut refused = Refused::Inactive;
        for (provider, settings) in asked() {
            match ask(provider, settings, bearer, now).await {
                Ok(vouched) => return Ok(vouched),
                // A provider that is away may be the one that issued it.
                Err(reason) if refused == Refused::Inactive => refused = reason,
                Err(_) => {}
            }
        }
        if refused != Refused::Unreachable {
            self.remember(key, now);
        }
        Err(refused)
    }

    fn remember(&self, key: [u8; 32], now: Timestamp) {
        let mut refused = self.refused();
        if refused.len() >= MAX_REFUSED {
            refused.retain(|_, until| now < *until);
        }
        if refused.len() < MAX_REFUSED {
            refused.insert(key, now.plus_seconds(REFUSED_SECONDS));
        }
    }

    fn refused(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Timestamp>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask(
    provider: &Arc<Provider>,
    settings: &IntrospectionSettings,
    bearer: &str,
    now: Timestamp,
) -> Result<Vouched, Refused> {
    let issuer = provider.settings.issuer.as_str();
    let learnt = provider.introspection_endpoint();
    let url = settings.endpoint.clone().or_else(|| learnt.clone()).ok_or(Refused::Unreachable)?;
    let is_learnt = settings.endpoint.is_none() && !discovery::is_beside(&url, issuer);
    let authorization = Some(basic(&settings.client_id, &settings.client_secret));
    let question = Question { url, is_learnt, authorization, form: Some(form(bearer)) };
    let generation = provider.generation();
    let failed = |reason: &str| {
        tracing::warn!(%issuer, %reason, "the identity provider cannot be asked about a token");
        Refused::Unreachable
    };
    let answer = tokio::time::timeout(ANSWER_WITHIN, provider.ask(question)).await;
    let answer = answer.map_err(|_| failed("no answer in time"))?.map_err(|error| failed(&error.0))?;
    if answer.status != 200 {
        return Err(failed(&format!("it answered HTTP {}", answer.status)));
    }
    let mut claims: Claims =
        serde_json::from_slice(&answer.body).map_err(|_| failed("its answer is not JSON"))?;
    if let Some(client) = claims.get("client_id").cloned() {
        // A program that calls for itself is named so, and often only so.
        claims.entry("sub").or_insert(client);
    }
    read(&claims, &provider.settings, settings, now).map(|(principal, again)| Vouched {
        principal,
        ask_again_at: Some(again),
        by: Voucher { provider: provider.clone(), generation },
    })
}

fn read(
    claims: &Claims,
    provider: &ProviderSettings,
    settings: &IntrospectionSettings,
    now: Timestamp,
) -> Result<(catalog::access::Principal, Timestamp), Refused> {
    if claims.get("active").and_then(serde_json::Value::as_bool) != Some(true) {
        return Err(Refused::Inactive);
    }
    if claims.get("iss").is_some_and(|issuer| issuer.as_str() != Some(&provider.issuer)) {
        return Err(Refused::WrongIssuer);
    }
    let kind = claims.get("token_type").and_then(|kind| kind.as_str()).unwrap_or("Bearer");
    if claims.contains_key("cnf")
        || !["bearer", "access_token"].iter().any(|known| known.eq_ignore_ascii_case(kind))
    {
        return Err(Refused::WrongKind);
    }
    let leeway = i64::try_from(provider.leeway.as_secs()).unwrap_or_default();
    let end =
        claims::time(claims, "exp")?.map_or(now.plus_seconds(LIFE_SECONDS), |end| end.plus_seconds(leeway));
    if now >= end {
        return Err(Refused::Expired);
    }
    if claims::time(claims, "nbf")?.is_some_and(|begin| now < begin.plus_seconds(-leeway)) {
        return Err(Refused::NotYet);
    }
    let principal = claims::principal(claims, provider, end)?;
    let again = now.0.saturating_add(i64::try_from(settings.keep.as_millis()).unwrap_or(i64::MAX));
    Ok((principal, Timestamp(again)))
}

fn form(bearer: &str) -> Secret {
    let mut body = Serializer::new(String::new());
    body.append_pair("token", bearer).append_pair("token_type_hint", "access_token");
    Secret::new(body.finish())
}

/// Says whether a text can be a token at all (RFC 6750, section 2.1).
fn is_token(text: &str) -> bool {
    let fits =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=');
    !text.is_empty() && text.bytes().all(fits)
}
