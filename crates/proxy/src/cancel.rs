//! Cancellations: to the backend that runs the request, with the id it has there.

use bytes::Bytes;
use mcp::message::member;
use mcp::rewrite::{Edit, splice};

use crate::flights::Flight;
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
