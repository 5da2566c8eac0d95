//! ID tokens: who signed in, as a provider tells the client that asked (OpenID Connect Core, section 3.1.3.7).

use aws_lc_rs::constant_time::verify_slices_are_equal;
use catalog::time::Timestamp;
use jsonwebtoken::decode_header;
use serde_json::Value;

use super::claim_name::Claims;
use super::jwt;
use super::provider::Provider;
use crate::refused::Refused;

/// Returns the claims of an ID token that is good: signed by its provider, for this client, for this sign-in.
pub(super) async fn verify(
    token: &str,
    provider: &Provider,
    client_id: &str,
    nonce: &str,
    now: Timestamp,
) -> Result<Claims, Refused> {
    let settings = &provider.settings;
    let header = decode_header(token).map_err(|_| Refused::Malformed)?;
    if header.crit.is_some() || header.enc.is_some() || header.zip.is_some() {
        return Err(Refused::Malformed);
    }
    // An access token must not pass for one.
    if header.typ.as_deref().is_some_and(|typ| !typ.eq_ignore_ascii_case("jwt")) {
        return Err(Refused::WrongKind);
    }
    if !settings.algorithms.contains(&header.alg) {
        return Err(Refused::UnknownKey);
    }
    let (keys, _) = provider.keys_for(header.kid.as_deref(), header.alg, now).await?;
    let claims = jwt::signed_claims(token, &header, &keys, settings)?;
    jwt::live_until(&claims, settings, now)?;
    let is_for_us = match claims.get("aud") {
        Some(Value::String(one)) => one == client_id,
        Some(Value::Array(all)) => all.iter().any(|one| one == client_id),
        _ => false,
    };
    let is_asked_by_us = claims.get("azp").is_none_or(|party| party == client_id);
    if !is_for_us || !is_asked_by_us {
        return Err(Refused::WrongIssuer);
    }
    let given = claims.get("nonce").and_then(Value::as_str).ok_or(Refused::MissingClaim("nonce"))?;
    verify_slices_are_equal(given.as_bytes(), nonce.as_bytes()).map_err(|_| Refused::WrongKind)?;
    Ok(claims)
}
