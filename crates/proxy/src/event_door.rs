//! HTTP+SSE of 2024-11-05 at the front: another door to the same phases, for clients that know nothing newer.
//!
//! `GET <path>/sse` opens the stream; its first event names the URL that messages are posted to. Each message is
//! answered as if it had been posted to the endpoint itself, and the answer comes on the stream. What the endpoint
//! calls a session is kept behind the door, and ends with the stream.

mod door;
mod posted;

use std::sync::Arc;

use auth::Issuer;
use bytes::Bytes;
use catalog::access::Principal;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use mcp::headers::SERVER_VERSION;
use mcp::message::{Kind, Malformed, Outline};
use routing::target::Target;

use crate::error::Error;
use crate::outbound::Body;
use crate::plane::Plane;
use crate::standing::Standing;
use crate::{answer, metadata, reply};

use door::Door;
pub(crate) use door::Doors;

/// What follows an endpoint's path.
const TAIL: &str = "/sse";

/// Returns the endpoint's path where this is that of its door.
pub(crate) fn endpoint(path: &str) -> Option<&str> {
    path.strip_suffix('/').unwrap_or(path).strip_suffix(TAIL)
}

/// Opens a stream.
pub(crate) fn open(
    plane: &Plane,
    parts: &Parts,
    target: Target<'_>,
    principal: &Arc<Principal>,
    host: Option<&HeaderValue>,
) -> Result<Response<Body>, Error> {
    if !mcp::headers::accepts(&parts.headers).events {
        return Err(Error::NotAcceptable);
    }
    let id = Issuer::new_id().to_string();
    let path = target.path();
    let version = parts.headers.get(&SERVER_VERSION).cloned();
    let (door, receiver) = Door::new(path, principal, version);
    if !plane.shared.doors.enter(&id, &door) {
        return Err(Error::DoorFull);
    }
    let base = metadata::base_url(host, &plane.shared.settings);
    let before =
        base.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..])).unwrap_or("");
    door.say_first(format!("event: endpoint\ndata: {before}{path}{TAIL}?session={id}\n\n").into());
    tokio::spawn(door.clone().end_with_stream(plane.clone(), id));
    let allowed = plane.shared.while_allowed(principal, path, None);
    let closing = Box::pin(async move {
        tokio::select! {
            () = allowed => {}
            () = door.given_up() => {}
        }
    });
    Ok(answer::stream(Body::merged(receiver, Vec::new(), closing)))
}

/// Takes a message: the answer is that it was taken.
pub(crate) async fn post(
    standing: Standing,
    query: Option<&str>,
    body: Bytes,
) -> Result<Response<Body>, Error> {
    let pairs = query.unwrap_or_default().split('&');
    let id = pairs.filter_map(|pair| pair.strip_prefix("session=")).next();
    let id = id.ok_or(Error::MethodNotAllowed { allow: "GET" })?;
    let door = standing.plane.shared.doors.find(id, &standing.path, &standing.principal);
    let door = door.ok_or(Error::SessionUnknown)?;
    let outline = match Outline::read(&body) {
        Err(Malformed::Batch) => return posted::batch(standing, door, &body).await,
        outline => outline?,
    };
    if outline.kind != Kind::Request {
        // What comes after it may need it to be there.
        posted::one_way(standing, &door, body).await;
        return Ok(reply::empty(StatusCode::ACCEPTED));
    }
    let place = door.take_place().ok_or(Error::DoorFull)?;
    let id = body.slice(outline.id.expect("a request has an id").range());
    tokio::spawn(async move {
        let answering = posted::request(standing, &door, id, outline.method, body);
        // As if the connection of the message had closed.
        tokio::select! {
            () = answering => {}
            () = door.gone() => {}
        }
        drop(place);
    });
    Ok(reply::empty(StatusCode::ACCEPTED))
}

#[cfg(test)]
mod tests;
