//! Turning text into a vector that lies near those of texts that mean the same.

/// Makes vectors of texts.
///
/// **Duties:** the same text gives the same vector, all of one length, for as long as [`Embedder::model`] says the same. It may take its
/// time and block: it is asked on threads of its own, never where requests are answered. It must give up on its own
/// accord where it waits for somebody else.
pub trait Embedder: Send + Sync {
    /// Returns what tells this model from every other; vectors of different models cannot be compared.
    fn model(&self) -> &str;

    /// Returns a vector for each text, in their order.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error>;
}

/// A text has no vector, now or ever.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The model cannot be reached; later it may be.
    #[error("the embedding model cannot be reached: {0}")]
    Unreachable(String),
    /// The model does not work, or not with these texts.
    #[error("the embedding model failed: {0}")]
    Failed(String),
}
