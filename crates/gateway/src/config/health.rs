//! `[health]`: how often backends are looked at.

use serde::{Deserialize, Serialize};

use super::units::Span;

/// Most probes at once; more would be a burst of connections of its own.
const MAX_PARALLEL: usize = 1_000;

/// `[health]`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Health {
    /// Between two probes of an active version.
    pub(crate) probe_every: Span,
    /// Between two readings of its tools, prompts and resources without another reason.
    pub(crate) inventory_every: Span,
    /// Most probes at once.
    pub(crate) parallel: usize,
}

impl Default for Health {
    fn default() -> Self {
        Self { probe_every: Span::seconds(60), inventory_every: Span::seconds(600), parallel: 16 }
    }
}

impl Health {
    pub(super) fn check(&self, faults: &mut Vec<String>) {
        for (key, span) in [("probe_every", self.probe_every), ("inventory_every", self.inventory_every)] {
            if span < Span::seconds(1) {
                faults.push(format!("health.{key}: must be at least 1s"));
            }
        }
        if !(1..=MAX_PARALLEL).contains(&self.parallel) {
            faults.push(format!("health.parallel: must lie between 1 and {MAX_PARALLEL}"));
        }
    }
}
