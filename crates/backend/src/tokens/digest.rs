//! Digests by which tokens are found: nobody must get another's, so these are of the kind that nobody can make collide.

use aws_lc_rs::digest::{Context, SHA256};
use catalog::authorization::Authorization;
use catalog::endpoint::{Endpoint, Secret};
use url::Url;

/// SHA-256.
pub(super) type Digest = [u8; 32];

/// Stands for the gateway itself.
pub(super) const NOBODY: Digest = [0; 32];

/// Takes texts together, each with its length, so that no two lists give the same.
pub(super) fn of(parts: &[&str]) -> Digest {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part.as_bytes());
    }
    context.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Makes the public half of PKCE (RFC 7636, section 4.2, `S256`).
pub(super) fn challenge(verifier: &str) -> String {
    use base64::Engine;
    let digest = aws_lc_rs::digest::digest(&SHA256, verifier.as_bytes());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest.as_ref())
}

/// Writes a digest in hexadecimal.
pub(super) fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Takes all that decides what a token is for and where it goes.
pub(super) fn of_place(endpoint: &Endpoint, authorization: &Authorization) -> Digest {
    let url = |url: &Option<Url>| url.as_ref().map(Url::to_string).unwrap_or_default();
    let secret = authorization.client_secret.as_ref().map(Secret::reveal).unwrap_or_default();
    of(&[
        authorization.flow.as_str(),
        authorization.server.as_str(),
        &endpoint.url.origin().ascii_serialization(),
        &url(&authorization.issuer),
        &url(&authorization.token_url),
        &url(&authorization.authorization_url),
        authorization.client_id.reveal(),
        secret,
        &authorization.scope,
        authorization.resource.as_deref().unwrap_or_default(),
        authorization.audience.as_deref().unwrap_or_default(),
    ])
}
