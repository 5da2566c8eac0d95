//! What can go wrong with a client's request, and whose fault it is.

use catalog::access::Scope;
use limits::Exceeded;
use mcp::message::Malformed;

/// Why a request was not answered by a backend. Each variant is told to the client in its own way.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    // The client's fault, before any message was read.
    #[error("this host name or origin is not served here")]
    ForeignHost,
    #[error("{0}")]
    Unauthorized(&'static str),
    /// The client's token may be good; who could say so is away.
    #[error("the identity provider cannot be reached, so the token cannot be checked")]
    ProviderAway,
    #[error("nothing is registered at {0}")]
    NoSuchPath(String),
    #[error("{0} is disabled")]
    Disabled(String),
    #[error("this endpoint takes {allow} only")]
    MethodNotAllowed { allow: &'static str },
    #[error("content type must be application/json in UTF-8, without a content encoding")]
    MediaType,
    #[error("the body is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the body could not be read to its end")]
    BodyBroken,
    #[error("the body did not arrive in time")]
    BodySlow,
    #[error("accept application/json or text/event-stream")]
    NotAcceptable,
    // The client's fault, in the message.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("{0}")]
    InvalidRequest(String),
    #[error("{0}")]
    InvalidParams(String),
    /// Every request of revision 2026-07-28 says this of itself, so the request is malformed as a whole.
    #[error("params._meta holds no {0}")]
    MissingMeta(&'static str),
    #[error("{0}")]
    HeaderMismatch(String),
    #[error("protocol version {requested} is not supported here")]
    UnsupportedVersion { requested: String, supported: String },
    #[error("method not found: {0}")]
    UnknownMethod(String),
    #[error("unknown {kind}: {name}")]
    UnknownName { kind: &'static str, name: String },
    #[error("resource not found: {0}")]
    ResourceNotFound(String),
    #[error("unknown session; send initialize again")]
    SessionUnknown,
    #[error("this request needs a session: send initialize first, then Mcp-Session-Id with each request")]
    SessionMissing,
    #[error("the session runs on version {of_session}, not on {asked}; begin a new session to change it")]
    SessionVersion { of_session: String, asked: String },
    #[error("{header} was sent twice or with more than one value")]
    Ambiguous { header: &'static str },
    #[error("{path} has no version {asked}; it has {known}")]
    NoSuchVersion { path: String, asked: String, known: String },
    #[error("Missing required scope: {missing}")]
    MissingScope { missing: Scope, needed: Vec<Scope> },
    #[error("{exceeded}")]
    RateLimited {
        exceeded: Exceeded,
        /// Whether it is a request, whose answer the client reads from a body.
        is_answered: bool,
    },
    /// By the scope documents, whatever scopes the caller gets.
    #[error("{0}")]
    Forbidden(String),
    #[error("too many listen streams are open; close some")]
    TooManyStreams,
    /// A status says it: no client reads the answer to what it posts to an event stream.
    #[error("too many event streams, or requests on this one, are open already")]
    DoorFull,
    /// No client reads this answer: it cancelled the request.
    #[error("the request was cancelled")]
    Cancelled,
    // A backend's fault.
    #[error("Backend server unreachable: {server}")]
    Unreachable { server: String, reason: String },
    #[error("Backend server refused the gateway's credentials: {server}")]
    RefusedCredentials { server: String },
    /// The backend acts for its users, and this one has not allowed the gateway to let it.
    #[error("{server} needs your permission to act for you: open {url} in a browser, then try again")]
    NoConsent { server: String, url: String },
    /// The authorization server of a backend gave no token, so nothing was sent.
    #[error("No credentials for backend server: {server}")]
    NoCredentials { server: String, reason: String },
    #[error("Backend server timed out: {server}")]
    TimedOut { server: String, reason: String },
    #[error("Backend server gave an unusable answer: {server}")]
    Unusable { server: String, reason: String },
    #[error("Too many large answers at once, one of them of {server}")]
    Overloaded { server: String },
    /// The backend finds the headers of a request wrong that we dressed, and goes on doing so.
    #[error("Backend server refused the gateway's headers: {server}")]
    Misdressed { server: String },
    /// The backend answered a handshake with a JSON-RPC error; told to the client as it is.
    #[error("{message}")]
    Refused { server: String, code: i64, message: String },
}

impl Error {
    /// Names a backend's failure for the client of `server`.
    pub(crate) fn of_backend(server: &str, error: &backend::Error) -> Self {
        let (server, reason) = (server.to_owned(), error.reason());
        match error {
            backend::Error::Unreachable { .. } | backend::Error::Broken { .. } => {
                Self::Unreachable { server, reason }
            }
            backend::Error::ForbiddenAddress { .. } => Self::Unreachable { server, reason },
            backend::Error::NoToken { .. } => Self::NoCredentials { server, reason },
            backend::Error::NoConsent => Self::NoConsent { server, url: String::new() },
            backend::Error::TimedOut { .. } => Self::TimedOut { server, reason },
            backend::Error::Overloaded => Self::Overloaded { server },
            backend::Error::Rpc { code, message } => {
                Self::Refused { server, code: *code, message: message.clone() }
            }
            backend::Error::Refused(status) if matches!(status.as_u16(), 401 | 407) => {
                Self::RefusedCredentials { server }
            }
            _ => Self::Unusable { server, reason },
        }
    }

    /// Says whose fault it is; decides the level of the log line.
    pub(crate) fn is_clients_fault(&self) -> bool {
        !matches!(
            self,
            Self::ProviderAway
                | Self::Unreachable { .. }
                | Self::RefusedCredentials { .. }
                | Self::NoCredentials { .. }
                | Self::TimedOut { .. }
                | Self::Unusable { .. }
                | Self::Overloaded { .. }
                | Self::Misdressed { .. }
                | Self::Refused { .. }
        )
    }

    /// Returns what a backend did wrong, for the log.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Unreachable { reason, .. }
            | Self::NoCredentials { reason, .. }
            | Self::TimedOut { reason, .. }
            | Self::Unusable { reason, .. } => reason,
            _ => "",
        }
    }

    /// Returns the class for logs, metrics and the `X-Mcp-Error-Class` header.
    pub(crate) fn class(&self) -> &'static str {
        match self {
            Self::ForeignHost => "foreign-host",
            Self::Unauthorized(_) => "unauthorized",
            Self::ProviderAway => "identity-provider",
            Self::NoSuchPath(_) | Self::Disabled(_) => "no-such-path",
            Self::MethodNotAllowed { .. } => "method-not-allowed",
            Self::MediaType => "media-type",
            Self::TooLarge { .. } => "too-large",
            Self::BodyBroken | Self::BodySlow => "body",
            Self::NotAcceptable => "not-acceptable",
            Self::Malformed(_) | Self::InvalidRequest(_) | Self::MissingMeta(_) | Self::Ambiguous { .. } => {
                "malformed"
            }
            Self::InvalidParams(_) | Self::UnknownName { .. } | Self::ResourceNotFound(_) => "params",
            Self::Cancelled => "cancelled",
            Self::HeaderMismatch(_) => "header-mismatch",
            Self::UnsupportedVersion { .. } => "protocol-version",
            Self::UnknownMethod(_) => "method",
            Self::SessionUnknown | Self::SessionMissing | Self::SessionVersion { .. } => "session",
            Self::NoSuchVersion { .. } => "server-version",
            Self::MissingScope { .. } => "scope",
            Self::RateLimited { .. } => "rate-limited",
            Self::Forbidden(_) => "policy",
            Self::Unreachable { .. } => "backend-unreachable",
            Self::RefusedCredentials { .. } | Self::NoCredentials { .. } => "backend-credentials",
            Self::NoConsent { .. } => "consent",
            Self::TimedOut { .. } => "backend-timeout",
            Self::Overloaded { .. } | Self::TooManyStreams | Self::DoorFull => "overloaded",
            Self::Unusable { .. } | Self::Misdressed { .. } | Self::Refused { .. } => "backend-answer",
        }
    }
}
