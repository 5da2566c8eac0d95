//! Cancellations: to the backend that runs the request, with the id it has there.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use mcp::message::member;
use mcp::rewrite::{Edit, splice};

use crate::error::Error;
use crate::flights::Flight;
use crate::forward::{Back, Errand};
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

/// An exchange that is cancelled at its backend when its client goes away before the answer began.
pub(crate) struct Cancelling<F> {
    future: Pin<Box<F>>,
    open: Option<(Arc<Errand>, Bytes)>,
}

impl<F: Future<Output = Result<Response<Back>, Error>>> Cancelling<F> {
    pub(crate) fn new(future: F, errand: Arc<Errand>, upstream_id: Bytes) -> Self {
        Self { future: Box::pin(future), open: Some((errand, upstream_id)) }
    }
}

impl<F: Future<Output = Result<Response<Back>, Error>>> Future for Cancelling<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let answer = std::task::ready!(self.future.as_mut().poll(cx));
        self.open = None;
        Poll::Ready(answer)
    }
}

impl<F> Drop for Cancelling<F> {
    fn drop(&mut self) {
        if let Some((errand, id)) = self.open.take() {
            tell(errand, &id);
        }
    }
}
