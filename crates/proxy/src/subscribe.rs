//! `resources/subscribe` of a legacy client to a modern backend: an edit of what is listened for there.

use std::sync::Arc;
use std::time::Duration;

use catalog::endpoint::Era;
use http::Response;
use mcp::message::text;
use mcp::method::Method;
use routing::target::VirtualTarget;
use routing::version::VersionTarget;

use crate::error::Error;
use crate::outbound::Body;
use crate::plane::Call;
use crate::reply;
use crate::sessions::{ClientSession, MAX_SUBSCRIPTIONS};

/// Longest wait until the backend tells of the resource. A subscription is noted by then, and taken up when the backend
/// is there again.
const PATIENCE: Duration = Duration::from_secs(2);

/// Finds the backend of a virtual server that tells clients of `front` of updates of a resource which one of `owners`
/// may have.
pub(crate) fn owner<'a>(
    target: &'a VirtualTarget,
    front: Era,
    owners: &[usize],
) -> Option<&'a Arc<VersionTarget>> {
    let mut owners = owners.iter().map(|&owner| &target.backends[owner]);
    owners.find(|owner| tells_of_updates(owner, front))
}

/// Says whether a backend tells clients of `front` of updates of resources at all.
pub(crate) fn tells_of_updates(version: &VersionTarget, front: Era) -> bool {
    version.offers_switch(front, "resources", "subscribe")
}

/// Refuses more subscriptions of one session than are kept.
pub(crate) fn check_room(session: &ClientSession, uri: &str) -> Result<(), Error> {
    let state = session.state();
    if state.subscriptions.len() < MAX_SUBSCRIPTIONS || state.subscriptions.contains_key(uri) {
        return Ok(());
    }
    let reason = format!("a session may subscribe to {MAX_SUBSCRIPTIONS} resources; unsubscribe from some");
    Err(Error::InvalidParams(reason))
}

/// Subscribes to, or unsubscribes from, a resource of this backend. Where the client's stream is open, a subscription is
/// answered when the backend has agreed to it.
pub(crate) async fn edit(
    call: &Call,
    session: &ClientSession,
    version: &VersionTarget,
) -> Result<Response<Body>, Error> {
    if !tells_of_updates(version, Era::Modern) {
        return Err(call.unknown_method());
    }
    let uri = call.outline.uri.and_then(|uri| text(uri.of(&call.body)));
    let uri = uri.ok_or_else(|| Error::InvalidParams("params.uri is missing or not a string".into()))?;
    if call.outline.method == Method::Unsubscribe {
        session.state().subscriptions.remove(&*uri);
        session.refilter(&version.key);
        return Ok(reply::result(call, b"{}"));
    }
    check_room(session, &uri)?;
    session.state().subscriptions.insert(uri.as_ref().into(), version.key.clone());
    if let Some(granted) = session.refilter(&version.key)
        && let Ok(Ok(granted)) = tokio::time::timeout(PATIENCE, granted).await
        && !granted.uris.iter().any(|one| **one == *uri)
    {
        session.state().subscriptions.remove(&*uri);
        return Err(Error::ResourceNotFound(uri.into_owned()));
    }
    Ok(reply::result(call, b"{}"))
}
