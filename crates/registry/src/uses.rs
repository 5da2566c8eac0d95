//! When tokens were last presented: noted in memory, written behind into the store's second tier.
//!
//! What is lost, in a crash or by a store that is away, is no more than a minute of it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use catalog::time::Timestamp;
use catalog::token::TokenId;

use crate::Registry;

/// How often uses are written.
const WRITE_EVERY: Duration = Duration::from_secs(60);
/// Most uses written at once; the others follow the next time.
const MAX_WRITTEN: usize = 2000;

/// The uses that were written.
#[derive(Default)]
pub(crate) struct Uses(Mutex<HashMap<TokenId, Timestamp>>);

impl Registry {
    /// Writes uses on a clock. Never returns.
    pub(crate) async fn keep_uses_on_clock(&self) {
        let mut tick = tokio::time::interval(WRITE_EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            self.keep_uses().await;
        }
    }

    /// Writes the uses that were not written yet.
    pub(crate) async fn keep_uses(&self) {
        let catalog = self.catalog();
        let fresh: Vec<_> = {
            let mut written = self.uses.0.lock().unwrap_or_else(PoisonError::into_inner);
            written.retain(|id, _| catalog.tokens.contains_key(id));
            let uses = self.parts.authenticator.last_uses();
            let fresh = uses.into_iter().filter(|(id, at)| written.get(id).is_none_or(|known| known < at));
            fresh.take(MAX_WRITTEN).collect()
        };
        for (id, at) in fresh {
            // A token that is gone, or never was here, is nobody's to show.
            let Some(token) = catalog.tokens.get(&id) else { continue };
            let kept = self.parts.store.keep_session(&key(&id), at.0.to_be_bytes().into(), token.expires_at);
            if let Err(error) = kept.await {
                return tracing::warn!(%error, "the last uses of tokens could not be written");
            }
            self.uses.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, at);
        }
    }

    /// Returns when tokens were last presented, those that never were left out.
    pub(crate) async fn last_uses(
        &self,
        ids: impl Iterator<Item = &TokenId>,
        now: Timestamp,
    ) -> HashMap<TokenId, Timestamp> {
        let mut uses: HashMap<_, _> = self.parts.authenticator.last_uses().into_iter().collect();
        let mut found = HashMap::new();
        for id in ids {
            let known = self.uses.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied();
            let stored = match known {
                Some(at) => Some(at),
                None => self.stored_use(id, now).await,
            };
            if let Some(at) = uses.remove(id).max(stored) {
                found.insert(id.clone(), at);
            }
        }
        found
    }

    async fn stored_use(&self, id: &TokenId, now: Timestamp) -> Option<Timestamp> {
        // A store that is away only leaves a column empty.
        let value = self.parts.store.session(&key(id), now).await.ok()??;
        Some(Timestamp(i64::from_be_bytes(value.try_into().ok()?)))
    }
}

fn key(id: &TokenId) -> String {
    format!("token-use/{id}")
}
