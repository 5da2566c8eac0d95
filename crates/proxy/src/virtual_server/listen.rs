//! The GET stream: notifications and requests of all backends as one stream.

use std::sync::Arc;

use catalog::access::Principal;
use http::{HeaderMap, HeaderValue, Response};
use mcp::headers::LAST_EVENT_ID;
use routing::target::VirtualTarget;
use tokio::sync::mpsc;

use crate::answer;
use crate::error::Error;
use crate::follow::{self, Listener, Ready};
use crate::outbound::Body;
use crate::plane::{Front, Plane};
use crate::sessions::ClientSession;

/// Events that wait for a slow client; later ones are dropped, as on any stream that nobody reads.
const QUEUE: usize = 256;

/// Events that wait for a client that came back; the rest waits where it is kept.
const REPLAY_QUEUE: usize = 16;

/// Opens the GET stream of a session, or goes on with the stream of a call. An older GET stream of the same session
/// ends.
pub(crate) async fn open(
    plane: &Plane,
    headers: &HeaderMap,
    target: &Arc<VirtualTarget>,
    principal: &Principal,
) -> Result<Response<Body>, Error> {
    let session = super::session(plane, headers, target, principal).await?;
    if let Some(id) = headers.get(LAST_EVENT_ID) {
        return go_on(plane, id, &session, target, principal);
    }
    let (sender, receiver) = mpsc::channel(QUEUE);
    session.state().stream = Some(sender);
    plane.shared.listen(&target.slug, &session);
    let listener = Listener { plane: plane.clone(), session, front: Front::Legacy };
    let following = tokio::spawn(follow::virtual_server(listener, target.clone(), Ready::default()));
    let closing = plane.shared.while_allowed(principal, &target.path, None);
    Ok(answer::stream(Body::merged(receiver, vec![following.abort_handle()], closing)))
}

/// Sends what came on the stream of a call after an event, and what still comes.
fn go_on(
    plane: &Plane,
    id: &HeaderValue,
    session: &ClientSession,
    target: &VirtualTarget,
    principal: &Principal,
) -> Result<Response<Body>, Error> {
    let reading = id.to_str().ok().and_then(|id| plane.shared.replays.after(&session.sealed.id, id));
    let unknown = "Last-Event-ID is of no stream of this session that is still kept";
    let reading = reading.ok_or_else(|| Error::InvalidRequest(unknown.into()))?;
    let (sender, receiver) = mpsc::channel(REPLAY_QUEUE);
    let running = tokio::spawn(reading.run(sender)).abort_handle();
    let closing = plane.shared.while_allowed(principal, &target.path, None);
    Ok(answer::stream(Body::merged(receiver, vec![running], closing)))
}
