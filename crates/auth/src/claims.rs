//! What a token of ours says, as both its maker and its reader know it.

use serde::{Deserialize, Serialize};

use crate::keys::{RootKey, hex};

/// `typ` of our tokens (RFC 9068, section 2.1).
pub(crate) const TOKEN_TYPE: &str = "at+jwt";
/// `iss` and `aud` of our tokens.
pub(crate) const ISSUER: &str = "switchyard";

/// The claims: `{"iss":"switchyard","aud":"switchyard","sub":"alice","jti":"…","iat":…,"exp":…,"scope":"a b",…}`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) iss: String,
    pub(crate) aud: String,
    pub(crate) sub: String,
    pub(crate) jti: String,
    pub(crate) iat: i64,
    pub(crate) exp: i64,
    #[serde(default)]
    pub(crate) scope: String,
    #[serde(default)]
    pub(crate) groups: Vec<String>,
    #[serde(default)]
    pub(crate) admin: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<String>,
    /// Who vouches for `sub`, where that is not ourselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sub_iss: Option<String>,
}

/// Returns the key that signs tokens, and its public name.
pub(crate) fn signing_key(root: &RootKey) -> ([u8; 32], String) {
    let id = root.derive("token signing key id");
    (root.derive("token signing key"), hex(&id[..8]))
}
