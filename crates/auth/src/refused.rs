//! Why a token stands for nobody.

/// Why a token stands for nobody. All but [`Refused::Unreachable`] are the client's fault and final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not a token of a form we know.
    #[error("the token is malformed")]
    Malformed,
    /// Signed with a key that neither we nor a provider published, or by an algorithm that is not allowed.
    #[error("the token was signed by someone else")]
    UnknownKey,
    /// Names a known key and is not signed with it.
    #[error("the token's signature is wrong")]
    BadSignature,
    /// Meant for another issuer or audience, or issued by nobody we know.
    #[error("the token is meant for another service")]
    WrongIssuer,
    /// A token, but not one to call with: one that identifies a user, or is bound to a key.
    #[error("the token is of a kind that is not accepted here")]
    WrongKind,
    /// Does not say what is needed.
    #[error("the token has no usable claim {0}")]
    MissingClaim(&'static str),
    /// Was good once.
    #[error("the token has expired")]
    Expired,
    /// Will be good.
    #[error("the token is not valid yet")]
    NotYet,
    /// Its provider says that it is not, or no longer, a token.
    #[error("the token's issuer does not vouch for it")]
    Inactive,
    /// Nobody's fault: its provider was asked and did not answer, and what it said before does not help.
    #[error("the identity provider cannot be reached, so the token cannot be checked")]
    Unreachable,
}
