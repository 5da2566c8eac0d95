//! The GET stream: notifications and requests of all backends as one stream.

use std::sync::Arc;

use catalog::access::Principal;
use http::{HeaderMap, Response};
use routing::target::VirtualTarget;
use tokio::sync::mpsc;

use crate::answer;
use crate::error::Error;
use crate::follow::{self, Listener, Ready};
use crate::outbound::Body;
use crate::plane::{Front, Plane};

/// Events that wait for a slow client; later ones are dropped, as on any stream that nobody reads.
const QUEUE: usize = 256;

/// Opens the GET stream of a session. An older one of the same session ends.
pub(crate) async fn open(
    plane: &Plane,
    headers: &HeaderMap,
    target: &Arc<VirtualTarget>,
    principal: &Principal,
) -> Result<Response<Body>, Error> {
    let session = super::session(plane, headers, target, principal).await?;
    let (sender, receiver) = mpsc::channel(QUEUE);
    session.state().stream = Some(sender);
    plane.shared.listen(&target.slug, &session);
    let listener = Listener { plane: plane.clone(), session, front: Front::Legacy };
    let following = tokio::spawn(follow::virtual_server(listener, target.clone(), Ready::default()));
    let closing = plane.shared.while_allowed(principal, &target.path, None);
    Ok(answer::stream(Body::merged(receiver, vec![following.abort_handle()], closing)))
}
