//! How a provider is asked: what this crate wants of an HTTP client, which it does not know.

use std::future::Future;
use std::pin::Pin;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use catalog::endpoint::Secret;
use url::form_urlencoded::byte_serialize;

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
    /// The value of `Authorization`, where we say who we are (RFC 6749, section 2.3.1) or show a token.
    pub authorization: Option<Secret>,
    /// The form that is posted, encoded: `token=…`; a plain GET without it.
    pub form: Option<Secret>,
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

/// Writes who a client is (RFC 6749, section 2.3.1).
pub(super) fn basic(client_id: &str, client_secret: &Secret) -> Secret {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(client_id), encoded(client_secret.reveal()));
    Secret::new(format!("Basic {}", STANDARD.encode(pair)))
}
