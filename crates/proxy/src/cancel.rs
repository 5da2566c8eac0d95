//! Cancellations: to the backend that runs the request, with the id it has there.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcp::error::{code, error_body};
use mcp::message::member;
use mcp::rewrite::{Edit, splice};

use crate::flights::{Airborne, Flight};
use crate::forward::{Errand, spawn_if_running};
use crate::plane::Call;
use crate::sessions::Question;

/// How long a backend is listened to once its call was cancelled. It hears of that at once, and what it asks until then
/// is on its way already.
pub(crate) const LATE: Duration = Duration::from_secs(5);

/// A `notifications/cancelled` on its way to the backend that runs the request.
pub(crate) struct Cancellation {
    pub(crate) flight: Flight,
    /// To be kept until the backend has it.
    pub(crate) held: Airborne,
}

/// Finds the request a `notifications/cancelled` means, and gives the message the id of that request
/// upstream.
pub(crate) fn with_upstream_id(call: &Call, session: u64, body: Bytes) -> (Option<Cancellation>, Bytes) {
    let Some(params) = call.outline.params else { return (None, body) };
    let Some(id) = member(params.of(&call.body), "requestId") else { return (None, body) };
    let id = id.shifted(params.start);
    let Some((flight, held)) = call.plane.shared.flights.cancel(session, id.of(&call.body)) else {
        return (None, body);
    };
    let body = match flight.own_id.clone() {
        Some(own) => splice(&body, &mut [Edit { at: id, with: own }]),
        None => body,
    };
    (Some(Cancellation { flight, held }), body)
}

/// Tells a legacy backend that a modern client went away, which there is a message of its own, and then that nobody
/// answers what it has asked in that call. `held` keeps the id from others until the backend has it.
pub(crate) fn tell(errand: Arc<Errand>, upstream_id: &[u8], asked: &[Question], held: Option<Airborne>) {
    let id = String::from_utf8_lossy(upstream_id);
    let message = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the client closed the connection"}}}}"#
    );
    let mut messages = vec![message.into()];
    messages.extend(asked.iter().map(refusal));
    errand.post_all(messages, held);
}

/// Makes the answer to a question of a backend whose call is over.
pub(crate) fn refusal((id, _): &Question) -> Bytes {
    error_body(Some(id), code::METHOD_NOT_FOUND, "the call is over", None)
}

/// Keeps a session for a while whose call was cancelled, so that what its backend still asks is refused there and meets
/// no other call.
pub(crate) fn retire(errand: Arc<Errand>) {
    errand.session.state().is_retired = true;
    spawn_if_running(async move {
        tokio::time::sleep(LATE).await;
        drop(errand);
    });
}
