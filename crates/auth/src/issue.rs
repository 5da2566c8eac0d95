//! Makes tokens of our own.

use catalog::access::Scope;
use catalog::token::{IssuedToken, TokenId};
use jsonwebtoken::{Algorithm, EncodingKey, Header};

use crate::claims::{Claims, ISSUER, TOKEN_TYPE, signing_key};
use crate::keys::{RootKey, fill_random, hex};

/// Signs tokens. The signed text is handed out once and kept nowhere.
pub struct Issuer {
    header: Header,
    key: EncodingKey,
}

impl Issuer {
    /// Makes the issuer of an installation.
    pub fn new(root: &RootKey) -> Self {
        let (key, id) = signing_key(root);
        let mut header = Header::new(Algorithm::HS256);
        header.typ = Some(TOKEN_TYPE.into());
        header.kid = Some(id);
        Self { header, key: EncodingKey::from_secret(&key).expect("the signing key is not empty") }
    }

    /// Signs a token (JWT, HS256): what the record says, nothing else. Times are cut to whole seconds.
    pub fn sign(&self, token: &IssuedToken) -> String {
        let claims = Claims {
            iss: ISSUER.into(),
            aud: ISSUER.into(),
            sub: token.subject.clone(),
            jti: token.id.to_string(),
            iat: token.created_at.as_seconds(),
            exp: token.expires_at.as_seconds(),
            scope: token.scopes.iter().map(Scope::as_str).collect::<Vec<_>>().join(" "),
            groups: token.groups.clone(),
            admin: token.is_admin,
            resource: token.resource.clone(),
            sub_iss: token.subject_issuer.clone(),
        };
        jsonwebtoken::encode(&self.header, &claims, &self.key)
            .expect("our claims are JSON and HS256 takes any key")
    }

    /// Draws a fresh token id: 128 random bits in hexadecimal.
    pub fn new_id() -> TokenId {
        let mut id = [0; 16];
        fill_random(&mut id);
        hex(&id).into()
    }
}
