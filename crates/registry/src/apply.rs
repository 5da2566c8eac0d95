//! The one way to change anything: check, store, publish.

use std::sync::Arc;

use catalog::Catalog;
use catalog::error::Refusal;
use store::audit::Outcome;
use store::change::Change;

use crate::trail::Trail;
use crate::turns::Turn;
use crate::{Registry, facts};

/// Why a change was not made. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The catalog's rules refuse it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store did not take it.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The task that stored it ended early; only a defect or a shutdown does that.
    #[error("the change was interrupted")]
    Interrupted,
}

impl Registry {
    /// Makes a change: `edit` checks the catalog as it is and says what to write. Returns once the change is
    /// stored and published, so that the next request sees it. Changes are made one after another, those of people
    /// before what the gateway notes by itself. A change without edits stores and publishes nothing.
    ///
    /// **Errors:** any failure leaves everything as it was.
    ///
    /// **Cancel:** a future dropped after `edit` ran does not stop the change; it is stored and published.
    pub async fn apply<T>(
        self: &Arc<Self>,
        edit: impl FnOnce(&Catalog) -> Result<(Change, T), Refusal>,
    ) -> Result<T, Error> {
        let turn = self.turns.for_person().await;
        self.apply_in(turn, edit).await
    }

    /// Makes a change like [`apply`](Self::apply), in a turn that was waited for.
    pub(crate) async fn apply_in<T>(
        self: &Arc<Self>,
        turn: Turn,
        edit: impl FnOnce(&Catalog) -> Result<(Change, T), Refusal>,
    ) -> Result<T, Error> {
        let current = self.catalog();
        let (change, outcome) = edit(&current)?;
        if change.edits.is_empty() {
            return Ok(outcome);
        }
        let registry = self.clone();
        // A task of its own, so that a client that hangs up cannot leave a stored change unpublished.
        let stored = tokio::spawn(async move {
            let result = registry.store_and_publish(current, change).await;
            drop(turn);
            result
        });
        stored.await.map_err(|_| Error::Interrupted)??;
        Ok(outcome)
    }

    /// Makes a change for a request, like [`apply`](Self::apply); the first one takes the request's entry of the
    /// audit trail along.
    pub(crate) async fn apply_for<T>(
        self: &Arc<Self>,
        trail: &Trail,
        edit: impl FnOnce(&Catalog) -> Result<(Change, T), Refusal>,
    ) -> Result<T, Error> {
        self.apply(|catalog| {
            let (mut change, outcome) = edit(catalog)?;
            if !change.edits.is_empty() {
                change.entry = trail.entry(Outcome::Ok, &change.edits);
                if let Some(entry) = &mut change.entry {
                    entry.data = facts::of(catalog, &change.edits);
                }
            }
            Ok((change, outcome))
        })
        .await
    }

    async fn store_and_publish(&self, current: Arc<Catalog>, change: Change) -> Result<(), store::Error> {
        let revision = match self.parts.store.apply(change.clone()).await {
            Ok(revision) => revision,
            Err(error) => {
                // Another node wrote what we have not seen: take it in, so that a second try can succeed.
                if matches!(error, store::Error::Moved { .. }) {
                    self.publish_stored().await;
                }
                return Err(error);
            }
        };
        let is_next = revision == current.revision + 1;
        if is_next || !self.publish_stored().await {
            let mut next = Catalog::clone(&current);
            change.apply_to(&mut next);
            // Where another node wrote in between and the store cannot be read, the old number makes us try again.
            next.revision = if is_next { revision } else { current.revision };
            drop(current);
            self.publish(next);
        }
        Ok(())
    }

    async fn publish_stored(&self) -> bool {
        match self.parts.store.load().await {
            Ok(catalog) => {
                self.publish(catalog);
                true
            }
            Err(error) => {
                tracing::warn!(%error, "the store's news could not be read");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests;
