//! An authorization at a backend's place: which token goes with a request there, and which instead of one that was refused.

use std::sync::Arc;

use catalog::authorization::{Authorization, Flow};
use catalog::connection::{Connection, ConnectionKey, User};
use catalog::endpoint::Endpoint;
use tokio::time::Instant;
use url::Url;

use super::cell::{Cell, Token};
use super::digest::{self, Digest};
use super::{Caller, Holder, Key, REFUSED_YOUNG, Source, Tokens};
use crate::error::Error;

/// What a route needs to have tokens: worked out once.
pub(crate) struct Place {
    authorization: Arc<Authorization>,
    backend: Url,
    digest: Digest,
    /// The digest as connections name it.
    name: String,
    service: Arc<Cell>,
    tokens: Arc<Tokens>,
}

impl Tokens {
    /// Makes an endpoint's authorization ready.
    pub(crate) fn place(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        authorization: &Arc<Authorization>,
    ) -> Arc<Place> {
        let digest = digest::of_place(endpoint, authorization);
        let backend = endpoint.url.clone();
        let source = Source {
            authorization: authorization.clone(),
            backend: backend.clone(),
            holder: Holder::Gateway,
        };
        let service = self.cell(Key { place: digest, holder: digest::NOBODY }, source);
        Arc::new(Place {
            authorization: authorization.clone(),
            backend,
            digest,
            name: digest::hex(&digest),
            service,
            tokens: self.clone(),
        })
    }
}

impl Place {
    /// Returns the cell with the token of a caller. Where nobody calls it is that of the gateway, or, where only users can
    /// have one, that of the first of them.
    pub(crate) fn cell(&self, caller: Option<&Caller>) -> Result<Arc<Cell>, Error> {
        match (self.authorization.flow, caller) {
            (Flow::Service, _) | (Flow::Exchange, None) => Ok(self.service.clone()),
            (Flow::Exchange, Some(caller)) => {
                Ok(self.cell_of(caller.digest(), || Holder::Caller(caller.clone())))
            }
            (Flow::User, caller) => {
                let connection = self.connection(caller).ok_or(Error::NoConsent)?;
                let holder = digest::of(&["connection", &connection.id]);
                Ok(self.cell_of(holder, || Holder::User(connection.key.clone(), connection.id.clone())))
            }
        }
    }

    fn cell_of(&self, holder: Digest, make: impl FnOnce() -> Holder) -> Arc<Cell> {
        let key = Key { place: self.digest, holder };
        match self.tokens.cells.get(&key) {
            Some(cell) => cell,
            None => {
                let (authorization, backend) = (self.authorization.clone(), self.backend.clone());
                self.tokens.cell(key, Source { authorization, backend, holder: make() })
            }
        }
    }

    /// Finds what a user allowed for this very place; where nobody calls, what the first of all users did.
    fn connection(&self, caller: Option<&Caller>) -> Option<Arc<Connection>> {
        let connections = self.tokens.connections.load();
        let server = &self.authorization.server;
        let is_for_here = |one: &&Arc<Connection>| one.place == self.name;
        match caller {
            Some(caller) => {
                let key = ConnectionKey { server: server.clone(), user: caller.user().clone() };
                connections.get(&key).filter(is_for_here).cloned()
            }
            None => {
                let user = User { issuer: "".into(), subject: "".into() };
                let from = ConnectionKey { server: server.clone(), user };
                let theirs = connections.range(from..).take_while(|(key, _)| key.server == *server);
                theirs.map(|(_, one)| one).filter(is_for_here).min_by_key(|one| one.created_at.0).cloned()
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
