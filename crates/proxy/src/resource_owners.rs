//! Whose a resource of a virtual server is: as the table says, else as results said, else any that has resources.

use std::sync::Arc;

use catalog::VersionKey;
use catalog::endpoint::Era;
use http::Response;
use routing::target::VirtualTarget;

use crate::outbound::Body;
use crate::plane::Call;
use crate::seen::{self, watch::Watch};
use crate::sessions::ClientSession;

/// Finds the backends that may own a resource, the likeliest first: one where the table knows; otherwise all with
/// resources in mapping order, before them the one whose results named it.
pub(crate) fn find(
    call: &Call,
    target: &VirtualTarget,
    session: Option<&ClientSession>,
    uri: &str,
) -> Vec<usize> {
    let client = || seen::client(target, &call.principal, session);
    let named_by = || call.plane.shared.seen.owner(&client()?, uri);
    likeliest_first(target, call.front.era(), uri, named_by)
}

/// The same where `named_by` says which version it came from.
pub(crate) fn likeliest_first(
    target: &VirtualTarget,
    front: Era,
    uri: &str,
    named_by: impl FnOnce() -> Option<VersionKey>,
) -> Vec<usize> {
    let face = target.face(front);
    if let Some(owner) = face.resource_owner(uri) {
        return vec![owner];
    }
    let mut owners = face.with_resources.clone();
    if owners.len() > 1
        && let Some(key) = named_by()
    {
        let at = |is_it: &dyn Fn(&VersionKey) -> bool| {
            owners.iter().position(|&owner| is_it(&target.backends[owner].key))
        };
        // Another version of the server may be active by now.
        if let Some(likeliest) = at(&|one| *one == key).or_else(|| at(&|one| one.path == key.path)) {
            owners[..=likeliest].rotate_right(1);
        }
    }
    owners
}

/// Says whether it matters which resources `owner` names: others may have them, too.
pub(crate) fn matters(target: &VirtualTarget, front: Era, owner: usize) -> bool {
    let with_resources = &target.face(front).with_resources;
    with_resources.len() > 1 && with_resources.contains(&owner)
}

/// Has the resources remembered that an answer of `owner` names.
pub(crate) fn watched(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Option<&ClientSession>,
    owner: usize,
    answer: Response<Body>,
) -> Response<Body> {
    let front = call.front.era();
    if answer.body().holds_no(b"\"uri\"") {
        return answer;
    }
    let Some(client) = seen::client(target, &call.principal, session) else { return answer };
    let watch = Watch::new(&call.plane.shared, client, target, front, &target.backends[owner].key);
    answer.map(|body| body.watched(watch))
}

#[cfg(test)]
mod tests;
