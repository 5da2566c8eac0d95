//! Keeps what users allowed, for whoever renews their tokens.

use std::sync::{Arc, Weak};

use backend::tokens::{Vault, Writing};
use catalog::connection::{Connection, ConnectionKey};
use store::change::{Change, Edit};

use crate::Registry;

/// Writes connections into the catalog.
pub(crate) struct Keeper(Weak<Registry>);

impl Keeper {
    pub(crate) fn new(registry: &Arc<Registry>) -> Self {
        Self(Arc::downgrade(registry))
    }

    /// Makes a change, unless the connection of this id is gone.
    async fn write(&self, key: &ConnectionKey, id: &str, edit: Edit) {
        let Some(registry) = self.0.upgrade() else { return };
        let stored = registry.apply(|catalog| {
            let is_there = catalog.connections.get(key).is_some_and(|known| *known.id == *id);
            Ok((Change::new(if is_there { vec![edit] } else { Vec::new() }), ()))
        });
        if let Err(error) = stored.await {
            tracing::error!(%error, server.path = %key.server, "a connection's renewed tokens could not be stored");
        }
    }
}

impl Vault for Keeper {
    fn keep(&self, connection: Connection) -> Writing<'_> {
        Box::pin(async move {
            let (key, id) = (connection.key.clone(), connection.id.clone());
            self.write(&key, &id, Edit::PutConnection(Arc::new(connection))).await;
        })
    }

    fn forget(&self, key: ConnectionKey, id: Arc<str>) -> Writing<'_> {
        Box::pin(async move {
            tracing::info!(server.path = %key.server, user = &*key.user.subject, "a connection is over");
            self.write(&key, &id, Edit::DeleteConnection(key.clone())).await;
        })
    }
}
