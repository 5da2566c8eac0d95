//! Tokens for backends, had from authorization servers: kept until shortly before they end, and renewed ahead of that
//! while they are used, so that a call does not wait.
//!
//! All threads share them. They are fetched on one runtime, since a request must not end with the thread that wanted it.

mod answer;
mod caller;
mod cell;
mod digest;
mod discovery;
mod request;

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use catalog::authorization::{Authorization, Flow};
use catalog::endpoint::Endpoint;
use quick_cache::sync::Cache;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::error::Error;
use crate::fetch::Fetcher;
use answer::Granted;
pub use caller::Caller;
pub(crate) use cell::{Cell, Token};
use digest::Digest;
use discovery::Servers;

/// Most tokens kept. At one or two kilobytes each this is some ten megabytes; the least used are had anew.
const MAX_TOKENS: usize = 10_000;
/// How long a failure stands for all who want the same token, so that a server that is down is not asked by each call.
const FAILURE_STANDS: Duration = Duration::from_secs(1);
/// How often renewing is tried again while the token at hand is still good.
const RENEW_AGAIN: Duration = Duration::from_secs(2);
/// How old a token that replaced a refused one must be before a backend's 401 has another fetched: a backend that
/// refuses all must not have the authorization server asked with every call.
const REFUSED_YOUNG: Duration = Duration::from_secs(5);

/// Longest answer of an authorization server. Metadata and tokens seldom have more than some kilobytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The tokens of all backends.
pub struct Tokens {
    /// Where they are fetched.
    runtime: Handle,
    fetcher: Fetcher,
    servers: Servers,
    cells: Cache<Key, Arc<Cell>>,
}

/// An authorization at a place, and whom its tokens stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    place: Digest,
    holder: Digest,
}

/// What one token is asked with.
pub(crate) enum Source {
    /// The gateway's own name.
    Service(Arc<Authorization>),
    /// The caller's token.
    Exchange(Arc<Authorization>, Caller),
}

/// Why there is no token. Told to all who wait for the same one.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The authorization server did not give one.
    NoToken(String),
}

impl Failure {
    /// Says what an authorization server did.
    fn server(what: impl std::fmt::Display) -> Self {
        Self::NoToken(format!("the authorization server {what}"))
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoToken(reason) => Self::NoToken { reason },
        }
    }
}

/// What a route needs to have tokens: worked out once.
pub(crate) struct Place {
    authorization: Arc<Authorization>,
    digest: Digest,
    service: Arc<Cell>,
    tokens: Arc<Tokens>,
}

impl Tokens {
    /// Makes an empty set. Tokens are fetched on the current runtime, which must outlive all others that want some.
    pub fn new(fetcher: Fetcher) -> Arc<Self> {
        Arc::new(Self {
            runtime: Handle::current(),
            fetcher,
            servers: Servers::default(),
            cells: Cache::new(MAX_TOKENS),
        })
    }

    /// Makes an endpoint's authorization ready.
    pub(crate) fn place(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        authorization: &Arc<Authorization>,
    ) -> Arc<Place> {
        let digest = digest::of_place(endpoint, authorization);
        let source = Source::Service(authorization.clone());
        let service = self.cell(Key { place: digest, holder: digest::NOBODY }, source);
        Arc::new(Place { authorization: authorization.clone(), digest, service, tokens: self.clone() })
    }

    fn cell(&self, key: Key, source: Source) -> Arc<Cell> {
        let made = self.cells.get_or_insert_with(&key, || Ok::<_, ()>(Arc::new(Cell::new(source))));
        made.expect("making one cannot fail")
    }

    /// Returns the token of a cell; fetches one where there is none that is good.
    async fn token(self: &Arc<Self>, cell: &Arc<Cell>, deadline: Instant) -> Result<Arc<Token>, Error> {
        match cell.good(Instant::now()) {
            Some(token) => Ok(token),
            None => {
                let fetched = self.fetch(cell, None, deadline).await;
                cell.mark_used();
                fetched
            }
        }
    }

    /// Fetches a token, or waits for another's fetching; not needed where there is a good one other than `not`.
    async fn fetch(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        not: Option<Arc<Token>>,
        deadline: Instant,
    ) -> Result<Arc<Token>, Error> {
        let (tokens, cell) = (self.clone(), cell.clone());
        let fetching = self.runtime.spawn(async move { tokens.fetch_here(&cell, not).await });
        let no_token = |reason: &str| Error::NoToken { reason: reason.into() };
        match tokio::time::timeout_at(deadline, fetching).await {
            Ok(Ok(fetched)) => fetched.map_err(Error::from),
            Ok(Err(_)) => Err(no_token("the gateway is stopping")),
            Err(_) => Err(no_token("the authorization server did not answer in time")),
        }
    }

    async fn fetch_here(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        not: Option<Arc<Token>>,
    ) -> Result<Arc<Token>, Failure> {
        let mut turn = cell.turn.lock().await;
        let other = |token: &Arc<Token>| not.as_ref().is_none_or(|not| !Arc::ptr_eq(not, token));
        if let Some(token) = cell.peek(Instant::now()).filter(other) {
            return Ok(token);
        }
        if let Some((at, failure)) = &*turn
            && at.elapsed() < FAILURE_STANDS
        {
            return Err(failure.clone());
        }
        match self.obtain(&cell.source).await {
            Ok(granted) => {
                *turn = None;
                let token = cell.put(&granted, not.is_some());
                self.keep_fresh(cell);
                Ok(token)
            }
            Err(failure) => {
                let Failure::NoToken(reason) = &failure;
                tracing::warn!(server.path = %cell.source.authorization().server, reason, "no token for a backend");
                *turn = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    /// Renews a token ahead of its end for as long as it is used.
    fn keep_fresh(self: &Arc<Self>, cell: &Arc<Cell>) {
        if cell.begin_keeping() {
            self.runtime.spawn(keep_fresh(Arc::downgrade(self), Arc::downgrade(cell)));
        }
    }

    /// Asks for a token. Boxed by name, since asking sends, and sending may want a token.
    fn obtain<'a>(
        &'a self,
        source: &'a Source,
    ) -> Pin<Box<dyn Future<Output = Result<Granted, Failure>> + Send + 'a>> {
        Box::pin(async move {
            let authorization = source.authorization();
            let server = self.servers.of(authorization, &self.fetcher).await?;
            let form = match source {
                Source::Service(_) => request::client_credentials(authorization),
                Source::Exchange(_, caller) => request::exchange(authorization, caller.token()),
            };
            request::ask(&self.fetcher, authorization, &server, form).await
        })
    }
}

impl Source {
    fn authorization(&self) -> &Arc<Authorization> {
        match self {
            Self::Service(authorization) | Self::Exchange(authorization, _) => authorization,
        }
    }
}

impl Place {
    /// Returns the cell with the token of a caller, or of the gateway where nobody calls.
    pub(crate) fn cell(&self, caller: Option<&Caller>) -> Arc<Cell> {
        match (self.authorization.flow, caller) {
            (Flow::Service, _) | (_, None) => self.service.clone(),
            (Flow::Exchange | Flow::User, Some(caller)) => {
                let key = Key { place: self.digest, holder: caller.digest() };
                match self.tokens.cells.get(&key) {
                    Some(cell) => cell,
                    None => {
                        let source = Source::Exchange(self.authorization.clone(), caller.clone());
                        self.tokens.cell(key, source)
                    }
                }
            }
        }
    }

    /// Returns the token of a cell.
    pub(crate) async fn token(&self, cell: &Arc<Cell>, deadline: Instant) -> Result<Arc<Token>, Error> {
        self.tokens.token(cell, deadline).await
    }

    /// Returns another token after a backend refused one; `None` where another would do no better.
    pub(crate) async fn after_refusal(
        &self,
        cell: &Arc<Cell>,
        refused: &Arc<Token>,
        deadline: Instant,
    ) -> Option<Arc<Token>> {
        let is_current = cell.peek(Instant::now()).is_some_and(|current| Arc::ptr_eq(&current, refused));
        if is_current && refused.replaced_at.is_some_and(|at| at.elapsed() < REFUSED_YOUNG) {
            return None;
        }
        self.tokens.fetch(cell, Some(refused.clone()), deadline).await.ok()
    }

    /// Says whether it was made of this authorization.
    pub(crate) fn is_of(&self, authorization: &Arc<Authorization>) -> bool {
        Arc::ptr_eq(&self.authorization, authorization) || self.authorization == *authorization
    }
}

async fn keep_fresh(tokens: Weak<Tokens>, cell: Weak<Cell>) {
    let mut again = None;
    loop {
        let Some(when) = cell.upgrade().and_then(|cell| cell.renew_at()) else { return };
        tokio::time::sleep_until(again.take().unwrap_or(when)).await;
        let (Some(tokens), Some(cell)) = (tokens.upgrade(), cell.upgrade()) else { return };
        let Some(current) = cell.peek(Instant::now()).filter(|_| cell.was_used()) else {
            cell.end_keeping();
            return;
        };
        if tokens.fetch_here(&cell, Some(current)).await.is_err() {
            cell.mark_used();
            again = Some(Instant::now() + RENEW_AGAIN);
        }
    }
}

#[cfg(test)]
mod tests;
