//! One request to one version and its answer, whatever the eras of the two sides.

use std::sync::Arc;

use backend::Outgoing;
use bytes::Bytes;
use catalog::endpoint::Era;
use http::{HeaderMap, HeaderValue, Response};
use mcp::bridge::{self, Caching};
use mcp::era::Revision;
use mcp::headers::{METHOD, NAME, PROTOCOL_VERSION, encode_name};
use mcp::message::{Kind, Meta, Outline, text};
use mcp::method::{Method, Mirrored};
use mcp::rewrite::{Edit, splice};
use routing::version::VersionTarget;

use crate::answer::{self, Expected};
use crate::error::Error;
use crate::forward::{self, Errand, Patient};
use crate::hold::Hold;
use crate::kept::{self, Kept};
use crate::lending::lending;
use crate::lent::{self, Shown};
use crate::opaque::Place;
use crate::outbound::Body;
use crate::params;
use crate::plane::{Call, Front, Plane};
use crate::relay::{Dress, LEVELS, Relay, RestoreId};
use crate::repair;
use crate::resume;
use crate::rounds;
use crate::sessions::{ClientSession, Questions};

/// How long a modern client may keep a list or resource of a legacy backend, which gives no hint of its own:
/// short, since a change shows only when the backend is asked again.
const LEGACY_TTL_MS: u32 = 1_000;

/// One request for one version.
pub(crate) struct Exchange<'a> {
    pub(crate) call: &'a Call,
    pub(crate) version: Arc<VersionTarget>,
    /// The session of a legacy client.
    pub(crate) session: Option<Arc<ClientSession>>,
    /// The name the backend knows, where the client used another.
    pub(crate) renamed: Option<Renamed>,
    /// Where ids of tasks are given.
    pub(crate) place: Place<'a>,
}

/// A name in the message and the one the backend knows.
pub(crate) struct Renamed {
    pub(crate) edit: Edit,
    pub(crate) original: Box<str>,
}

/// Sends the request and streams the answer back.
///
/// Cells that are not the commonest are boxed, here and where else a request branches: the future of a request
/// is as large as its largest branch, and it is moved with every request.
pub(crate) async fn run(exchange: Exchange<'_>) -> Result<Response<Body>, Error> {
    if exchange.call.front == Front::Modern
        && let Some(shown) = lent::shown(
            exchange.call,
            exchange.version.key.path.as_str(),
            exchange.place.of(&exchange.version),
            false,
        )?
    {
        return Box::pin(go_on(exchange, shown)).await;
    }
    in_cell(exchange).await
}

/// Sends what goes on at the version where it began, whichever is active now.
async fn go_on(exchange: Exchange<'_>, shown: Shown) -> Result<Response<Body>, Error> {
    let Exchange { call, session, renamed, place, .. } = exchange;
    let version = shown.version.clone();
    let edits: Vec<Edit> = renamed.iter().map(|renamed| renamed.edit.clone()).collect();
    let Some(mut call) = lent::as_lent(call, &shown, &edits)? else {
        return in_cell(Exchange { call, version, session, renamed, place }).await;
    };
    if let Some(renamed) = renamed {
        call.headers.insert(NAME, encode_name(&renamed.original));
    }
    in_cell(Exchange { call: &call, version, session, renamed: None, place }).await
}

async fn in_cell(exchange: Exchange<'_>) -> Result<Response<Body>, Error> {
    let (front, session) = (exchange.call.front, &exchange.session);
    match (front, exchange.version.era_toward(front.era()), session) {
        (Front::Legacy, Era::Legacy, Some(session)) => {
            let session = session.clone();
            in_session(exchange, session, Dress::Same, None).await
        }
        (Front::Legacy, Era::Modern, Some(session)) => {
            let session = session.clone();
            Box::pin(legacy_to_modern(exchange, session)).await
        }
        (Front::Legacy, _, None) => Err(Error::SessionMissing),
        (Front::Modern, Era::Legacy, _) => Box::pin(modern_to_legacy(exchange)).await,
        (Front::Modern, Era::Modern, _) => Box::pin(modern_to_modern(exchange)).await,
    }
}

/// In the client's session, or one we keep for it, with a legacy backend.
async fn in_session(
    exchange: Exchange<'_>,
    session: Arc<ClientSession>,
    dress: Dress,
    questions: Option<Questions>,
) -> Result<Response<Body>, Error> {
    let Exchange { call, version, renamed, place, .. } = exchange;
    let id = call.outline.id.expect("a request has an id");
    let shared = &call.plane.shared;
    let airborne = shared.flights.begin(session.number, id.of(&call.body), &version.key);
    let is_bridged = !matches!(dress, Dress::Same);
    // A call that is parked holds no more of its request than this.
    let clients = match is_bridged {
        true => Bytes::copy_from_slice(id.of(&call.body)),
        false => call.body.slice(id.range()),
    };
    let own = airborne.own_id.clone();
    let mut edits = Vec::with_capacity(2);
    edits.extend(renamed.map(|renamed| renamed.edit));
    edits.extend(own.clone().map(|with| Edit { at: id, with }));
    let mut body = splice(&call.body, &mut edits);
    if is_bridged && let Ok(outline) = Outline::read(&body) {
        body = bridge::to_legacy(&body, &outline);
    }
    let carried = forward::carried(&call.headers);
    let errand = call.plane.errand(&session, &version);
    let patience = match call.front {
        Front::Legacy => Some(shared.settings.patience),
        Front::Modern => None,
    };
    let sent = {
        let errand = errand.clone();
        async move { errand.post(carried, body).await }
    };
    let is_changed = own.is_some();
    let upstream_id = own.unwrap_or_else(|| clients.clone());
    let ticket = is_bridged.then(|| Box::new(resume::ticket(call, &version)));
    let cancels = is_bridged.then(|| (errand.clone(), upstream_id.clone()));
    // A parked call goes on under the id of another request, so its own must be known.
    let restore = (is_changed || is_bridged).then(|| RestoreId { own: upstream_id, clients });
    let mut expected = Expected {
        server: version.key.path.as_str(),
        accepts: call.accepts,
        id: call.id(),
        hold: Hold { airborne: None, patience, cancels, ticket, questions },
        relay: Relay {
            errand: Some(errand),
            may_ask: is_bridged || call.accepts.events,
            restore,
            dress,
            ..Relay::untouched()
        },
        lending: lending(call, &version, Era::Legacy, call.front == Front::Legacy, place),
        is_untouched: false,
    };
    let Some(patience) = patience else {
        expected.hold.airborne = Some(airborne);
        return Box::pin(answer::when_come(Box::pin(sent), expected)).await;
    };
    let (answer, airborne) = Patient::new(sent, patience, Some(airborne)).await?;
    expected.hold.airborne = airborne;
    answer::to_client(answer, expected).await
}

/// A modern client and a legacy backend: the session there is ours, kept for callers who are the same and
/// can do the same.
async fn modern_to_legacy(exchange: Exchange<'_>) -> Result<Response<Body>, Error> {
    let call = exchange.call;
    if let Some(state) = call.outline.request_state {
        let state = text(state.of(&call.body)).unwrap_or_default().into_owned();
        return resume::go_on(exchange.call, &exchange.version, &state).await;
    }
    let meta = call.outline.meta.map(|span| span.of(&call.body)).unwrap_or_default();
    let log_level = Meta::read(meta).log_level.and_then(|span| text(span.of(meta)));
    let log_level = log_level.and_then(|level| LEVELS.iter().position(|known| *known == level));
    let dress = Dress::ToModern {
        method: call.outline.method,
        caching: caching(call.outline.method),
        uri: call.outline.uri.and_then(|span| text(span.of(&call.body))).map(|uri| uri.into_owned()),
        log_level,
    };
    let Kept { session, questions } = kept::session_for(call, &exchange.version, log_level);
    if questions.is_some() {
        kept::stream::hear(&call.plane.errand(&session, &exchange.version)).await?;
    }
    in_session(exchange, session, dress, questions).await
}

fn caching(method: Method) -> Option<Caching> {
    let has_hints = matches!(
        method,
        Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::TemplatesList
            | Method::ResourcesRead
            | Method::Discover
    );
    has_hints.then_some(Caching { ttl_ms: LEGACY_TTL_MS, is_private: true })
}

/// A legacy client and a modern backend: each request says who asks.
pub(crate) async fn legacy_to_modern(
    exchange: Exchange<'_>,
    session: Arc<ClientSession>,
) -> Result<Response<Body>, Error> {
    let Exchange { call, version, renamed, .. } = exchange;
    let mut edits: Vec<Edit> = Vec::new();
    let mut name = mirrored_name(call);
    if let Some(renamed) = renamed {
        edits.push(renamed.edit);
        name = Some(renamed.original.into());
    }
    let body = splice(&call.body, &mut edits);
    let dressed = dressed(&body, &session);
    let method = call.outline.method_name.and_then(|span| text(span.of(&call.body))).unwrap_or_default();
    let mut headers = forward::carried_headers(&call.headers);
    modern_headers(&mut headers, &method, name.as_deref());
    params::add(&mut headers, call, &version, name.as_deref())?;
    let patience = call.plane.shared.settings.patience;
    let id = call.outline.id.expect("a request has an id");
    let flights = &call.plane.shared.flights;
    let airborne = flights.begin_stoppable(session.number, id.of(&call.body), &version.key);
    let stop = airborne.stop.clone().expect("begun so");
    let sent = forward::send(&call.plane.backends, &version, forward::post(headers.clone(), dressed.clone()));
    let sent = async move {
        tokio::select! {
            answer = sent => answer,
            () = stop.notified() => Err(Error::Cancelled),
        }
    };
    let (answer, airborne) = Patient::new(sent, patience, Some(airborne)).await?;
    let asked = repair::Sent { call, version: &version, name: name.as_deref(), body: &dressed };
    let answer = repair::repaired(asked, &mut headers, answer).await?;
    let errand = call.plane.errand(&session, &version);
    let dress = Dress::ToLegacy { method: call.outline.method };
    let expected = Expected {
        server: version.key.path.as_str(),
        accepts: call.accepts,
        id: call.id(),
        hold: Hold::patient(patience, airborne),
        relay: Relay { errand: Some(errand.clone()), may_ask: false, dress, ..Relay::untouched() },
        lending: None,
        is_untouched: false,
    };
    let round = rounds::Round { errand, headers, body: dressed, method: call.outline.method };
    rounds::to_client(answer, expected, round).await
}

/// Gives a legacy message the `_meta` of 2026-07-28.
fn dressed(body: &Bytes, session: &ClientSession) -> Bytes {
    let Ok(outline) = Outline::read(body) else { return body.clone() };
    let log_level = session.state().log_level.clone();
    let dress = bridge::Dress {
        client_info: &session.sealed.client_info,
        client_capabilities: &session.sealed.capabilities,
        log_level: log_level.as_deref(),
    };
    bridge::to_modern(body, &outline, &dress)
}

fn mirrored_name(call: &Call) -> Option<String> {
    let span = match call.outline.method.mirrored()? {
        Mirrored::Name => call.outline.name,
        Mirrored::Uri => call.outline.uri,
        Mirrored::TaskId => call.outline.task_id,
    };
    text(span?.of(&call.body)).map(|name| name.into_owned())
}

fn modern_headers(headers: &mut HeaderMap, method: &str, name: Option<&str>) {
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(Revision::MODERN.as_str()));
    if let Ok(method) = HeaderValue::from_str(method) {
        headers.insert(METHOD, method);
    }
    if let Some(name) = name {
        headers.insert(NAME, encode_name(name));
    }
}

/// Both sides modern: the message as it is, under the name the backend knows, in body and header alike.
async fn modern_to_modern(exchange: Exchange<'_>) -> Result<Response<Body>, Error> {
    let Exchange { call, version, renamed, place, .. } = exchange;
    let mut headers = forward::carried_headers(&call.headers);
    for name in [PROTOCOL_VERSION, METHOD, NAME] {
        if let Some(value) = call.headers.get(&name) {
            headers.insert(name, value.clone());
        }
    }
    for (name, value) in &call.headers {
        if name.as_str().starts_with(mcp::param::PREFIX) {
            headers.append(name.clone(), value.clone());
        }
    }
    let mut body = call.body.clone();
    if let Some(renamed) = renamed {
        headers.insert(NAME, encode_name(&renamed.original));
        body = splice(&body, &mut [renamed.edit]);
    }
    let sent: Outgoing = forward::post(headers, body);
    let answer = forward::send(&call.plane.backends, &version, sent).await?;
    let expected = Expected {
        server: version.key.path.as_str(),
        accepts: call.accepts,
        id: call.id().filter(|_| call.outline.kind == Kind::Request),
        hold: Hold::default(),
        relay: Relay::untouched(),
        lending: lending(call, &version, Era::Modern, false, place),
        is_untouched: true,
    };
    answer::to_client(answer, expected).await
}

impl<'a> Exchange<'a> {
    /// One at a server's own path, without a session of ours.
    pub(crate) fn at_server(call: &'a Call, version: Arc<VersionTarget>) -> Self {
        Self { call, version, session: None, renamed: None, place: Place::OWN }
    }
}

impl Plane {
    /// Prepares messages of a session to a version.
    pub(crate) fn errand(&self, session: &Arc<ClientSession>, version: &Arc<VersionTarget>) -> Arc<Errand> {
        Arc::new(Errand {
            shared: self.shared.clone(),
            backends: self.backends.clone(),
            session: session.clone(),
            version: version.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
