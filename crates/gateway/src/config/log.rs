//! `[log]`: how much is said on standard error, and in which form.

use serde::{Deserialize, Serialize};

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
        if let Err(error) = tracing_subscriber::EnvFilter::try_new(&self.level) {
            faults.push(format!("log.level: {:?}: {error}; try error, warn, info or debug", self.level));
        }
    }
}
