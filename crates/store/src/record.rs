//! The stored shape of each catalog type. Every store writes these, under the field names of the original
//! registry, so that its data moves over and other tools can read ours.
//!
//! Members that a newer program added are ignored on reading. What a row names is checked again, since other
//! tools may write too.

mod access;
mod authorization;
mod connection;
mod inventory;
mod moment;
mod rating;
mod scope;
mod server;
mod virtual_server;

pub use access::{GroupRecord, TokenRecord};
pub use connection::ConnectionRecord;
pub use inventory::{InventoryLists, InventoryRecord};
pub use rating::RatingRecord;
pub use scope::ScopeRecord;
pub use server::{ServerRecord, VersionRecord};
pub use virtual_server::VirtualServerRecord;

use catalog::access::Scope;
use catalog::error::Invalid;

/// Seals credentials before they are stored and opens them again.
pub trait Sealer: Send + Sync + 'static {
    /// Seals a text.
    fn seal(&self, plain: &str) -> String;
    /// Opens what `seal` made; `None` where it was not made under a key of ours or was altered.
    fn open(&self, sealed: &str) -> Option<String>;
    /// Says whether a text was sealed with the key that is in use now, and not with an older one.
    fn is_current(&self, sealed: &str) -> bool {
        let _ = sealed;
        true
    }
}

/// Why a record could not be read back, as a person would say it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

impl From<Invalid> for Unreadable {
    fn from(invalid: Invalid) -> Self {
        Self(invalid.to_string())
    }
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

/// Seals anew what was sealed with an older key; says whether it was. What cannot be opened stays.
fn reseal(sealed: &mut String, sealer: &dyn Sealer) -> bool {
    if sealer.is_current(sealed) {
        return false;
    }
    let Some(plain) = sealer.open(sealed) else { return false };
    *sealed = sealer.seal(&plain);
    true
}

fn scopes_out(scopes: &[Scope]) -> Vec<String> {
    scopes.iter().map(Scope::to_string).collect()
}

fn scopes_in(field: &str, scopes: Vec<String>) -> Result<Vec<Scope>, Unreadable> {
    scopes.iter().map(|scope| Ok(Scope::parse(field, scope)?)).collect()
}

#[cfg(test)]
mod tests;
