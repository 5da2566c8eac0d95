//! A new revision: compile it, swap the table, have the search index follow; also when another node wrote it.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use catalog::Catalog;
use routing::compile::LeftOut;

use crate::{Registry, metrics};

/// Pause after the store could not be read, so that a store that is down is not asked without end.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

impl Registry {
    /// Compiles a catalog and puts it in force. Only for whoever holds the write lock, or at the start.
    pub(crate) fn publish(&self, catalog: Catalog) {
        let previous = self.parts.live.full();
        let mut compiled = routing::compile::compile(&catalog, Some(&previous));
        let damaged = catalog.unreadable.iter();
        let damaged =
            damaged.map(|(place, reason)| LeftOut { what: place.to_string(), reason: reason.clone() });
        compiled.left_out.splice(0..0, damaged);
        metrics::published(catalog.revision, compiled.left_out.len());
        let catalog = Arc::new(catalog);
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let replaced = std::mem::replace(&mut *current, catalog.clone());
        drop(current);
        if let Some(tokens) = &self.parts.backends.settings().tokens {
            tokens.set_connections(catalog.connections.clone());
        }
        self.parts.live.publish(Arc::new(compiled.table));
        let noted = self.indexing.note(catalog);
        self.note_left_out(compiled.left_out);
        // Of a large catalog, letting go takes as long as making it: nobody should wait for that.
        tokio::task::spawn_blocking(move || drop((previous, replaced, noted)));
    }

    /// Follows what other nodes write. Never returns.
    pub(crate) async fn follow_store(&self) {
        let mut changes = self.parts.store.changes();
        loop {
            let latest = *changes.borrow_and_update();
            if latest > self.catalog().revision
                && let Err(error) = self.take_in(latest).await
            {
                tracing::warn!(%error, "the store's news could not be read; trying again");
                tokio::time::sleep(RETRY_PAUSE).await;
                continue;
            }
            if changes.changed().await.is_err() {
                // The store is gone, and with it all news.
                std::future::pending::<()>().await;
            }
        }
    }

    async fn take_in(&self, latest: u64) -> Result<(), store::Error> {
        let _turn = self.turns.for_note().await;
        // A change of our own was being published while we waited.
        if latest <= self.catalog().revision {
            return Ok(());
        }
        let catalog = self.parts.store.load().await?;
        tracing::debug!(catalog.revision, "another node wrote");
        self.publish(catalog);
        Ok(())
    }

    fn note_left_out(&self, left_out: Vec<LeftOut>) {
        let mut kept = self.left_out.write().unwrap_or_else(PoisonError::into_inner);
        for one in left_out.iter().filter(|one| !kept.contains(one)) {
            tracing::warn!(what = ?one.what, reason = ?one.reason, "left out of the routing table");
        }
        *kept = left_out;
    }
}

#[cfg(test)]
mod tests;
