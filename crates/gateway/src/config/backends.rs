//! `[backends]`: which backends may be reached and how long they may take.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::units::Span;
use crate::small_file;

/// Largest file of certificate authorities; a system's whole bundle is a quarter of a mebibyte.
const MAX_CA_BYTES: u64 = 4 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    /// Whether backends may have loopback and private addresses.
    allow_private: bool,
    /// Whether URLs that were learnt, or set by others than administrators, may lead to such addresses.
    allow_private_learnt: bool,
    /// Until a connection stands.
    connect_timeout: Span,
    /// Until the head of an answer has come.
    answer_timeout: Span,
    /// Between two pieces of an answer.
    idle_timeout: Span,
    /// For a whole probe.
    probe_timeout: Span,
    /// PEM files of certificate authorities to trust beside the system's.
    extra_ca_files: Vec<PathBuf>,
}

/// `[backends]`, checked.
#[derive(Debug)]
pub(crate) struct Backends {
    pub(crate) allow_private: bool,
    pub(crate) allow_private_learnt: bool,
    pub(crate) connect_timeout: Duration,
    pub(crate) answer_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) probe_timeout: Duration,
    /// The PEM texts of `extra_ca_files`.
    pub(crate) extra_roots: Vec<Vec<u8>>,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            allow_private: true,
            allow_private_learnt: false,
            connect_timeout: Span::seconds(5),
            answer_timeout: Span::seconds(300),
            idle_timeout: Span::seconds(300),
            probe_timeout: Span::seconds(5),
            extra_ca_files: Vec::new(),
        }
    }
}

impl Said {
    pub(super) fn resolve(self, faults: &mut Vec<String>) -> Backends {
        let limits = [
            ("connect_timeout", self.connect_timeout),
            ("answer_timeout", self.answer_timeout),
            ("idle_timeout", self.idle_timeout),
            ("probe_timeout", self.probe_timeout),
        ];
        for (key, span) in limits {
            if span.0.is_zero() {
                faults.push(format!("backends.{key}: must be longer than 0"));
            }
        }
        let mut extra_roots = Vec::new();
        for file in &self.extra_ca_files {
            match std::fs::File::open(file).and_then(|file| small_file::bytes(file, MAX_CA_BYTES)) {
                Ok(pem) => extra_roots.push(pem),
                Err(error) => faults.push(format!("backends.extra_ca_files: {}: {error}", file.display())),
            }
        }
        Backends {
            allow_private: self.allow_private,
            allow_private_learnt: self.allow_private_learnt,
            connect_timeout: self.connect_timeout.0,
            answer_timeout: self.answer_timeout.0,
            idle_timeout: self.idle_timeout.0,
            probe_timeout: self.probe_timeout.0,
            extra_roots,
        }
    }
}
