//! The GET stream: notifications and requests of all backends as one stream.

use std::sync::Arc;

use catalog::access::Principal;
use http::{HeaderMap, Response};
use routing::target::VirtualTarget;

use crate::error::Error;
use crate::follow::{self, Ready};
use crate::get_stream::{self, Owner};
use crate::outbound::Body;
use crate::plane::Plane;

/// Opens the GET stream of a session, or goes on with a stream. An older GET stream of the same session ends.
pub(crate) async fn open(
    plane: &Plane,
    headers: &HeaderMap,
    target: &Arc<VirtualTarget>,
    principal: &Principal,
) -> Result<Response<Body>, Error> {
    let session = super::session(plane, headers, target, principal).await?;
    plane.shared.listen(&target.slug, &session);
    let owner = Owner { session, principal, path: &target.path, version: None };
    get_stream::open(plane, headers, owner, |listener| {
        follow::virtual_server(listener, target.clone(), Ready::default())
    })
}
