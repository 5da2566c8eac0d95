//! Identity providers are asked with the client for backends: `auth::Fetch` on `backend::Backends`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use auth::outside::{Answer, Fetch, Form, Question, Unanswered};
use backend::{Backends, Outgoing, Settings};
use bytes::Bytes;
use catalog::endpoint::{AddressRule, Endpoint};
use http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use tokio::runtime::Handle;

/// Longest wait for a whole answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(8);
/// Largest answer that is read: key sets of the largest providers have some tens of kilobytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Asks identity providers, on the runtime it was made on.
pub(crate) struct Providers {
    /// For URLs of the configuration.
    given: Arc<Backends>,
    /// For URLs that a provider names on other hosts: never private ones.
    learnt: Arc<Backends>,
    runtime: Handle,
}

impl Providers {
    /// Makes the client. Deadlines and trust are those of backends, but for the answer's.
    pub(crate) fn new(settings: &Settings) -> Self {
        let client = |address_rule| {
            let (answer, idle) = (ANSWER_WITHIN, ANSWER_WITHIN);
            Arc::new(Backends::new(Arc::new(Settings { address_rule, answer, idle, ..settings.clone() })))
        };
        let learnt = client(AddressRule { allow_private: false });
        Self { given: client(settings.address_rule), learnt, runtime: Handle::current() }
    }
}

impl Fetch for Providers {
    fn fetch(
        &self,
        question: Question,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, Unanswered>> + Send + '_>> {
        let client = if question.is_learnt { &self.learnt } else { &self.given };
        // A data thread may ask, and its connections would end with it.
        let asking = self.runtime.spawn(ask(client.clone(), question));
        Box::pin(async move {
            asking.await.unwrap_or_else(|error| Err(Unanswered(format!("the question was lost: {error}"))))
        })
    }
}

async fn ask(client: Arc<Backends>, question: Question) -> Result<Answer, Unanswered> {
    let url = Endpoint::parse_url("url", &question.url, client.settings().address_rule);
    let url = url.map_err(|invalid| Unanswered(invalid.to_string()))?;
    let endpoint = Endpoint { url, headers: Vec::new(), pinned_era: None };
    if endpoint.command().is_some() {
        return Err(Unanswered("is no URL of a provider".into()));
    }
    let outgoing = outgoing(question.form)?;
    let asked = async {
        let (head, body) = client.send(&endpoint, outgoing).await?.into_parts();
        let max_age_seconds = max_age(&head.headers);
        let body = body.collect(MAX_ANSWER_BYTES).await?.to_vec();
        Ok::<_, backend::Error>(Answer { status: head.status.as_u16(), max_age_seconds, body })
    };
    match tokio::time::timeout(ANSWER_WITHIN, asked).await {
        Ok(answer) => answer.map_err(|error| Unanswered(error.reason())),
        Err(_) => Err(Unanswered(format!("no answer within {} s", ANSWER_WITHIN.as_secs()))),
    }
}

fn outgoing(form: Option<Form>) -> Result<Outgoing, Unanswered> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let Some(form) = form else { return Ok(Outgoing { method: Method::GET, headers, body: Bytes::new() }) };
    let mut authorization = HeaderValue::from_str(form.authorization.reveal())
        .map_err(|_| Unanswered("the client's secret does not fit a header".into()))?;
    authorization.set_sensitive(true);
    headers.insert(AUTHORIZATION, authorization);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    let body = Bytes::copy_from_slice(form.body.reveal().as_bytes());
    Ok(Outgoing { method: Method::POST, headers, body })
}

fn max_age(headers: &HeaderMap) -> Option<u64> {
    let parts = headers.get_all(CACHE_CONTROL).into_iter().filter_map(|value| value.to_str().ok());
    let mut parts = parts.flat_map(|value| value.split(',')).map(str::trim);
    parts.find_map(|part| part.strip_prefix("max-age=")?.trim_matches('"').parse().ok())
}
