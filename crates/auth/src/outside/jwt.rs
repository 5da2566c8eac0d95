//! Signed tokens of a provider: signature, kind, claims, time (RFC 9068, RFC 8725).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use catalog::access::Principal;
use catalog::time::Timestamp;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Header, Validation, decode};
use serde::Deserialize;

use super::claim_name::Claims;
use super::claims;
use super::keyset::KeySet;
use super::settings::ProviderSettings;
use crate::refused::Refused;

/// What the head of an access token may call itself (RFC 9068, section 2.1); most providers still say `JWT`, or nothing.
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "jwt"];

/// What some providers write into the claims of tokens that are for calling. Others are for their own use: `ID`, `Refresh`.
const KINDS: [&str; 3] = ["bearer", "at+jwt", "jwt"];

/// Reads who a token says issued it; nothing is checked.
pub(super) fn issuer(bearer: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Unchecked {
        iss: String,
    }
    let claims = URL_SAFE_NO_PAD.decode(bearer.split('.').nth(1)?).ok()?;
    serde_json::from_slice::<Unchecked>(&claims).ok().map(|claims| claims.iss)
}

/// Returns whom a token stands for. Keys come from `keys` alone; what the token's head says of keys beside its id is not
/// looked at.
pub(super) fn verify(
    bearer: &str,
    header: &Header,
    keys: &KeySet,
    settings: &ProviderSettings,
    now: Timestamp,
) -> Result<Principal, Refused> {
    if header.crit.is_some() || header.enc.is_some() || header.zip.is_some() {
        return Err(Refused::Malformed);
    }
    if header.typ.as_deref().is_some_and(|typ| !TYPES.iter().any(|known| known.eq_ignore_ascii_case(typ))) {
        return Err(Refused::WrongKind);
    }
    let claims = signed_claims(bearer, header, keys, settings)?;
    if claims.contains_key("cnf") {
        // Bound to a key or certificate, of which a bearer shows no proof (RFC 9449, RFC 8705).
        return Err(Refused::WrongKind);
    }
    let kind = claims.get("typ").and_then(|kind| kind.as_str());
    if kind.is_some_and(|kind| !KINDS.iter().any(|known| known.eq_ignore_ascii_case(kind))) {
        return Err(Refused::WrongKind);
    }
    let end = live_until(&claims, settings, now)?;
    claims::principal(&claims, settings, end)
}

/// Returns when a token ends, which is not yet, and whose time has begun.
pub(super) fn live_until(
    claims: &Claims,
    settings: &ProviderSettings,
    now: Timestamp,
) -> Result<Timestamp, Refused> {
    let leeway = i64::try_from(settings.leeway.as_secs()).unwrap_or_default();
    let end = claims::time(claims, "exp")?.ok_or(Refused::MissingClaim("exp"))?.plus_seconds(leeway);
    if now >= end {
        return Err(Refused::Expired);
    }
    for begin in ["nbf", "iat"] {
        if claims::time(claims, begin)?.is_some_and(|begin| now < begin.plus_seconds(-leeway)) {
            return Err(Refused::NotYet);
        }
    }
    Ok(end)
}

/// Returns the claims of a token that one of the keys signed, and whose issuer is that of the settings.
pub(super) fn signed_claims(
    bearer: &str,
    header: &Header,
    keys: &KeySet,
    settings: &ProviderSettings,
) -> Result<Claims, Refused> {
    let mut validation = Validation::new(header.alg);
    validation.set_issuer(&[&settings.issuer]);
    validation.set_required_spec_claims(&["iss"]);
    // Time and audience are ours to check: the one by the given clock, the other against the endpoint as well.
    validation.validate_exp = false;
    validation.validate_aud = false;
    let mut refused = Refused::UnknownKey;
    for key in keys.fitting(header.kid.as_deref(), header.alg) {
        match decode::<Claims>(bearer, &key.key, &validation) {
            Ok(token) => return Ok(token.claims),
            Err(error) => {
                refused = match error.kind() {
                    ErrorKind::InvalidSignature => Refused::BadSignature,
                    ErrorKind::InvalidIssuer => Refused::WrongIssuer,
                    _ => Refused::Malformed,
                };
            }
        }
    }
    Err(refused)
}
