//! What can go wrong between us and a backend, and whether the request may have run.

use http::StatusCode;

/// What went wrong between us and a backend.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The backend was not reached. The request surely did not run.
    #[error("unreachable: {reason}")]
    Unreachable {
        /// What failed, in a few words.
        reason: String,
    },
    /// The backend's host is, or resolves to, an address that must not be connected to.
    #[error("address refused: {reason}")]
    ForbiddenAddress {
        /// Which address, and why.
        reason: String,
    },
    /// The backend wants a token, and the authorization server gave none. The request was not sent.
    #[error("no token: {reason}")]
    NoToken {
        /// What failed, in a few words. Says nothing secret.
        reason: String,
    },
    /// The backend wants a token that its user has to allow, who did not, or took it back. The request was not sent.
    #[error("no user has allowed it, or no longer")]
    NoConsent,
    /// A deadline passed.
    #[error("timed out: {what}")]
    TimedOut {
        /// What was waited for.
        what: &'static str,
        /// Whether the request had been handed to the backend.
        may_have_run: bool,
    },
    /// The connection broke after the request was, at least partly, written.
    #[error("connection broke: {reason}")]
    Broken {
        /// What failed, in a few words.
        reason: String,
    },
    /// The backend answered a handshake or a list with a status that is not a success.
    #[error("answered HTTP {}", .0.as_u16())]
    Refused(StatusCode),
    /// The backend's answer is not MCP.
    #[error("not MCP: {reason}")]
    NotMcp {
        /// What was answered instead.
        reason: String,
    },
    /// The backend answered with a JSON-RPC error.
    #[error("answered error {code}: {message}")]
    Rpc {
        /// The JSON-RPC code.
        code: i64,
        /// The backend's message, shortened.
        message: String,
    },
    /// The answer is larger than we read.
    #[error("too large: {what}")]
    TooLarge {
        /// Which limit was passed.
        what: String,
    },
    /// Too many large answers are read at once.
    #[error("too many large answers at once")]
    Overloaded,
}

impl Error {
    /// Says whether the request may have run, so that sending it again could run it twice.
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::ForbiddenAddress { .. }
            | Self::NoToken { .. }
            | Self::NoConsent => false,
            Self::TimedOut { may_have_run, .. } => *may_have_run,
            Self::Broken { .. }
            | Self::Refused(_)
            | Self::NotMcp { .. }
            | Self::Rpc { .. }
            | Self::TooLarge { .. }
            | Self::Overloaded => true,
        }
    }

    /// Returns a short reason for the `data.reason` of a client's error. It names no address of the backend.
    pub fn reason(&self) -> String {
        match self {
            Self::Unreachable { reason } | Self::NoToken { reason } => reason.clone(),
            Self::ForbiddenAddress { .. } => "address refused".into(),
            other => other.to_string(),
        }
    }

    pub(crate) fn unreachable(reason: impl Into<String>) -> Self {
        Self::Unreachable { reason: reason.into() }
    }

    pub(crate) fn not_mcp(reason: impl Into<String>) -> Self {
        Self::NotMcp { reason: reason.into() }
    }

    /// Takes over what went wrong on a connection that carries a request.
    pub(crate) fn broken(error: &hyper::Error) -> Self {
        Self::Broken { reason: with_causes(error) }
    }
}

/// Writes an error with its causes on one line, each part once.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        let more = one.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = one.source();
    }
    text
}
