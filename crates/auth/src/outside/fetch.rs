//! How a provider is asked: what this crate wants of an HTTP client, which it does not know.

use std::future::Future;
use std::pin::Pin;

use catalog::endpoint::Secret;

/// Asks identity providers. The implementer sees to deadlines, to the size of answers, and to which addresses may be
/// asked; redirects lead to no other host.
pub trait Fetch: Send + Sync {
    /// Asks a question and waits for the whole answer, whatever its status.
    fn fetch(
        &self,
        question: Question,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, Unanswered>> + Send + '_>>;
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The URL.
    pub url: String,
    /// Whether the URL comes from a provider's own metadata and not from the operator, who may name private addresses.
    pub is_learnt: bool,
    /// What is posted; a plain GET without it.
    pub form: Option<Form>,
}

/// A form that is posted by a client that says who it is (RFC 6749, section 2.3.1).
#[derive(Clone, Debug)]
pub struct Form {
    /// The form, encoded: `token=…`.
    pub body: Secret,
    /// The value of `Authorization`.
    pub authorization: Secret,
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// For how many seconds it may be kept, where it says so.
    pub max_age_seconds: Option<u64>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no answer; for the log.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unanswered(pub String);
