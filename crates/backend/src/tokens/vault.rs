//! What users allowed, as the tokens' owner sees it: read in memory, written through whoever keeps it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use catalog::connection::{Connection, ConnectionKey};

/// All connections, by whose they are.
pub type Connections = BTreeMap<ConnectionKey, Arc<Connection>>;

/// A write that is under way.
pub type Writing<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Keeps what users allowed. Writes that fail are told by whoever keeps it.
pub trait Vault: Send + Sync + 'static {
    /// Keeps a connection whose tokens were renewed, unless the one of this id is gone meanwhile.
    fn keep(&self, connection: Connection) -> Writing<'_>;

    /// Drops the connection of this id: its authorization server says that it is over.
    fn forget(&self, key: ConnectionKey, id: Arc<str>) -> Writing<'_>;
}
