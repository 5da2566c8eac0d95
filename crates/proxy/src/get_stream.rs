//! The GET stream of a session of ours: opened, or gone on with, as the stream of a call is.

use std::sync::Arc;

use catalog::access::Principal;
use http::{HeaderMap, Response};
use mcp::era::Revision;
use mcp::headers::LAST_EVENT_ID;
use routing::version::VersionTarget;

use crate::answer;
use crate::error::Error;
use crate::follow::Listener;
use crate::outbound::Body;
use crate::plane::{Front, Plane};
use crate::replay::{After, is_of_listening};
use crate::sessions::{ClientSession, Following, Outlet};

/// Whose stream it is.
pub(crate) struct Owner<'a> {
    pub(crate) session: Arc<ClientSession>,
    pub(crate) principal: &'a Principal,
    /// The endpoint's path.
    pub(crate) path: &'a str,
    /// The version without which there is no stream; `None` for a virtual server.
    pub(crate) version: Option<&'a VersionTarget>,
}

/// Opens the GET stream of a session, fed by what `follow` makes, or goes on with the one that an event came on. An
/// older GET stream of the same session ends.
///
/// What feeds the stream goes on for a while without a client, which may come back for what it missed.
pub(crate) fn open<F>(
    plane: &Plane,
    headers: &HeaderMap,
    owner: Owner<'_>,
    follow: impl FnOnce(Listener) -> F,
) -> Result<Response<Body>, Error>
where
    F: Future<Output = ()> + Send + 'static,
{
    let Owner { session, principal, path, version } = owner;
    let shared = &plane.shared;
    let allowed = || shared.while_allowed(principal, path, version);
    let mut missed = Vec::new();
    if let Some(id) = headers.get(LAST_EVENT_ID) {
        let id = id.to_str().unwrap_or_default();
        match shared.replays.after(&session.sealed.id, id) {
            Some(After::Going(events)) => {
                return Ok(answer::stream(Body::merged(events, Vec::new(), allowed())));
            }
            Some(After::Over(events)) if !is_of_listening(id) => {
                return Ok(answer::stream(Body::full(events.concat().into())));
            }
            Some(After::Over(events)) => missed = events,
            // It told of what happened; a new one tells of what happens.
            None if is_of_listening(id) => {}
            None => {
                let unknown = "Last-Event-ID is of no stream of this session that is still kept";
                return Err(Error::InvalidRequest(unknown.into()));
            }
        }
    }
    let (writing, events) = shared.replays.listen(&session.sealed.id, missed);
    if session.sealed.revision >= Revision::V2025_11_25 {
        writing.primer();
    }
    let listener = Listener { plane: plane.clone(), session: session.clone(), front: Front::Legacy };
    let (following, left, until) = (follow(listener), writing.left(), allowed());
    let (number, listened) = (writing.number(), session.clone());
    let task = async move {
        tokio::select! {
            () = following => {}
            () = left => {}
            () = until => {}
        }
        listened.end_stream(number);
    };
    // What comes at once waits until the session has the stream.
    let mut state = session.state();
    let following = Following::new(tokio::spawn(task).abort_handle());
    state.stream = Some(Outlet::Kept { writing, _following: following });
    drop(state);
    Ok(answer::stream(Body::merged(events, Vec::new(), allowed())))
}
