//! A message that was posted, answered on the stream.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use mcp::headers::SESSION_ID;
use mcp::method::Method;
use routing::target::Target;

use super::door::Door;
use crate::answered::{self, Listener, Room};
use crate::batch::Batch;
use crate::error::Error;
use crate::outbound::{Body, MAX_EVENT_BYTES};
use crate::standing::Standing;
use crate::{answer, direct, reply, virtual_server};

/// Has a notification, or an answer of the client, handled.
pub(super) async fn one_way(mut standing: Standing, door: &Arc<Door>, body: Bytes) {
    door.dress(&mut standing.headers);
    // There is nothing to be said to it, not even an error.
    drop(standing.answer(body).await);
}

/// Has a request answered.
pub(super) async fn request(
    mut standing: Standing,
    door: &Arc<Door>,
    id: Bytes,
    method: Method,
    body: Bytes,
) {
    let is_initialize = method == Method::Initialize;
    if is_initialize && !door.begin() {
        let error = Error::InvalidRequest("the session has begun already".into());
        return say(standing.refuse(&error, Some(&id)), &standing, &id, door).await;
    }
    door.dress(&mut standing.headers);
    let answer = standing.answer(body).await;
    if is_initialize {
        let session = answer.headers().get(SESSION_ID).cloned();
        door.begun(session, !answer.status().is_success());
    }
    say(answer, &standing, &id, door).await;
    if is_initialize {
        door.dress(&mut standing.headers);
        let door = door.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = hear(standing, &door) => {}
                () = door.gone() => {}
            }
        });
    }
}

/// Has the messages of a batch answered, each by itself. One that asks nothing is done when this returns, as what comes
/// after it may need it to be there.
pub(super) async fn batch(
    mut standing: Standing,
    door: Arc<Door>,
    body: &Bytes,
) -> Result<Response<Body>, Error> {
    let batch = Batch::read(body)?;
    door.dress(&mut standing.headers);
    if batch.is_one_way() {
        batch.tell(standing, &*door).await;
        return Ok(reply::empty(StatusCode::ACCEPTED));
    }
    let place = door.take_place().ok_or(Error::DoorFull)?;
    tokio::spawn(async move {
        tokio::select! {
            () = batch.tell(standing, &*door) => {}
            () = door.gone() => {}
        }
        drop(place);
    });
    Ok(reply::empty(StatusCode::ACCEPTED))
}

async fn say(answer: Response<Body>, standing: &Standing, id: &[u8], door: &Arc<Door>) {
    if answer::is_events(answer.headers()) {
        let unanswered = Some(answer::unanswered(Some(id), &standing.path));
        return answered::each(answer.into_body(), unanswered, &**door).await;
    }
    let room = Room::of_bytes(MAX_EVENT_BYTES);
    let (_, says) = answered::whole(answer, standing, Some(id), &room).await;
    door.tell(says).await;
}

/// Passes on what the session's own stream brings, where it has one.
async fn hear(standing: Standing, door: &Arc<Door>) {
    let Standing { plane, headers, principal, .. } = &standing;
    if !headers.contains_key(SESSION_ID) {
        return;
    }
    let opened = match standing.target() {
        Ok(Target::Server(server)) => match direct::choose_version(plane, server, headers, principal, true) {
            Ok(choice) => direct::listen(plane, headers, &choice, principal).await,
            Err(error) => Err(error),
        },
        Ok(Target::Virtual(target)) => virtual_server::listen::open(plane, headers, target, principal).await,
        Err(error) => Err(error),
    };
    match opened {
        Ok(stream) if stream.status() == StatusCode::OK && answer::is_events(stream.headers()) => {
            answered::each(stream.into_body(), None, &**door).await;
        }
        // Many backends have none.
        _ => tracing::debug!(path = %standing.path, "the session has no stream of its own"),
    }
}
