//! How a command fails: what is said, and the exit status.

/// A command that did not do what it was asked for.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: u8,
    pub(super) message: String,
}

impl Failure {
    /// The gateway, or a check, said no.
    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self { status: 1, message: message.into() }
    }

    /// The command was called wrongly.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { status: 2, message: message.into() }
    }

    /// The gateway cannot be reached, or an address or directory belongs to another process.
    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self { status: 3, message: message.into() }
    }
}
