//! One name, one backend: tool calls, prompts, resource reads, completion, subscriptions.

use std::sync::Arc;

use catalog::endpoint::Era;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use mcp::error::code;
use mcp::headers::Accepts;
use mcp::message::{Outline, Span, member, text};
use mcp::rewrite::Edit;
use routing::target::VirtualTarget;
use routing::version::VersionTarget;

use crate::admit;
use crate::error::Error;
use crate::exchange::{self, Exchange, Renamed};
use crate::opaque::Place;
use crate::outbound::Body;
use crate::params;
use crate::plane::{Call, Front};
use crate::repair;
use crate::resource_owners;
use crate::sessions::ClientSession;
use crate::subscribe;

/// Largest answer that is read whole to see whether a resource was found.
const MAX_READ_BYTES: usize = 16 * 1024 * 1024;

/// `tools/call`: the exposed name decides.
pub(super) async fn tool(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Option<Arc<ClientSession>>,
) -> Result<Response<Body>, Error> {
    let (at, name) = named(call, call.outline.name, "name")?;
    let Some(tool) = target.face(call.front.era()).tool(&name) else {
        return Err(Error::UnknownName { kind: "tool", name });
    };
    if let Some(marks) = tool.marks.as_ref().filter(|_| call.front == Front::Modern) {
        params::check(call, marks)?;
    }
    admit::call_tool(call, target, tool)?;
    let version = &target.backends[tool.backend];
    let place = Place { endpoint: Some(&target.binding), tool: &tool.exposed };
    let send = |call, session| {
        let renamed = || {
            let edit = Edit { at, with: tool.original_json.clone() };
            Renamed { edit, original: tool.original.clone() }
        };
        let renamed = (*tool.exposed != *tool.original).then(renamed);
        exchange::run(Exchange { call, version: version.clone(), session, renamed, place })
    };
    let matters = resource_owners::matters(target, call.front.era(), tool.backend);
    let named_in = session.as_ref().filter(|_| matters).cloned();
    let mut answer = send(call, session).await?;
    if answer.status() == StatusCode::BAD_REQUEST
        && call.front == Front::Modern
        && version.era_toward(Era::Modern) == Era::Modern
    {
        answer = match Box::pin(repair::as_read_again(call, version, &tool.original, answer)).await {
            // What was refused did not run.
            Ok(again) => Box::pin(send(&again, None)).await?,
            Err(refusal) => refusal,
        };
    }
    Ok(match matters {
        true => resource_owners::watched(call, target, named_in.as_deref(), tool.backend, answer),
        false => answer,
    })
}

/// `prompts/get`.
pub(super) async fn prompt(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Option<Arc<ClientSession>>,
) -> Result<Response<Body>, Error> {
    let (_, name) = named(call, call.outline.name, "name")?;
    let owner = target.face(call.front.era()).prompt_owner(&name);
    let owner = owner.ok_or(Error::UnknownName { kind: "prompt", name })?;
    admit::reach(call, target, &target.backends[owner], "prompts/get")?;
    send_watched(call, target, owner, session).await
}

/// `resources/read`: from its owner, else from each backend that may have it in turn.
pub(super) async fn read(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Option<Arc<ClientSession>>,
) -> Result<Response<Body>, Error> {
    let (_, uri) = named(call, call.outline.uri, "uri")?;
    let mut owners = resource_owners::find(call, target, session.as_deref(), &uri);
    if owners.len() > 1 {
        owners.retain(|&owner| admit::reaches(call, target, &target.backends[owner], "resources/read"));
    }
    match owners[..] {
        [] => Err(Error::ResourceNotFound(uri)),
        [owner] => {
            admit::reach(call, target, &target.backends[owner], "resources/read")?;
            send_watched(call, target, owner, session).await
        }
        _ => Box::pin(ask_in_order(call, target, session, &owners, uri)).await,
    }
}

/// Asks one backend after the other; reading changes nothing, so asking the wrong one does no harm.
async fn ask_in_order(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Option<Arc<ClientSession>>,
    owners: &[usize],
    uri: String,
) -> Result<Response<Body>, Error> {
    // A backend that cannot be asked, or answers in words of its own, may be the one that has it.
    let mut failed: Option<Result<Response<Body>, Error>> = None;
    for &owner in owners {
        let version = target.backends[owner].clone();
        let again = Call { accepts: Accepts { json: true, events: false }, ..call.clone() };
        let answer = match send(&again, target, version, session.clone()).await {
            Ok(answer) => answer,
            Err(error) => {
                failed = failed.or(Some(Err(error)));
                continue;
            }
        };
        let (head, body) = answer.into_parts();
        let limited = http_body_util::Limited::new(body, MAX_READ_BYTES);
        let Ok(whole) = limited.collect().await else { continue };
        let whole = whole.to_bytes();
        match refusal(&whole) {
            None => {
                let answer = Response::from_parts(head, Body::full(whole));
                return Ok(resource_owners::watched(call, target, session.as_deref(), owner, answer));
            }
            Some(Refusal::NotFound) => {}
            Some(Refusal::Other) => {
                let answer = Response::from_parts(head, Body::full(whole));
                failed = failed.or(Some(Ok(answer)));
            }
        }
    }
    failed.unwrap_or(Err(Error::ResourceNotFound(uri)))
}

/// How a backend says that it has no such resource.
enum Refusal {
    NotFound,
    /// Widely used servers have codes of their own for that, so others are asked as well.
    Other,
}

fn refusal(answer: &[u8]) -> Option<Refusal> {
    let Ok(Outline { error: Some(error), .. }) = Outline::read(answer) else { return None };
    let error = error.of(answer);
    let number =
        member(error, "code").and_then(|span| std::str::from_utf8(span.of(error)).ok()?.parse::<i32>().ok());
    Some(match number {
        Some(code::RESOURCE_NOT_FOUND | code::INVALID_PARAMS | code::METHOD_NOT_FOUND) => Refusal::NotFound,
        _ => Refusal::Other,
    })
}

/// `completion/complete`: the owner of the prompt or template it is about.
pub(super) async fn complete(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Option<Arc<ClientSession>>,
) -> Result<Response<Body>, Error> {
    let reference = call.param("ref").ok_or_else(|| Error::InvalidParams("params.ref is missing".into()))?;
    let part = |key| member(reference, key).and_then(|span| text(span.of(reference)));
    let owner = match (part("name"), part("uri")) {
        (Some(name), _) => {
            let owner = target.face(call.front.era()).prompt_owner(&name);
            owner.ok_or_else(|| Error::UnknownName { kind: "prompt", name: name.into_owned() })?
        }
        (None, Some(uri)) => {
            let any = || resource_owners::find(call, target, session.as_deref(), &uri).first().copied();
            let owner = target.face(call.front.era()).template_owner(&uri).or_else(any);
            owner.ok_or_else(|| Error::UnknownName { kind: "resource template", name: uri.into_owned() })?
        }
        (None, None) => {
            return Err(Error::InvalidParams("params.ref names neither a prompt nor a resource".into()));
        }
    };
    let version = target.backends[owner].clone();
    admit::reach(call, target, &version, "completion/complete")?;
    send(call, target, version, session).await
}

/// `resources/subscribe`, an edit of what is listened for where the backend is modern; noted in the session once the backend took it, so that a renewed backend session
/// hears of it again.
pub(super) async fn subscribe(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Option<Arc<ClientSession>>,
) -> Result<Response<Body>, Error> {
    let (_, uri) = named(call, call.outline.uri, "uri")?;
    let owners = resource_owners::find(call, target, session.as_deref(), &uri);
    let first = || owners.first().map(|&owner| &target.backends[owner]);
    let version = subscribe::owner(target, call.front.era(), &owners).or_else(first).cloned();
    let version = version.ok_or_else(|| Error::ResourceNotFound(uri.clone()))?;
    admit::reach(call, target, &version, "resources/subscribe")?;
    if let Some(session) = &session {
        if version.era_toward(call.front.era()) == Era::Modern {
            return subscribe::edit(call, session, &version).await;
        }
        subscribe::check_room(session, &uri)?;
    }
    let key = version.key.clone();
    let answer = send(call, target, version, session.clone()).await?;
    if let Some(session) = session {
        session.state().subscriptions.insert(uri.into(), key);
    }
    Ok(answer)
}

/// `resources/unsubscribe`: to the backend that was subscribed at.
pub(super) async fn unsubscribe(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Option<Arc<ClientSession>>,
) -> Result<Response<Body>, Error> {
    let (_, uri) = named(call, call.outline.uri, "uri")?;
    let key = session.as_ref().and_then(|session| session.state().subscriptions.remove(&*uri));
    let subscribed = key.and_then(|key| target.backends.iter().find(|backend| backend.key == key));
    let owners = resource_owners::find(call, target, session.as_deref(), &uri);
    let version = subscribed.or_else(|| owners.first().map(|&owner| &target.backends[owner])).cloned();
    let version = version.ok_or_else(|| Error::ResourceNotFound(uri.clone()))?;
    match &session {
        Some(session) if version.era_toward(call.front.era()) == Era::Modern => {
            subscribe::edit(call, session, &version).await
        }
        _ => send(call, target, version, session).await,
    }
}

fn named(call: &Call, span: Option<Span>, member: &str) -> Result<(Span, String), Error> {
    let named = span.and_then(|span| Some((span, text(span.of(&call.body))?.into_owned())));
    named.ok_or_else(|| Error::InvalidParams(format!("params.{member} is missing or not a string")))
}

async fn send(
    call: &Call,
    target: &VirtualTarget,
    version: Arc<VersionTarget>,
    session: Option<Arc<ClientSession>>,
) -> Result<Response<Body>, Error> {
    let place = Place { endpoint: Some(&target.binding), tool: "" };
    exchange::run(Exchange { call, version, session, renamed: None, place }).await
}

/// Sends to one of the backends, and has the resources remembered that its answer names where that matters.
async fn send_watched(
    call: &Call,
    target: &Arc<VirtualTarget>,
    owner: usize,
    session: Option<Arc<ClientSession>>,
) -> Result<Response<Body>, Error> {
    let version = target.backends[owner].clone();
    let matters = resource_owners::matters(target, call.front.era(), owner);
    let named_in = session.as_ref().filter(|_| matters).cloned();
    let answer = send(call, target, version, session).await?;
    Ok(match matters {
        true => resource_owners::watched(call, target, named_in.as_deref(), owner, answer),
        false => answer,
    })
}
