//! What comes of reading a version's inventory, and why it may not be read.

use std::sync::Arc;

use catalog::VersionKey;
use catalog::inventory::Inventory;

/// Why an inventory could not be read. The one that was known stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// The version is not registered, or was changed while it was read.
    #[error("no version {} of {} is registered at that address", .0.label, .0.path)]
    Gone(VersionKey),
    /// The backend did not answer, or not as MCP.
    #[error("version {} of {} cannot be read: {reason}", .key.label, .key.path)]
    Backend {
        /// Which version.
        key: VersionKey,
        /// What its backend did.
        reason: String,
    },
    /// It was read and could not be stored.
    #[error("the inventory of {} {} cannot be stored: {reason}", .key.path, .key.label)]
    Unstored {
        /// Which version.
        key: VersionKey,
        /// What the store said.
        reason: String,
    },
}

/// What comes of a read.
pub(crate) type Outcome = Result<Arc<Inventory>, Unread>;
