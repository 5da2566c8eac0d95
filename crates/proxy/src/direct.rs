//! A registered server: the version's backend gets the message as it is, and the client the answer.

use std::sync::Arc;

use backend::Outgoing;
use bytes::Bytes;
use catalog::access::Principal;
use catalog::endpoint::Era;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method as Verb, Response, StatusCode};
use mcp::headers::{LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};
use mcp::message::Kind;
use mcp::method::Method;
use mcp::rewrite::{Edit, splice};
use routing::target::ServerTarget;
use routing::version::VersionTarget;

use crate::answer::{self, Expected};
use crate::bridged;
use crate::choice::{Choice, choose};
use crate::error::Error;
use crate::exchange::{self, Exchange};
use crate::flights::Airborne;
use crate::forward::{self, Back, EVENTS, Patient};
use crate::hidden;
use crate::hold::Hold;
use crate::inbound;
use crate::lending::{self, lending};
use crate::lent::{self, Loan};
use crate::opaque::{DirectSession, Place, Unwrapped};
use crate::outbound::Body;
use crate::plane::{Call, Front, Plane};
use crate::relay::{Relay, RestoreId};
use crate::reply;
use crate::subscriptions;

/// Answers a POST.
///
/// What the request shows again decides the version, whatever `choice` was, and `choice` says so then.
pub(crate) async fn post(call: &Call, choice: &mut Choice) -> Result<Response<Body>, Error> {
    if hidden::hides(call, choice.version.key.path.as_str()) {
        return Box::pin(in_part(call, choice)).await;
    }
    whole(call, choice).await
}

/// Answers a request for a list of which the caller may see a part.
async fn in_part(call: &Call, choice: &mut Choice) -> Result<Response<Body>, Error> {
    let answer = whole(call, choice).await?;
    hidden::tools(call, choice.version.key.path.as_str(), answer).await
}

async fn whole(call: &Call, choice: &mut Choice) -> Result<Response<Body>, Error> {
    let is_held = choice.session.is_some();
    let path = choice.version.key.path.as_str();
    if let Some(shown) = lent::shown(call, path, path, is_held)? {
        // No other version knows the session.
        if is_held && !Arc::ptr_eq(&shown.version, &choice.version) {
            return Err(Loan::Task.unknown());
        }
        choice.belongs_to(shown.version.clone());
        // What a modern client shows is opened on its way out, since a virtual server has it there too.
        if call.front == Front::Legacy
            && let Some(call) = lent::as_lent(call, &shown, &[])?
        {
            return Box::pin(to_version(&call, choice)).await;
        }
    }
    // Only legacy clients tell what task a message belongs to.
    if call.front == Front::Legacy
        && choice.version.has_tasks
        && let Some(call) = lent::as_related(call, choice.version.key.path.as_str())
    {
        return Box::pin(to_version(&call, choice)).await;
    }
    to_version(call, choice).await
}

async fn to_version(call: &Call, choice: &Choice) -> Result<Response<Body>, Error> {
    match (call.front, back_era(choice, call.front)) {
        (Front::Legacy, Era::Legacy) => legacy(call, choice).await,
        (Front::Legacy, Era::Modern) => Box::pin(bridged::legacy(call, choice)).await,
        (Front::Modern, _) if call.outline.kind == Kind::Notification => {
            Ok(reply::empty(StatusCode::ACCEPTED))
        }
        (Front::Modern, Era::Legacy) => Box::pin(bridged::modern(call, &choice.version)).await,
        (Front::Modern, Era::Modern) if call.outline.method.is_removed() => Err(call.unknown_method()),
        (Front::Modern, Era::Modern) if call.outline.method == Method::Listen => {
            Box::pin(subscriptions::passed_on(call, choice)).await
        }
        (Front::Modern, Era::Modern) => {
            let version = choice.version.clone();
            Box::pin(exchange::run(Exchange::at_server(call, version))).await
        }
    }
}

/// Returns the era in which the version's backend is spoken to: that of the session, as long as the backend speaks it,
/// else the client's own where it can be.
fn back_era(choice: &Choice, front: Front) -> Era {
    let back = choice.version.era_toward(front.era());
    match &choice.session {
        Some(unwrapped) if back == Era::Legacy && unwrapped.session.is_ours() => {
            choice.version.era_toward(Era::Modern)
        }
        _ => back,
    }
}

/// Chooses the version for a request: that of its session, else by the header.
pub(crate) fn choose_version(
    plane: &Plane,
    server: &ServerTarget,
    headers: &HeaderMap,
    principal: &Principal,
    may_have_session: bool,
) -> Result<Choice, Error> {
    let strict = server.strict_versions || plane.shared.settings.strict_versions;
    let named = if may_have_session { inbound::session_id(headers)? } else { None };
    let Some(text) = named else { return choose(headers, server, strict) };
    let session = plane.shared.opaque.unwrap_session(text, server.path.as_str(), principal);
    let session = session.ok_or(Error::SessionUnknown)?;
    crate::choice::of_session(headers, server, session)
}

async fn legacy(call: &Call, choice: &Choice) -> Result<Response<Body>, Error> {
    let version = &choice.version;
    let mut headers = forward::carried_headers(&call.headers);
    if let Some(value) = call.headers.get(PROTOCOL_VERSION) {
        headers.insert(PROTOCOL_VERSION, value.clone());
    }
    let mut body = call.body.clone();
    let mut airborne = None;
    if let Some(session) = &choice.session {
        headers.insert(SESSION_ID, session_header(session)?);
        (body, airborne) = in_session(call, session.number, version, body);
    }
    let own = airborne.as_ref().and_then(|flight| flight.own_id.clone());
    let restore =
        own.zip(call.outline.id).map(|(own, id)| RestoreId { own, clients: call.body.slice(id.range()) });
    let patience = call.plane.shared.settings.patience;
    let answer = forward::send(&call.plane.backends, version, forward::post(headers, body));
    let (answer, airborne) = Patient::new(answer, patience, airborne).await?;
    let session = answer.headers().get(SESSION_ID).cloned();
    let is_initialize = call.outline.method == Method::Initialize;
    let expected = Expected {
        server: version.key.path.as_str(),
        accepts: call.accepts,
        id: call.id().filter(|_| call.outline.kind == Kind::Request),
        hold: Hold::patient(patience, airborne),
        relay: Relay { restore, ..Relay::untouched() },
        lending: lending(call, version, Era::Legacy, choice.session.is_some(), Place::OWN),
        is_untouched: true,
    };
    let mut response = answer::to_client(answer, expected).await?;
    if let Some(session) = session.filter(|_| is_initialize) {
        let wrapped = wrap(call, version, &session)?;
        response.headers_mut().insert(SESSION_ID, wrapped);
    }
    Ok(response)
}

/// Enters a request among those under way in its backend session, and gives its message the id it has
/// there; a cancellation gets the id of the request it means, and keeps it from others until it was sent.
fn in_session(call: &Call, session: u64, version: &VersionTarget, body: Bytes) -> (Bytes, Option<Airborne>) {
    let flights = &call.plane.shared.flights;
    match (call.outline.kind, call.outline.id) {
        (Kind::Request, Some(id)) => {
            let airborne = flights.begin(session, id.of(&call.body), &version.key);
            let body = match &airborne.own_id {
                Some(own) => splice(&body, &mut [Edit { at: id, with: own.clone() }]),
                None => body,
            };
            (body, Some(airborne))
        }
        (Kind::Notification, _) if call.outline.method == Method::Cancelled => {
            let (cancellation, body) = crate::cancel::with_upstream_id(call, session, body);
            (body, cancellation.map(|cancellation| cancellation.held))
        }
        _ => (body, None),
    }
}

fn wrap(call: &Call, version: &VersionTarget, session: &HeaderValue) -> Result<HeaderValue, Error> {
    let path = version.key.path.as_str();
    let unusable =
        || Error::Unusable { server: path.into(), reason: "its session id is not printable".into() };
    let session = session.to_str().map_err(|_| unusable())?;
    let label = version.key.label.to_string();
    let session = DirectSession { label, identity: version.identity, session: session.into() };
    let wrapped = call.plane.shared.opaque.wrap_session(&session, path, &call.principal);
    Ok(HeaderValue::from_str(&wrapped).expect("base64url is printable"))
}

/// Opens the GET stream of a session.
pub(crate) async fn listen(
    plane: &Plane,
    headers: &HeaderMap,
    choice: &Choice,
    principal: &Principal,
) -> Result<Response<Body>, Error> {
    if choice.session.as_ref().is_some_and(|unwrapped| unwrapped.session.is_ours()) {
        return bridged::listen(plane, headers, choice, principal).await;
    }
    let outgoing =
        Outgoing { method: Verb::GET, headers: session_headers(headers, choice)?, body: Bytes::new() };
    let answer = forward::send(&plane.backends, &choice.version, outgoing).await?;
    let server = choice.version.key.path.as_str();
    let (head, back) = answer.into_parts();
    match back {
        Back::Coming(mut reply) if head.status == StatusCode::OK => {
            // Such a stream is silent for as long as nothing happens.
            reply.set_idle(None);
            let closing = plane.shared.while_allowed(principal, server, Some(&choice.version));
            let lender = lending::of_stream(&plane.shared, &choice.version, principal, None);
            Ok(answer::stream(Body::raw_events(reply, Hold::default(), lender, Some(closing))))
        }
        _ if head.status == StatusCode::METHOD_NOT_ALLOWED => {
            Err(Error::MethodNotAllowed { allow: "POST, DELETE" })
        }
        back => answer::to_client(Response::from_parts(head, back), about_session(server)).await,
    }
}

/// Ends a session at its backend.
pub(crate) async fn end(
    plane: &Plane,
    headers: &HeaderMap,
    choice: &Choice,
    principal: &Principal,
) -> Result<Response<Body>, Error> {
    if choice.session.as_ref().is_some_and(|unwrapped| unwrapped.session.is_ours()) {
        return bridged::end(plane, headers, choice, principal).await;
    }
    let outgoing =
        Outgoing { method: Verb::DELETE, headers: session_headers(headers, choice)?, body: Bytes::new() };
    let answer = forward::send(&plane.backends, &choice.version, outgoing).await?;
    if answer.status() == StatusCode::METHOD_NOT_ALLOWED {
        return Err(Error::MethodNotAllowed { allow: "GET, POST" });
    }
    let status = answer.status();
    if status.is_success() {
        return Ok(reply::empty(status));
    }
    answer::to_client(answer, about_session(choice.version.key.path.as_str())).await
}

fn session_headers(client: &HeaderMap, choice: &Choice) -> Result<HeaderMap, Error> {
    let session = choice.session.as_ref().ok_or(Error::MethodNotAllowed { allow: "POST" })?;
    let mut headers = forward::carried_headers(client);
    headers.insert(ACCEPT, EVENTS);
    headers.insert(SESSION_ID, session_header(session)?);
    for name in [PROTOCOL_VERSION, LAST_EVENT_ID] {
        if let Some(value) = client.get(&name) {
            headers.insert(name, value.clone());
        }
    }
    Ok(headers)
}

fn session_header(session: &Unwrapped) -> Result<HeaderValue, Error> {
    session.header.clone().ok_or(Error::SessionUnknown)
}

fn about_session(server: &str) -> Expected<'_> {
    Expected {
        server,
        accepts: mcp::headers::Accepts { json: true, events: true },
        id: None,
        hold: Hold::default(),
        relay: Relay::untouched(),
        lending: None,
        is_untouched: true,
    }
}

#[cfg(test)]
mod tests;
