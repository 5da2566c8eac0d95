//! Adapters between crates that must not know each other.

pub(crate) mod calls;
pub(crate) mod embedders;
pub(crate) mod providers;
pub(crate) mod sealing;
pub(crate) mod sessions;
