//! The data plane: one HTTP request to an answer, phase by phase.
//!
//! Knows no store and no REST API. Messages stay bytes: parsed once, spliced, streamed.

mod admit;
mod answer;
mod answered;
mod batch;
mod bridged;
mod cancel;
mod choice;
mod consent;
mod direct;
pub mod ended;
mod error;
mod event_door;
mod exchange;
mod flights;
mod follow;
mod forward;
mod get_stream;
mod hidden;
mod hold;
mod inbound;
mod kept;
mod lending;
mod lent;
mod listening;
mod metadata;
mod metrics;
mod noting;
mod opaque;
pub mod outbound;
mod pace;
mod params;
mod parked;
mod plane;
mod refusal;
mod relay;
mod repair;
mod replay;
mod reply;
mod resource_owners;
mod rest;
mod resume;
mod rounds;
mod seats;
mod seen;
pub mod sessions;
pub mod shared;
#[cfg(test)]
mod stage;
mod standing;
mod subscribe;
mod subscriptions;
mod trail;
mod verdict;
mod virtual_server;

use std::sync::Arc;
use std::time::Instant;

use ::http::header::CONTENT_ENCODING;
use ::http::request::Parts;
use ::http::{HeaderMap, HeaderValue, Method, Request, Response};
use backend::{Backends, Caller};
use bytes::Bytes;
use catalog::access::Principal;
use catalog::connection::User;
use mcp::headers::{Accepts, SESSION_ID};
use mcp::message::{Malformed, Outline};
use routing::Table;
use routing::target::Target;

use choice::Choice;
use error::Error;
use metrics::{Endpoint, Metrics};
use noting::Noting;
use outbound::Body;
use plane::{Call, Front, Plane};
use refusal::Place;
pub use shared::{Hooks, Settings, Shared};
use standing::Standing;

/// The data plane of one thread.
pub struct Proxy {
    plane: Plane,
    metrics: Metrics,
}

/// What is known of a request by the time it fails.
struct Known {
    id: Option<Bytes>,
    front: Front,
    endpoint: Endpoint,
    /// The endpoint's short path; the path asked for where it leads nowhere.
    path: String,
    /// The host the client named.
    host: Option<HeaderValue>,
    /// The version of a server that was asked, which every answer names.
    choice: Option<Choice>,
    /// The snapshot it lives by.
    table: Option<Arc<Table>>,
}

impl Proxy {
    /// Makes the data plane of a thread, with connections of its own.
    pub fn new(shared: Arc<Shared>, backends: Arc<Backends>) -> Self {
        Self { plane: Plane { shared, backends }, metrics: Metrics::new() }
    }

    /// Says whether a request names this gateway, and comes from no page of another one; else its sender may not know
    /// whom it reaches. [`handle`](Self::handle) asks by itself.
    pub fn is_meant<B>(&self, request: &Request<B>) -> bool {
        let host = admit::host(request.uri(), request.headers());
        admit::check_host(host.as_ref(), request.headers(), &self.plane.shared.settings).is_ok()
    }

    /// Answers one request: host, caller, target, message, version, backend, answer.
    ///
    /// Cancel: a call to a modern backend ends; one to a legacy backend goes on for a while, since there a
    /// closed connection is no cancellation.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Unpin,
    {
        let started = Instant::now();
        let (mut parts, body) = request.into_parts();
        let mut known = Known {
            id: None,
            front: Front::Legacy,
            endpoint: Endpoint::Other,
            path: parts.uri.path().to_owned(),
            host: admit::host(&parts.uri, &parts.headers),
            choice: None,
            table: None,
        };
        let outcome = self.serve(&mut parts, body, &mut known).await;
        let (mut response, error) = match outcome {
            Ok(response) => (response, None),
            Err(error) => (self.refuse(&error, &known), Some(error)),
        };
        if let Some(choice) = &known.choice {
            choice.dress(response.headers_mut());
        }
        let took = started.elapsed();
        self.metrics.answered(known.endpoint, error.is_some(), took);
        metrics::log(&known.path, parts.method.as_str(), response.status(), error.as_ref(), took);
        response
    }

    async fn serve(
        &self,
        parts: &mut Parts,
        body: impl http_body::Body<Data = Bytes> + Unpin,
        known: &mut Known,
    ) -> Result<Response<Body>, Error> {
        let Plane { shared, .. } = &self.plane;
        admit::check_host(known.host.as_ref(), &parts.headers, &shared.settings)?;
        let table = known.table.insert(shared.live.full()).clone();
        let asked = parts.uri.path();
        let asked = without_prefix(asked, &shared.settings.path_prefix);
        if let Some(path) = asked.strip_prefix(metadata::WELL_KNOWN) {
            // RFC 9728 puts the well-known part before the whole path, ours stands behind the prefix.
            let target = table.target(without_prefix(path, &shared.settings.path_prefix));
            let target = target.ok_or_else(|| Error::NoSuchPath(path.into()))?;
            return Ok(metadata::document(
                &metadata::base_url(known.host.as_ref(), &shared.settings),
                target,
                shared.authenticator.issuers(),
            ));
        }
        let Some(target) = table.target(asked) else {
            if let Some(target) = event_door::endpoint(asked).and_then(|path| table.target(path)) {
                return Box::pin(self.at_door(parts, body, target, known)).await;
            }
            // Only those with a token learn what there is not.
            admit::caller(&parts.headers, known.host.as_ref(), asked, &table, shared).await?;
            return Err(Error::NoSuchPath(asked.into()));
        };
        known.is_at(target);
        let principal =
            admit::caller(&parts.headers, known.host.as_ref(), target.path(), &table, shared).await?;
        if !target.is_enabled() {
            return Err(Error::Disabled(known.path.clone()));
        }
        let plane = self.plane_for(target, &parts.headers, &principal);
        if parts.method != Method::POST {
            admit::enter(&table, &principal, target)?;
            if parts.method == Method::GET {
                pace::opening(shared, &principal, target.path())?;
            }
            return Box::pin(without_message(&plane, parts, target, &principal, known)).await;
        }
        let headers = &parts.headers;
        check_content(headers)?;
        let accepts = mcp::headers::accepts(headers);
        if !accepts.json && !accepts.events {
            return Err(Error::NotAcceptable);
        }
        let body = inbound::body(body, shared.settings.max_body_bytes, shared.settings.body_timeout).await?;
        let outline = match Outline::read(&body) {
            Ok(outline) => outline,
            Err(Malformed::Batch) => {
                return Box::pin(several(plane, parts, body, target, principal, known)).await;
            }
            Err(malformed) => {
                known.id = malformed.id().map(|id| Bytes::copy_from_slice(id.as_bytes()));
                return Err(malformed.into());
            }
        };
        known.id = outline.id.map(|id| body.slice(id.range()));
        known.front =
            inbound::classify(headers, &body, &outline).inspect_err(|_| known.front = Front::Modern)?;
        let (headers, front) = (std::mem::take(&mut parts.headers), known.front);
        let call = Call { plane, table: table.clone(), principal, headers, body, outline, front, accepts };
        if shared.note_call.is_some() {
            return Box::pin(self.noted(&call, target, known)).await;
        }
        self.run(&call, target, known).await
    }

    /// Lets the caller in and has the message answered.
    async fn run(&self, call: &Call, target: Target<'_>, known: &mut Known) -> Result<Response<Body>, Error> {
        admit::enter(&call.table, &call.principal, target)?;
        pace::message(&call.plane.shared, &call.principal, target.path(), &call.outline)?;
        admit::operate(call, target)?;
        let answered = match target {
            Target::Server(server) => {
                let is_session =
                    call.front == Front::Legacy && call.outline.method != mcp::method::Method::Initialize;
                let choice =
                    direct::choose_version(&call.plane, server, &call.headers, &call.principal, is_session)?;
                direct::post(call, known.choice.insert(choice)).await
            }
            Target::Virtual(target) => match call.front {
                Front::Legacy => virtual_server::legacy(call, target).await,
                Front::Modern => Box::pin(virtual_server::modern(call, target)).await,
            },
        };
        match answered {
            Err(error @ Error::NoConsent { .. }) => {
                consent::or_ask(error, call, known.host.as_ref(), &known.path)
            }
            answered => answered,
        }
    }

    /// The same, told of once it has ended.
    async fn noted(
        &self,
        call: &Call,
        target: Target<'_>,
        known: &mut Known,
    ) -> Result<Response<Body>, Error> {
        let noting = Noting::begin(call, target);
        let outcome = self.run(call, target, known).await;
        let Some(mut noting) = noting else { return outcome };
        if let Some(choice) = &known.choice {
            noting.chosen(choice);
        }
        noting.answered(outcome)
    }

    /// An endpoint over HTTP+SSE, for clients of 2024-11-05.
    async fn at_door(
        &self,
        parts: &mut Parts,
        body: impl http_body::Body<Data = Bytes> + Unpin,
        target: Target<'_>,
        known: &mut Known,
    ) -> Result<Response<Body>, Error> {
        let settings = &self.plane.shared.settings;
        let table = known.table.clone().expect("loaded at the start");
        known.is_at(target);
        let host = known.host.as_ref();
        let principal =
            admit::caller(&parts.headers, host, target.path(), &table, &self.plane.shared).await?;
        let plane = &self.plane_for(target, &parts.headers, &principal);
        if !target.is_enabled() {
            return Err(Error::Disabled(known.path.clone()));
        }
        admit::enter(&table, &principal, target)?;
        match parts.method {
            Method::GET => {
                pace::opening(&plane.shared, &principal, target.path())?;
                if let Target::Server(server) = target {
                    let choice = direct::choose_version(plane, server, &parts.headers, &principal, false)?;
                    known.choice = Some(choice);
                }
                return event_door::open(plane, parts, target, &principal, known.host.as_ref());
            }
            Method::POST => check_content(&parts.headers)?,
            _ => return Err(Error::MethodNotAllowed { allow: "GET, POST" }),
        }
        let body = inbound::body(body, settings.max_body_bytes, settings.body_timeout).await?;
        let standing = Standing {
            plane: plane.clone(),
            principal,
            // Everything comes on one stream, which takes both.
            accepts: Accepts { json: true, events: true },
            headers: std::mem::take(&mut parts.headers),
            table,
            path: known.path.clone(),
            host: known.host.clone(),
        };
        event_door::post(standing, parts.uri.query(), body).await
    }

    /// Returns what a request works with: connections on behalf of its caller, where a backend behind the target wants a
    /// token of theirs.
    fn plane_for(&self, target: Target<'_>, headers: &HeaderMap, principal: &Principal) -> Plane {
        let Some(bearer) = target.wants_caller().then(|| admit::presented(headers)).flatten() else {
            return self.plane.clone();
        };
        let backends = self.plane.backends.on_behalf_of(Caller::new(User::of(principal), bearer));
        Plane { shared: self.plane.shared.clone(), backends: Arc::new(backends) }
    }

    fn refuse(&self, error: &Error, known: &Known) -> Response<Body> {
        let place = Place { host: known.host.as_ref(), path: &known.path, table: known.table.as_deref() };
        let is_modern = known.front == Front::Modern;
        refusal::answer(error, known.id.as_deref(), is_modern, &place, &self.plane.shared.settings)
    }
}

impl Known {
    fn is_at(&mut self, target: Target<'_>) {
        self.path = target.path().to_owned();
        self.endpoint = match target {
            Target::Server(_) => Endpoint::Server,
            Target::Virtual(_) => Endpoint::Virtual,
        };
    }
}

/// GET opens a session's stream and DELETE ends it; both exist only for sessions of the legacy era.
async fn without_message(
    plane: &Plane,
    parts: &Parts,
    target: Target<'_>,
    principal: &Principal,
    known: &mut Known,
) -> Result<Response<Body>, Error> {
    let is_get = parts.method == Method::GET;
    if !is_get && parts.method != Method::DELETE {
        return Err(Error::MethodNotAllowed { allow: "GET, POST, DELETE" });
    }
    if inbound::is_modern(&parts.headers) || !parts.headers.contains_key(SESSION_ID) {
        return Err(Error::MethodNotAllowed { allow: "POST" });
    }
    if is_get && !mcp::headers::accepts(&parts.headers).events {
        return Err(Error::NotAcceptable);
    }
    let headers = &parts.headers;
    match target {
        Target::Server(server) => {
            let choice = direct::choose_version(plane, server, headers, principal, true)?;
            let choice = known.choice.insert(choice);
            match is_get {
                true => direct::listen(plane, headers, choice, principal).await,
                false => direct::end(plane, headers, choice, principal).await,
            }
        }
        Target::Virtual(target) if is_get => {
            virtual_server::listen::open(plane, headers, target, principal).await
        }
        Target::Virtual(target) => virtual_server::end(plane, headers, target, principal).await,
    }
}

/// A batch: only legacy clients send one, and only those of one revision.
async fn several(
    plane: Plane,
    parts: &mut Parts,
    body: Bytes,
    target: Target<'_>,
    principal: Arc<Principal>,
    known: &mut Known,
) -> Result<Response<Body>, Error> {
    let table = known.table.clone().expect("loaded at the start");
    admit::enter(&table, &principal, target)?;
    if let Target::Server(server) = target {
        let choice = direct::choose_version(&plane, server, &parts.headers, &principal, true)?;
        known.choice = Some(choice);
    }
    let standing = Standing {
        plane,
        principal,
        accepts: mcp::headers::accepts(&parts.headers),
        headers: std::mem::take(&mut parts.headers),
        table,
        path: known.path.clone(),
        host: known.host.clone(),
    };
    batch::post(standing, known.choice.as_ref(), &body).await
}

/// Refuses bodies that are no plain JSON.
fn check_content(headers: &HeaderMap) -> Result<(), Error> {
    let is_plain = headers.get(CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity");
    if mcp::headers::is_json(headers) && is_plain { Ok(()) } else { Err(Error::MediaType) }
}

/// Takes the configured prefix off, by whole segments.
fn without_prefix<'a>(path: &'a str, prefix: &str) -> &'a str {
    path.strip_prefix(prefix).filter(|rest| rest.starts_with('/')).unwrap_or(path)
}
