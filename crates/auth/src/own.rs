//! Reads tokens of our own: signature, claims. Strict, because leniency is what forgers use.

use catalog::access::{LastUse, Principal, Scope};
use catalog::time::Timestamp;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode};

use crate::claims::{Claims, ISSUER, TOKEN_TYPE, signing_key};
use crate::keys::RootKey;
use crate::refused::Refused;

/// Reads the tokens that the `Issuer` of the same root key signs.
pub(crate) struct OwnTokens {
    /// Each with the id that heads of tokens name it by; the key in use first.
    keys: Vec<(String, DecodingKey)>,
    validation: Validation,
}

impl OwnTokens {
    pub(crate) fn new(root: &RootKey) -> Self {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[ISSUER]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // The given clock decides, at each call, also for tokens that were verified before.
        validation.validate_exp = false;
        let key = |root: RootKey| {
            let (key, id) = signing_key(&root);
            (id, DecodingKey::from_secret(&key).expect("the signing key is not empty"))
        };
        Self { keys: root.each().map(key).collect(), validation }
    }

    /// Says whether a token's head names our key, so that nobody else is to be asked about it.
    pub(crate) fn are_named_by(&self, header: &Header) -> bool {
        self.key(header).is_some()
    }

    fn key(&self, header: &Header) -> Option<&DecodingKey> {
        let id = header.kid.as_deref().filter(|_| header.alg == Algorithm::HS256)?;
        self.keys.iter().find(|(known, _)| known == id).map(|(_, key)| key)
    }

    /// Returns whom a token stands for, whether or not its time is over.
    pub(crate) fn verify(&self, bearer: &str, header: &Header) -> Result<Principal, Refused> {
        let key = self.key(header).ok_or(Refused::UnknownKey)?;
        if header.typ.as_deref() != Some(TOKEN_TYPE) || header.crit.is_some() {
            return Err(Refused::Malformed);
        }
        match decode::<Claims>(bearer, key, &self.validation) {
            Ok(token) => principal(token.claims),
            Err(error) => Err(match error.kind() {
                ErrorKind::InvalidSignature => Refused::BadSignature,
                ErrorKind::InvalidIssuer | ErrorKind::InvalidAudience => Refused::WrongIssuer,
                _ => Refused::Malformed,
            }),
        }
    }
}

fn principal(claims: Claims) -> Result<Principal, Refused> {
    let scopes = claims.scope.split(' ').filter(|word| !word.is_empty());
    let scopes = scopes.map(|word| Scope::parse("scope", word)).collect::<Result<_, _>>();
    if claims.sub.is_empty() || claims.jti.is_empty() {
        return Err(Refused::Malformed);
    }
    Ok(Principal {
        subject: claims.sub.into(),
        issuer: claims.sub_iss.unwrap_or_default().into(),
        groups: claims.groups,
        scopes: scopes.map_err(|_| Refused::Malformed)?,
        is_admin: claims.admin,
        token: Some(claims.jti.into()),
        resource: claims.resource.map(Into::into),
        audiences: None,
        expires_at: Some(Timestamp(claims.exp.saturating_mul(1000))),
        last_use: LastUse::default(),
    })
}
