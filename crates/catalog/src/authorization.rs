//! How requests to a backend get their token from an authorization server (OAuth 2).

use url::Url;

use crate::name::ServerPath;
use crate::secret::Secret;

/// How requests to a backend get their token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// Whom the tokens stand for.
    pub flow: Flow,
    /// The server it belongs to, whose users allow the gateway to act for them.
    pub server: ServerPath,
    /// The authorization server's issuer, whose metadata (RFC 8414) names what is not given.
    pub issuer: Option<Url>,
    /// Where tokens are had.
    pub token_url: Option<Url>,
    /// Where a user allows the gateway to act for them.
    pub authorization_url: Option<Url>,
    /// The gateway's name at the authorization server.
    pub client_id: Secret,
    /// What proves it; public clients have none.
    pub client_secret: Option<Secret>,
    /// Scopes to ask for, with blanks between; empty for the server's own choice.
    pub scope: String,
    /// The resource the token is for (RFC 8707), where one is named.
    pub resource: Option<String>,
    /// The audience of the token, where one is named.
    pub audience: Option<String>,
}

/// Whom tokens stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    /// The gateway itself (client credentials, RFC 6749 section 4.4).
    Service,
    /// The caller, whose token is exchanged for one for the backend (RFC 8693).
    Exchange,
    /// The caller, who allowed it once in a browser (authorization code, RFC 6749 section 4.1).
    User,
}

impl Flow {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Service, Self::Exchange, Self::User];

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Service => "oauth_client_credentials",
            Self::Exchange => "oauth_token_exchange",
            Self::User => "oauth_user",
        }
    }

    /// Reads the word for it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flow| flow.as_str() == text)
    }
}
