//! `[versions]`: what happens to a version label that a server does not have.

use serde::{Deserialize, Serialize};

/// `[versions]`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Versions {
    /// Answer 404 to an unknown label instead of using the active version, on every server.
    pub(crate) strict: bool,
}
