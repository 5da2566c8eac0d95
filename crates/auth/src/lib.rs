//! Who is calling: credentials to a `Principal`, and the keys that everything secret hangs on.
//!
//! Knows neither HTTP nor the catalog's state: identity providers are asked through [`Fetch`], whether a caller may do
//! something is `catalog::access`'s question, and whether a token was revoked is the snapshot's.
#![warn(missing_docs)]

#[cfg(test)]
mod altered;
pub mod bearer;
mod claims;
pub mod cookie;
pub mod issue;
pub mod keys;
pub mod link;
pub mod outside;
mod own;
mod refused;
pub mod seal;

pub use bearer::Authenticator;
pub use cookie::Cookies;
pub use issue::Issuer;
pub use keys::{Error, RootKey};
pub use outside::{Fetch, SignIn};
pub use refused::Refused;
pub use seal::Seal;
