//! Links that sign in once: the secret goes to a person, its hash into the records.

use aws_lc_rs::digest::{SHA256, digest};
use catalog::token::TokenId;

use crate::cookie;
use crate::keys::hex;

/// Draws the secret of a link: 256 bits in hexadecimal.
pub fn new_secret() -> String {
    cookie::random()
}

/// Returns the id of a link's record. It tells nothing of the secret, and since secrets are looked up by it, neither does
/// the time that takes.
pub fn id_of(secret: &str) -> TokenId {
    format!("link-{}", hex(digest(&SHA256, secret.as_bytes()).as_ref())).into()
}
