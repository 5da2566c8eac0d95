//! A model behind a URL, asked as OpenAI's is.

use std::sync::Arc;

use backend::Outgoing;
use backend::fetch::{Fetcher, Trust};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use search::embed::{Embedder, Error};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::config::search::EmbeddingEndpoint;

/// Largest answer: the vectors of a batch of texts, at their longest, written out.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// A model behind a URL. Its deadline is the fetcher's.
pub(super) struct Endpoint {
    given: EmbeddingEndpoint,
    /// Address and model: the same name elsewhere may be another model.
    name: String,
    fetcher: Arc<Fetcher>,
    /// Where requests run; whoever asks waits on a thread of its own.
    runtime: Handle,
}

impl Endpoint {
    /// Makes one whose requests run on this runtime.
    pub(super) fn new(given: EmbeddingEndpoint, fetcher: Arc<Fetcher>) -> Self {
        let name = format!("{} {}", given.url, given.model);
        Self { given, name, fetcher, runtime: Handle::current() }
    }
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<One>,
}

#[derive(Deserialize)]
struct One {
    index: usize,
    embedding: Vec<f32>,
}

impl Embedder for Endpoint {
    fn model(&self) -> &str {
        &self.name
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let unreachable = |reason: String| Error::Unreachable(format!("{}: {reason}", self.given.url));
        let question = Question { model: &self.given.model, input: texts };
        let body = serde_json::to_vec(&question).map_err(|error| Error::Failed(error.to_string()))?;
        let mut headers = HeaderMap::from_iter([
            (ACCEPT, HeaderValue::from_static("application/json")),
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        ]);
        if let Some(key) = &self.given.key {
            let value = HeaderValue::from_str(&format!("Bearer {}", key.reveal()));
            let mut value = value.map_err(|_| unreachable("the key is no header's value".into()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let outgoing = Outgoing { method: Method::POST, headers, body: body.into() };
        let fetch = self.fetcher.fetch(&self.given.url, Trust::Given, outgoing, MAX_ANSWER_BYTES);
        let fetched = self.runtime.block_on(fetch).map_err(|error| unreachable(error.to_string()))?;
        match fetched.status {
            status if status.is_success() => {
                vectors(&fetched.body, texts.len()).map_err(|reason| unreachable(reason.to_owned()))
            }
            // These are about the texts; of all others, the texts are innocent.
            status @ (StatusCode::BAD_REQUEST
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNPROCESSABLE_ENTITY) => {
                Err(Error::Failed(format!("{} answered {status}", self.given.url)))
            }
            status => Err(unreachable(format!("it answered {status}"))),
        }
    }
}

/// Reads the vectors of an answer into the order of the texts.
fn vectors(body: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, &'static str> {
    let answer: Answer =
        serde_json::from_slice(body).map_err(|_| "its answer holds no list of embeddings")?;
    let mut vectors = vec![Vec::new(); texts];
    for one in answer.data {
        *vectors.get_mut(one.index).ok_or("it answered for texts that were not sent")? = one.embedding;
    }
    if vectors.iter().any(Vec::is_empty) {
        return Err("its answer lacks some of the texts");
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests;
