//! Cancellations: to the backend that runs the request, with the id it has there.

use std::sync::Arc;

use bytes::Bytes;
use mcp::message::member;
use mcp::rewrite::{Edit, splice};

use crate::flights::Flight;
use crate::forward::Errand;
use crate::plane::Call;

/// Finds the request a `notifications/cancelled` means, and gives the message the id of that request
/// upstream.
pub(crate) fn with_upstream_id(call: &Call, session: u64, body: Bytes) -> (Option<Flight>, Bytes) {
    let Some(params) = call.outline.params else { return (None, body) };
    let Some(id) = member(params.of(&call.body), "requestId") else { return (None, body) };
    let id = id.shifted(params.start);
    let flight = call.plane.shared.flights.find(session, id.of(&call.body));
    let own_id = flight.as_ref().and_then(|flight| flight.own_id.clone());
    let body = match own_id {
        Some(own) => splice(&body, &mut [Edit { at: id, with: own }]),
        None => body,
    };
    (flight, body)
}

/// Tells a legacy backend that a modern client went away, which there is a message of its own.
pub(crate) fn tell(errand: Arc<Errand>, upstream_id: &[u8]) {
    let id = String::from_utf8_lossy(upstream_id);
    let message = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the client closed the connection"}}}}"#
    );
    errand.post_aside(message.into());
}
