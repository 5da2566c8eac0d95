//! A virtual server: which of the files below answers a message.

use std::sync::Arc;

use catalog::access::Principal;
use http::{HeaderMap, Response, StatusCode};
use mcp::list::ListKind;
use mcp::message::Kind;
use mcp::method::Method;
use routing::target::VirtualTarget;

use crate::error::Error;
use crate::inbound;
use crate::lent;
use crate::outbound::Body;
use crate::plane::{Call, Plane};
use crate::reply;
use crate::seen;
use crate::sessions::ClientSession;
use crate::subscriptions;

pub(crate) mod aside;
mod call;
mod greet;
mod list;
pub(crate) mod listen;
mod tasks;

/// Answers a message of a legacy client.
pub(crate) async fn legacy(call: &Call, target: &Arc<VirtualTarget>) -> Result<Response<Body>, Error> {
    if call.outline.kind == Kind::Request && call.outline.method == Method::Initialize {
        return greet::initialize(call, target);
    }
    if let Some(call) = lent::as_related(call, &target.binding) {
        return Box::pin(in_session(&call, target)).await;
    }
    in_session(call, target).await
}

async fn in_session(call: &Call, target: &Arc<VirtualTarget>) -> Result<Response<Body>, Error> {
    let session = session(&call.plane, &call.headers, target, &call.principal).await?;
    match call.outline.kind {
        Kind::Response => Ok(aside::answered(call, &session)),
        Kind::Notification => Ok(aside::notified(call, &session)),
        Kind::Request => request(call, target, session).await,
    }
}

/// Answers a message of a modern client.
pub(crate) async fn modern(call: &Call, target: &Arc<VirtualTarget>) -> Result<Response<Body>, Error> {
    if call.outline.kind == Kind::Notification {
        return Ok(reply::empty(StatusCode::ACCEPTED));
    }
    match call.outline.method {
        Method::Discover => Ok(greet::discover(call, target)),
        Method::Ping | Method::Subscribe | Method::Unsubscribe | Method::SetLevel => {
            Err(call.unknown_method())
        }
        Method::Listen => subscriptions::of_virtual(call, target).await,
        _ => named(call, target, None).await,
    }
}

async fn request(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Arc<ClientSession>,
) -> Result<Response<Body>, Error> {
    match call.outline.method {
        Method::Ping => Ok(reply::result(call, b"{}")),
        Method::SetLevel => aside::set_level(call, &session).await,
        _ => named(call, target, Some(session)).await,
    }
}

/// Answers what both eras ask alike.
async fn named(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Option<Arc<ClientSession>>,
) -> Result<Response<Body>, Error> {
    if !target.face(call.front.era()).answers(call.outline.method) {
        return Err(call.unknown_method());
    }
    match call.outline.method {
        Method::ToolsList => list::answer(call, target, ListKind::Tools),
        Method::PromptsList => list::answer(call, target, ListKind::Prompts),
        Method::ResourcesList => list::answer(call, target, ListKind::Resources),
        Method::TemplatesList => list::answer(call, target, ListKind::Templates),
        Method::ToolsCall => call::tool(call, target, session).await,
        Method::PromptsGet => call::prompt(call, target, session).await,
        Method::ResourcesRead => call::read(call, target, session).await,
        Method::Complete => call::complete(call, target, session).await,
        Method::Subscribe => call::subscribe(call, target, session).await,
        Method::Unsubscribe => call::unsubscribe(call, target, session).await,
        Method::TasksList => Box::pin(tasks::list(call, target, session)).await,
        method if lent::names_task(method) => tasks::one(call, target, session).await,
        _ => Err(call.unknown_method()),
    }
}

/// Ends a session and the backend sessions under it.
pub(crate) async fn end(
    plane: &Plane,
    headers: &HeaderMap,
    target: &Arc<VirtualTarget>,
    principal: &Principal,
) -> Result<Response<Body>, Error> {
    let session = session(plane, headers, target, principal).await?;
    let token = inbound::session_id(headers)?.ok_or(Error::SessionMissing)?;
    plane.shared.sessions.end(token, &session);
    if let Some(client) = seen::client(target, principal, Some(&session)) {
        plane.shared.seen.forget(&client);
    }
    session.state().stream = None;
    for (key, open) in session.open_backends() {
        let version = target.backends.iter().find(|backend| backend.key == key).cloned();
        let id = open.id.as_ref().and_then(|id| id.to_str().ok()).map(str::to_owned);
        let (Some(version), Some(id)) = (version, id) else { continue };
        let backends = plane.backends.clone();
        // The client need not wait for it, and a backend that does not answer loses nothing but a session.
        tokio::spawn(async move { backends.end_session(&version.endpoint, &id, open.revision).await });
    }
    Ok(reply::empty(StatusCode::NO_CONTENT))
}

/// Finds the session a request names: in memory, else by its seal and the store.
pub(crate) async fn session(
    plane: &Plane,
    headers: &HeaderMap,
    target: &VirtualTarget,
    principal: &Principal,
) -> Result<Arc<ClientSession>, Error> {
    let token = inbound::session_id(headers)?.ok_or(Error::SessionMissing)?;
    let (sessions, path) = (&plane.shared.sessions, target.binding.as_str());
    if let Some(session) = sessions.find(token, path, principal) {
        return Ok(session);
    }
    let sealed = plane.shared.opaque.read_virtual(token, path, principal).ok_or(Error::SessionUnknown)?;
    sessions.restore(token, sealed, path, principal).await.ok_or(Error::SessionUnknown)
}

#[cfg(test)]
mod tests;
