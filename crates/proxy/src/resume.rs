//! A modern client comes back with answers: its parked call goes on.

use bytes::Bytes;
use catalog::VersionKey;
use http::{Response, StatusCode};
use mcp::bridge::input_responses;
use mcp::error::result_body;
use mcp::message::{Meta, Span};
use routing::version::VersionTarget;

use crate::answer;
use crate::error::Error;
use crate::hold::Ticket;
use crate::outbound::Body;
use crate::plane::Call;
use crate::relay::RestoreId;

/// Makes the ticket with which a call can be gone on with.
pub(crate) fn ticket(call: &Call, version: &VersionTarget) -> Ticket {
    Ticket {
        key: version.key.clone(),
        principal: (*call.principal).clone(),
        digest: digest(call),
        id: call.id().map(Bytes::copy_from_slice).unwrap_or_default(),
        progress_token: progress_token(call),
    }
}

fn progress_token(call: &Call) -> Option<Bytes> {
    let meta = call.outline.meta?.of(&call.body);
    Meta::read(meta).progress_token.map(|token| Bytes::copy_from_slice(token.of(meta)))
}

/// What must not change between the rounds of a call: its method, name and arguments.
fn digest(call: &Call) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    let part = |span: Option<Span>| span.map(|span| span.of(&call.body));
    part(call.outline.method_name).hash(&mut hasher);
    part(call.outline.name).hash(&mut hasher);
    part(call.outline.uri).hash(&mut hasher);
    call.param("arguments").hash(&mut hasher);
    hasher.finish()
}

/// Gives the answers to the backend, and its stream to this request.
pub(crate) async fn go_on(
    call: &Call,
    version: &VersionTarget,
    state: &str,
) -> Result<Response<Body>, Error> {
    let shared = &call.plane.shared;
    let unknown =
        || Error::InvalidParams("requestState is not of a call that waits; begin the call again".into());
    let opened = |key: &VersionKey| shared.opaque.unwrap_state(state, key, &call.principal);
    // A call goes on where it began, also when another version became active meanwhile.
    let elsewhere = || {
        let server = call.table.server(version.key.path.as_str())?;
        server.labels().find_map(|label| opened(&server.version(label)?.key))
    };
    let (name, digest_then) = opened(&version.key).or_else(elsewhere).ok_or_else(unknown)?;
    if digest_then != digest(call) {
        return Err(Error::InvalidParams("requestState belongs to a call with other arguments".into()));
    }
    let mut parked = shared.parked.take(&name).ok_or_else(unknown)?;
    let id = call.id().map(Bytes::copy_from_slice).unwrap_or_default();
    if let Some(ticket) = &mut parked.hold.ticket {
        ticket.id = id.clone();
        let tokens = ticket.progress_token.clone().zip(progress_token(call));
        parked.relay.progress = tokens.map(|(own, clients)| RestoreId { own, clients });
    }
    if let Some(restore) = &mut parked.relay.restore {
        restore.clients = id;
    }
    let answers = input_responses(&call.body, &call.outline);
    let errand = parked.relay.errand.clone().ok_or_else(unknown)?;
    parked.open.retain(|(id, question)| {
        let Some((_, answer)) = answers.iter().find(|(key, _)| *key == question.key) else { return true };
        errand.clone().post_aside(result_body(id, answer));
        false
    });
    if !parked.open.is_empty() {
        // What was not answered is asked again.
        return Ok(crate::reply::json(StatusCode::OK, shared.parked.park(parked, &shared.opaque)));
    }
    Box::pin(answer::of_parked(parked, call.accepts, call.id(), version.key.path.as_str())).await
}
