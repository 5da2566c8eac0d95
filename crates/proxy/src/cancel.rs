//! Cancellations: to the backend that runs the request, with the id it has there.

use std::sync::Arc;

use bytes::Bytes;
use mcp::message::member;
use mcp::rewrite::{Edit, splice};

use crate::flights::{Airborne, Flight};
use crate::forward::Errand;
use crate::plane::Call;

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

/// Tells a legacy backend that a modern client went away, which there is a message of its own. `held` keeps the id from
/// others until the backend has it.
pub(crate) fn tell(errand: Arc<Errand>, upstream_id: &[u8], held: Option<Airborne>) {
    let id = String::from_utf8_lossy(upstream_id);
    let message = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the client closed the connection"}}}}"#
    );
    errand.post_holding(message.into(), held);
}
