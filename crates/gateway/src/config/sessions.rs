//! `[sessions]`: how long sessions of virtual servers are kept, and how many.

use serde::{Deserialize, Serialize};

use super::units::Span;

/// `[sessions]`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sessions {
    /// How long an unused session's backends stay in memory.
    pub(crate) memory_idle: Span,
    /// How long they stay in the store.
    pub(crate) store_idle: Span,
    /// Most sessions in memory at once; the longest unused go first.
    pub(crate) max: usize,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { memory_idle: Span::seconds(30), store_idle: Span::seconds(3600), max: 100_000 }
    }
}

impl Sessions {
    pub(super) fn check(&self, faults: &mut Vec<String>) {
        if self.memory_idle < Span::seconds(1) {
            faults.push("sessions.memory_idle: must be at least 1s".into());
        }
        if self.store_idle < self.memory_idle {
            faults.push("sessions.store_idle: must be no shorter than sessions.memory_idle".into());
        }
        if self.max == 0 {
            faults.push("sessions.max: must be at least 1".into());
        }
    }
}
