//! What runs beside requests: news of the store, hints, probes, and the broom.

use std::sync::Arc;
use std::time::Duration;

use catalog::time::Timestamp;
use store::audit::Retention;
use store::change::{Change, Edit};

use crate::Registry;

/// How often expired sessions and tokens are swept out.
const SWEEP_EVERY: Duration = Duration::from_secs(300);
/// Most of these that tell of refused writes, which anybody with a token can bring about.
const AUDIT_REFUSED: u64 = 10_000;
/// How long the record of an expired token can still be seen, in seconds.
const TOKEN_AFTERLIFE_SECONDS: i64 = 24 * 3600;
/// Most tokens swept out in one change; the rest follows with the next sweep.
const MAX_SWEPT_TOKENS: usize = 1000;

impl Registry {
    /// Works until `shutdown` ends: follows the store, reads what hints ask for, probes, sweeps.
    ///
    /// **Cancel:** probes and reads under way are dropped; a change that is being stored is finished.
    pub async fn run(self: &Arc<Self>, shutdown: impl Future<Output = ()>) {
        tokio::select! {
            () = shutdown => {}
            () = self.follow_store() => {}
            () = self.follow_hints() => {}
            () = self.probe_on_clock() => {}
            () = self.sweep_on_clock() => {}
            () = self.keep_uses_on_clock() => {}
        }
        self.keep_uses().await;
    }

    async fn sweep_on_clock(self: &Arc<Self>) {
        let mut tick = tokio::time::interval(SWEEP_EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let now = Timestamp::now();
            if let Err(error) = self.parts.store.sweep(now).await {
                tracing::warn!(%error, "expired sessions could not be swept");
            }
            let kept = &self.parts.settings.audit;
            let since =
                Timestamp(now.0.saturating_sub(i64::try_from(kept.keep.as_millis()).unwrap_or(i64::MAX)));
            let (most, most_calls) = (kept.max_entries, kept.max_calls);
            let keep = Retention { since, most, most_calls, most_refused: AUDIT_REFUSED.min(most) };
            if let Err(error) = self.parts.store.sweep_audit(keep).await {
                tracing::warn!(%error, "old entries of the audit trail could not be swept");
            }
            if let Err(error) = self.sweep_tokens(now).await {
                tracing::warn!(%error, "expired tokens could not be swept");
            }
        }
    }

    async fn sweep_tokens(self: &Arc<Self>, now: Timestamp) -> Result<(), crate::apply::Error> {
        let turn = self.turns.for_note().await;
        self.apply_in(turn, |catalog| {
            let ended = |expires_at: Timestamp| expires_at.plus_seconds(TOKEN_AFTERLIFE_SECONDS) < now;
            let old = catalog.tokens.values().filter(|token| ended(token.expires_at));
            let edits = old.take(MAX_SWEPT_TOKENS).map(|token| Edit::DeleteToken(token.id.clone())).collect();
            Ok((Change::new(edits), ()))
        })
        .await
    }
}
