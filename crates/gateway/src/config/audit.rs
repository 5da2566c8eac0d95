//! `[audit]`: what the audit trail tells of, and for how long.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::units::Span;

#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    /// Whether calls of MCP are noted: `off`, or `names` for who called what, and how it ended.
    calls: Notes,
    /// How long an entry is kept.
    keep: Span,
    /// Most entries of what was done by the REST API; the oldest go first.
    max_entries: u64,
    /// Most entries of calls.
    max_calls: u64,
}

/// What is noted of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Notes {
    Off,
    Names,
}

/// `[audit]`, checked.
#[derive(Debug)]
pub(crate) struct Audit {
    pub(crate) notes_calls: bool,
    pub(crate) keep: Duration,
    pub(crate) max_entries: u64,
    pub(crate) max_calls: u64,
}

impl Default for Said {
    fn default() -> Self {
        let registry::AuditSettings { keep, max_entries, max_calls } = registry::AuditSettings::default();
        Self { calls: Notes::Off, keep: Span(keep), max_entries, max_calls }
    }
}

impl Said {
    pub(super) fn resolve(self, faults: &mut Vec<String>) -> Audit {
        if self.keep < Span::seconds(60) {
            faults.push("audit.keep: must be at least 1m".into());
        }
        for (key, number) in [("max_entries", self.max_entries), ("max_calls", self.max_calls)] {
            if number == 0 {
                faults.push(format!("audit.{key}: must be at least 1"));
            }
        }
        Audit {
            notes_calls: self.calls == Notes::Names,
            keep: self.keep.0,
            max_entries: self.max_entries,
            max_calls: self.max_calls,
        }
    }
}
