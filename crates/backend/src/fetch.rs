//! Fetching what is no MCP: metadata and keys of authorization servers, tokens. One client for all of it, which
//! keeps in mind who named a URL.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::endpoint::{AddressRule, Endpoint};
use catalog::error::Invalid;
use http::header::{ACCEPT, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio::time::Instant;
use url::Url;

use crate::error::Error;
use crate::outgoing::Outgoing;
use crate::pool::Backends;
use crate::settings::Settings;

/// Longest wait for a document, from the name's resolution to the last byte, redirects included.
const WITHIN: Duration = Duration::from_secs(10);

/// Most redirects followed. Metadata sits behind one at the most, for a slash.
const MAX_REDIRECTS: usize = 3;

/// Fetches documents. Connections to what administrators named and to what was learnt are kept apart.
pub struct Fetcher {
    given: Backends,
    learnt: Backends,
}

/// Who named a URL, which decides where it may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trust {
    /// An administrator, or the configuration: loopback and private addresses unless the configuration denies them.
    Given,
    /// A backend, an authorization server, or somebody who is no administrator: public addresses only, unless the
    /// configuration allows more.
    Learnt,
}

/// What came of a fetch, whatever its status.
#[derive(Debug)]
pub struct Fetched {
    /// Its status. A redirect to another origin stands here as it came.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, whole.
    pub body: Bytes,
}

impl Trust {
    /// Returns the trust in a URL that was read at `source`, which is trusted like `self`: the same where both are of
    /// one origin, since nothing is reached then that was not reached already.
    pub fn handed_on(self, source: &Url, found: &Url) -> Self {
        if source.origin() == found.origin() { self } else { Self::Learnt }
    }
}

impl Fetcher {
    /// Makes a fetcher with the deadlines, the trust and the address rules of backends.
    pub fn new(settings: &Settings) -> Self {
        let ruled = |address_rule| Backends::new(Arc::new(Settings { address_rule, ..settings.clone() }));
        Self { given: ruled(settings.address_rule), learnt: ruled(settings.learnt_address_rule) }
    }

    /// Reads a URL that is to be fetched: `http` or `https`, a host, nothing else that could mislead, and no address
    /// that is forbidden to such a URL. Names are resolved, and their addresses checked, when it is fetched.
    pub fn check(&self, field: &str, text: &str, trust: Trust) -> Result<Url, Invalid> {
        let url = Endpoint::parse_url(field, text, self.rule(trust))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            _ => Err(Invalid::new(field, format!("{text:?} must begin with http:// or https://"))),
        }
    }

    /// Gets a document of at most `limit` bytes.
    pub async fn get(&self, url: &Url, trust: Trust, limit: usize) -> Result<Fetched, Error> {
        self.fetch(url, trust, asking_for("application/json"), limit).await
    }

    /// Gets a document that takes longer than others.
    pub async fn get_within(
        &self,
        url: &Url,
        trust: Trust,
        limit: usize,
        within: Duration,
    ) -> Result<Fetched, Error> {
        self.fetch_until(url, trust, asking_for("*/*"), limit, Instant::now() + within).await
    }

    /// Sends a request and reads its answer, of at most `limit` bytes. The connection goes to an address that was
    /// checked. A redirect is followed for GET only, and only within the origin.
    pub async fn fetch(
        &self,
        url: &Url,
        trust: Trust,
        outgoing: Outgoing,
        limit: usize,
    ) -> Result<Fetched, Error> {
        self.fetch_until(url, trust, outgoing, limit, Instant::now() + WITHIN).await
    }

    async fn fetch_until(
        &self,
        url: &Url,
        trust: Trust,
        outgoing: Outgoing,
        limit: usize,
        deadline: Instant,
    ) -> Result<Fetched, Error> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let fetched = self.once(&url, trust, outgoing.clone(), limit, deadline).await?;
            let next = Some(&fetched).filter(|_| outgoing.method == Method::GET).and_then(|f| f.next(&url));
            let Some(next) = next else { return Ok(fetched) };
            url = next;
        }
        Err(Error::unreachable("redirected too often"))
    }

    async fn once(
        &self,
        url: &Url,
        trust: Trust,
        outgoing: Outgoing,
        limit: usize,
        deadline: Instant,
    ) -> Result<Fetched, Error> {
        // By the checked form alone, so that nothing is started or kept open by a URL's scheme or fragment.
        let url = self
            .check("url", url.as_str(), trust)
            .map_err(|fault| Error::ForbiddenAddress { reason: fault.reason })?;
        let endpoint = Endpoint::at(url);
        let backends = self.backends(trust);
        let reply = backends.send_by(&endpoint, outgoing, Instant::now(), deadline).await?;
        let (head, body) = reply.into_parts();
        let timed_out = Error::TimedOut { what: "no whole answer", may_have_run: true };
        let body = tokio::time::timeout_at(deadline, body.collect(limit)).await.unwrap_or(Err(timed_out))?;
        Ok(Fetched { status: head.status, headers: head.headers, body })
    }

    fn backends(&self, trust: Trust) -> &Backends {
        match trust {
            Trust::Given => &self.given,
            Trust::Learnt => &self.learnt,
        }
    }

    fn rule(&self, trust: Trust) -> AddressRule {
        self.backends(trust).settings.address_rule
    }
}

/// A request for a document of these media types.
fn asking_for(media: &'static str) -> Outgoing {
    let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(media))]);
    Outgoing { method: Method::GET, headers, body: Bytes::new() }
}

impl Fetched {
    /// Returns where a redirect within the origin leads.
    fn next(&self, from: &Url) -> Option<Url> {
        if !self.status.is_redirection() {
            return None;
        }
        let to = from.join(self.headers.get(LOCATION)?.to_str().ok()?).ok()?;
        (to.origin() == from.origin()).then_some(to)
    }
}

#[cfg(test)]
mod tests;
