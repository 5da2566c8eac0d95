//! Reads bearer tokens of our own: signature, claims, time. Strict, because leniency is what forgers use.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use catalog::access::{Principal, Scope};
use catalog::time::Timestamp;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use quick_cache::Equivalent;
use quick_cache::sync::Cache;

use crate::claims::{Claims, ISSUER, TOKEN_TYPE, signing_key};
use crate::keys::RootKey;

/// Longest token that is looked at. Ours are below 1 KiB; servers commonly allow 8 KiB for a header.
pub const MAX_TOKEN_BYTES: usize = 8192;
/// Verified tokens kept. At about a kilobyte each this is ten megabytes, and far more callers than a node serves.
const MAX_VERIFIED: usize = 10_000;

/// Says who a bearer token stands for. Shared by all threads.
pub struct Authenticator {
    key: DecodingKey,
    key_id: String,
    validation: Validation,
    /// Tokens whose signature and claims were found good. Only those are kept, so nobody fills it with guesses.
    verified: Cache<Known, Arc<Principal>>,
}

/// Why a token stands for nobody. All of them are the client's fault and final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not a token of the one form we make.
    #[error("the token is malformed")]
    Malformed,
    /// Signed with a key that is not ours, or by another algorithm.
    #[error("the token was signed by someone else")]
    UnknownKey,
    /// Names our key and is not signed with it.
    #[error("the token's signature is wrong")]
    BadSignature,
    /// Signed by us for another issuer or audience.
    #[error("the token is meant for another service")]
    WrongIssuer,
    /// Was good once.
    #[error("the token has expired")]
    Expired,
}

/// The text of a verified token.
struct Known(Box<str>);

/// The text of a token that is looked up.
struct Presented<'a>(&'a str);

impl Authenticator {
    /// Makes the authenticator for tokens that the `Issuer` of the same root key signs.
    pub fn new(root: &RootKey) -> Self {
        let (key, key_id) = signing_key(root);
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[ISSUER]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // The given clock decides, at each call, also for tokens that were verified before.
        validation.validate_exp = false;
        Self {
            key: DecodingKey::from_secret(&key).expect("the signing key is not empty"),
            key_id,
            validation,
            verified: Cache::new(MAX_VERIFIED),
        }
    }

    /// Returns whom the token stands for. Whether it was revoked is the caller's to check, by `Principal::token`.
    pub fn authenticate(&self, bearer: &str, now: Timestamp) -> Result<Arc<Principal>, Refused> {
        if bearer.len() > MAX_TOKEN_BYTES {
            return Err(Refused::Malformed);
        }
        if let Some(principal) = self.verified.get(&Presented(bearer)) {
            return live(principal, now);
        }
        let principal = live(Arc::new(self.verify(bearer)?), now)?;
        self.verified.insert(Known(bearer.into()), principal.clone());
        Ok(principal)
    }

    fn verify(&self, bearer: &str) -> Result<Principal, Refused> {
        let header = decode_header(bearer).map_err(|_| Refused::Malformed)?;
        if header.alg != Algorithm::HS256 || header.kid.as_deref() != Some(&self.key_id) {
            return Err(Refused::UnknownKey);
        }
        if header.typ.as_deref() != Some(TOKEN_TYPE) || header.crit.is_some() {
            return Err(Refused::Malformed);
        }
        match decode::<Claims>(bearer, &self.key, &self.validation) {
            Ok(token) => principal(token.claims),
            Err(error) => Err(match error.kind() {
                ErrorKind::InvalidSignature => Refused::BadSignature,
                ErrorKind::InvalidIssuer | ErrorKind::InvalidAudience => Refused::WrongIssuer,
                _ => Refused::Malformed,
            }),
        }
    }
}

impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Hash for Presented<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        Presented(&self.0).equivalent(other)
    }
}

impl Eq for Known {}

impl Equivalent<Known> for Presented<'_> {
    /// Takes the same time wherever the two differ.
    fn equivalent(&self, known: &Known) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), known.0.as_bytes()).is_ok()
    }
}

fn live(principal: Arc<Principal>, now: Timestamp) -> Result<Arc<Principal>, Refused> {
    if principal.expires_at.is_some_and(|end| now < end) { Ok(principal) } else { Err(Refused::Expired) }
}

fn principal(claims: Claims) -> Result<Principal, Refused> {
    let scopes = claims.scope.split(' ').filter(|word| !word.is_empty());
    let scopes = scopes.map(|word| Scope::parse("scope", word)).collect::<Result<_, _>>();
    if claims.sub.is_empty() || claims.jti.is_empty() {
        return Err(Refused::Malformed);
    }
    Ok(Principal {
        subject: claims.sub.into(),
        issuer: "".into(),
        groups: claims.groups,
        scopes: scopes.map_err(|_| Refused::Malformed)?,
        is_admin: claims.admin,
        token: Some(claims.jti.into()),
        resource: claims.resource.map(Into::into),
        expires_at: Some(Timestamp(claims.exp.saturating_mul(1000))),
    })
}

#[cfg(test)]
mod tests;
