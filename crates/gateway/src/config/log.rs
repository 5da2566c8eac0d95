//! `[log]`: how much is said on standard error, and in which form.

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// `[log]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Log {
    /// `error`, `warn`, `info`, `debug`, `trace`, or directives such as `info,backend=debug`.
    pub(crate) level: String,
    /// Lines for people or for machines.
    pub(crate) format: Format,
}

/// The form of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: "info".into(), format: Format::Text }
    }
}

impl Log {
    pub(super) fn check(&self, faults: &mut Vec<String>) {
        let directives: Vec<&str> = self.level.split(',').filter(|one| !one.trim().is_empty()).collect();
        let bad = directives.iter().find(|one| !ends_in_level(one)).copied();
        let bad = if directives.is_empty() { Some(self.level.as_str()) } else { bad };
        let hint = "give error, warn, info, debug, trace or off, or filters such as info,backend=debug";
        if let Some(bad) = bad {
            faults.push(format!("log.level: {bad:?} names no level; {hint}"));
        } else if let Err(error) = EnvFilter::try_new(&self.level) {
            faults.push(format!("log.level: {:?}: {error}; {hint}", self.level));
        }
    }
}

/// Says whether a filter names its level. A word alone that is none would be taken for the name of a module,
/// and everything else be silent.
fn ends_in_level(directive: &str) -> bool {
    let level = match directive.rsplit_once('=') {
        Some((target, level)) if !target.is_empty() => level,
        Some(_) => return false,
        None => directive,
    };
    !level.is_empty() && level.parse::<LevelFilter>().is_ok()
}

#[cfg(test)]
mod tests;
