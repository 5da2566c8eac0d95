//! Tokens for backends, had from authorization servers: kept until shortly before they end, and renewed ahead of that
//! while they are used, so that a call does not wait.
//!
//! All threads share them. They are fetched on one runtime, since a request must not end with the thread that wanted it.

mod answer;
mod caller;
mod cell;
mod digest;
mod discovery;
mod place;
mod request;
mod user;
mod vault;

use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use catalog::authorization::Authorization;
use catalog::connection::{Connection, ConnectionKey};
use catalog::time::Timestamp;
use quick_cache::sync::Cache;
use tokio::runtime::Handle;
use tokio::time::Instant;
use url::Url;

use crate::error::Error;
use crate::fetch::Fetcher;
use answer::Granted;
pub use caller::Caller;
pub(crate) use cell::{Cell, Token};
use digest::Digest;
use discovery::Servers;
pub(crate) use place::Place;
pub use user::{Allowed, Answer, Asking};
pub use vault::{Connections, Vault, Writing};

/// Most tokens kept. At one or two kilobytes each this is some ten megabytes; the least used are had anew.
const MAX_TOKENS: usize = 10_000;
/// How long a failure stands for all who want the same token, so that a server that is down is not asked by each call.
const FAILURE_STANDS: Duration = Duration::from_secs(1);
/// How often renewing is tried again while the token at hand is still good.
const RENEW_AGAIN: Duration = Duration::from_secs(2);
/// How old a token that replaced a refused one must be before a backend's 401 has another fetched: a backend that
/// refuses all must not have the authorization server asked with every call.
const REFUSED_YOUNG: Duration = Duration::from_secs(5);

/// How much longer a user's token must be good to be taken as it is, in milliseconds.
const STILL_GOOD_MS: u64 = 5_000;

/// A token that is being asked for.
type Obtaining<'a> = Pin<Box<dyn Future<Output = Result<Granted, Failure>> + Send + 'a>>;

/// Longest answer of an authorization server. Metadata and tokens seldom have more than some kilobytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The tokens of all backends.
pub struct Tokens {
    /// Where they are fetched.
    runtime: Handle,
    fetcher: Fetcher,
    servers: Servers,
    cells: Cache<Key, Arc<Cell>>,
    /// What users allowed, as it is now.
    connections: ArcSwap<Connections>,
    /// Who keeps what is renewed.
    vault: OnceLock<Arc<dyn Vault>>,
}

/// An authorization at a place, and whom its tokens stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    place: Digest,
    holder: Digest,
}

/// What one token is asked with.
pub(crate) struct Source {
    authorization: Arc<Authorization>,
    /// The backend's URL.
    backend: Url,
    holder: Holder,
}

/// Whom a token stands for.
enum Holder {
    /// The gateway.
    Gateway,
    /// A caller, whose token is exchanged.
    Caller(Caller),
    /// A user, who allowed it: the connection of this id.
    User(ConnectionKey, Arc<str>),
}

/// Why there is no token. Told to all who wait for the same one.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The authorization server did not give one.
    NoToken(String),
    /// The authorization server refused, with this code.
    Refused(String),
    /// The user has not allowed it, or no longer.
    NoConsent,
}

impl Failure {
    /// Says what an authorization server did.
    fn server(what: impl std::fmt::Display) -> Self {
        Self::NoToken(format!("the authorization server {what}"))
    }

    /// Returns what happened, in a few words.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::NoToken(reason) => reason.clone(),
            Self::Refused(code) => format!("the authorization server refused: {code}"),
            Self::NoConsent => "no user has allowed it, or no longer".into(),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoConsent => Self::NoConsent,
            other => Self::NoToken { reason: other.reason() },
        }
    }
}

impl Tokens {
    /// Makes an empty set. Tokens are fetched on the current runtime, which must outlive all others that want some.
    pub fn new(fetcher: Fetcher) -> Arc<Self> {
        Arc::new(Self {
            runtime: Handle::current(),
            fetcher,
            servers: Servers::default(),
            cells: Cache::new(MAX_TOKENS),
            connections: ArcSwap::default(),
            vault: OnceLock::new(),
        })
    }

    /// Takes in what users allow from now on: who took something back is asked anew with their next call.
    pub fn set_connections(&self, connections: Arc<Connections>) {
        self.connections.store(connections);
    }

    /// Sets who keeps what is renewed, once.
    pub fn set_vault(&self, vault: Arc<dyn Vault>) {
        // A second one would be a second registry, which there is not.
        let _ = self.vault.set(vault);
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
        match self.obtain(&cell.source, not.is_some()).await {
            Ok(granted) => {
                *turn = None;
                let token = cell.put(&granted, not.is_some());
                self.keep_fresh(cell);
                Ok(token)
            }
            Err(failure) => {
                if !matches!(failure, Failure::NoConsent) {
                    let server = &cell.source.authorization.server;
                    tracing::warn!(server.path = %server, reason = failure.reason(), "no token for a backend");
                }
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

    /// Asks for a token, or takes the one that a user's connection has, unless that is to be replaced. Boxed by name, since
    /// asking sends, and sending may want a token.
    fn obtain<'a>(&'a self, source: &'a Source, is_replacement: bool) -> Obtaining<'a> {
        Box::pin(async move {
            let authorization = &source.authorization;
            let form = match &source.holder {
                Holder::Gateway => request::client_credentials(authorization),
                Holder::Caller(caller) => request::exchange(authorization, caller.token()),
                Holder::User(key, id) => return self.of_user(source, key, id, is_replacement).await,
            };
            let server = self.servers.of(authorization, &source.backend, &self.fetcher).await?;
            request::ask(&self.fetcher, authorization, &server, form).await
        })
    }

    async fn of_user(
        &self,
        source: &Source,
        key: &ConnectionKey,
        id: &Arc<str>,
        is_replacement: bool,
    ) -> Result<Granted, Failure> {
        let known = self.connections.load().get(key).filter(|known| known.id == *id).cloned();
        let known = known.ok_or(Failure::NoConsent)?;
        let left = u64::try_from(known.expires_at.0 - Timestamp::now().0).unwrap_or_default();
        if !is_replacement && left > STILL_GOOD_MS {
            return answer::granted(&known.access_token, Duration::from_millis(left));
        }
        let refresh_token = known.refresh_token.as_ref().ok_or(Failure::NoConsent)?;
        let server = self.servers.of(&source.authorization, &source.backend, &self.fetcher).await?;
        // A backend that names another authorization server now must not have it shown what the first one gave.
        if server.token.url.as_str() != known.token_url {
            return Err(Failure::NoConsent);
        }
        let form = user::renewal(&source.authorization, &server, refresh_token);
        match request::ask(&self.fetcher, &source.authorization, &server, form).await {
            Ok(granted) => {
                self.keep(&known, &granted).await;
                Ok(granted)
            }
            // It ended, or its user took it back there (RFC 6749, section 5.2).
            Err(Failure::Refused(code)) if code == "invalid_grant" => {
                if let Some(vault) = self.vault.get() {
                    vault.forget(key.clone(), id.clone()).await;
                }
                Err(Failure::NoConsent)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Has a connection kept with its new tokens, before they are used: the old ones may be void already.
    async fn keep(&self, old: &Connection, granted: &Granted) {
        let Some(vault) = self.vault.get() else { return };
        let now = Timestamp::now();
        let seconds = i64::try_from(granted.life.as_secs()).unwrap_or_default();
        let renewed = Connection {
            access_token: granted.token.clone(),
            expires_at: now.plus_seconds(seconds),
            refresh_token: granted.refresh_token.clone().or_else(|| old.refresh_token.clone()),
            scope: granted.scope.clone().unwrap_or_else(|| old.scope.clone()),
            updated_at: now,
            ..old.clone()
        };
        vault.keep(renewed).await;
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
