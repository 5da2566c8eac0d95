//! Identity providers are asked with the client for documents: `auth::Fetch` on `backend::Fetcher`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use auth::outside::{Answer, Fetch, Question, Unanswered};
use backend::fetch::Trust;
use backend::{Fetcher, Outgoing, Settings};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use tokio::runtime::Handle;

/// Largest answer that is read: key sets of the largest providers have some tens of kilobytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Asks identity providers, on the runtime it was made on.
pub(crate) struct Providers {
    fetcher: Arc<Fetcher>,
    runtime: Handle,
}

impl Providers {
    /// Makes the client, with the trust and the address rules of backends.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { fetcher: Arc::new(Fetcher::new(settings)), runtime: Handle::current() }
    }
}

impl Fetch for Providers {
    fn fetch(
        &self,
        question: Question,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, Unanswered>> + Send + '_>> {
        // A data thread may ask, and its connections would end with it.
        let asking = self.runtime.spawn(ask(self.fetcher.clone(), question));
        Box::pin(async move {
            asking.await.unwrap_or_else(|error| Err(Unanswered(format!("the question was lost: {error}"))))
        })
    }
}

async fn ask(fetcher: Arc<Fetcher>, question: Question) -> Result<Answer, Unanswered> {
    let trust = if question.is_learnt { Trust::Learnt } else { Trust::Given };
    let url = fetcher.check("url", &question.url, trust).map_err(|invalid| Unanswered(invalid.reason))?;
    let outgoing = outgoing(question)?;
    let fetched = fetcher.fetch(&url, trust, outgoing, MAX_ANSWER_BYTES).await;
    let fetched = fetched.map_err(|error| Unanswered(error.reason()))?;
    Ok(Answer {
        status: fetched.status.as_u16(),
        max_age_seconds: max_age(&fetched.headers),
        body: fetched.body.into(),
    })
}

fn outgoing(question: Question) -> Result<Outgoing, Unanswered> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(authorization) = question.authorization {
        let mut authorization = HeaderValue::from_str(authorization.reveal())
            .map_err(|_| Unanswered("what we authorize ourselves with does not fit a header".into()))?;
        authorization.set_sensitive(true);
        headers.insert(AUTHORIZATION, authorization);
    }
    let Some(form) = question.form else {
        return Ok(Outgoing { method: Method::GET, headers, body: Bytes::new() });
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    let body = Bytes::copy_from_slice(form.reveal().as_bytes());
    Ok(Outgoing { method: Method::POST, headers, body })
}

fn max_age(headers: &HeaderMap) -> Option<u64> {
    let parts = headers.get_all(CACHE_CONTROL).into_iter().filter_map(|value| value.to_str().ok());
    let mut parts = parts.flat_map(|value| value.split(',')).map(str::trim);
    parts.find_map(|part| part.strip_prefix("max-age=")?.trim_matches('"').parse().ok())
}
