//! The answer in a stream, for a client that takes only JSON.

use backend::Reply;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use mcp::message::apart;
use mcp::sse;

use crate::error::Error;
use crate::hold::Hold;
use crate::outbound::{Body, MAX_EVENT_BYTES, go_on};
use crate::parked::ParkedCall;
use crate::relay::{Passed, Relay};
use crate::reply;
use crate::rest::{self, Rest};
use crate::sessions::Question;
use crate::trail::Trail;

/// Reads a stream until the answer in it, for a client that takes only JSON. Where the backend asks, the call
/// is parked and the answer is its question.
pub(super) async fn last_answer(call: Running, server: &str) -> Result<Response<Body>, Error> {
    let mut awaited = Awaited(Some(call));
    let unusable = |reason: &str| Error::Unusable { server: server.into(), reason: reason.into() };
    loop {
        let call = awaited.0.as_mut().expect("taken out only on the way out");
        while let Some(event) = call.decoder.next() {
            // A piece may hold thousands of events that mean nothing.
            tokio::task::coop::consume_budget().await;
            let event = event.map_err(|_| unusable("it sent an event too long to read"))?;
            call.trail.note(&event);
            if event.data.is_empty() {
                continue;
            }
            for message in apart(event.data) {
                match call.relay.pass(message) {
                    Passed::Answer(answer) => {
                        call.hold.complete();
                        return Ok(reply::json(StatusCode::OK, answer));
                    }
                    Passed::Lacking(error) => {
                        let answer = reply::json(StatusCode::BAD_REQUEST, error);
                        // Dropped on the way out, and so given up.
                        return Ok(answer);
                    }
                    Passed::Question { id, question } => call.open.push((id, question)),
                    Passed::Nothing | Passed::Message(_) => {}
                }
            }
        }
        if let Some(errand) = call.relay.errand.clone().filter(|_| !call.open.is_empty()) {
            let Running { reply, decoder, trail, hold, relay, open } = awaited.0.take().expect("still there");
            let call = ParkedCall { rest: Rest::Stream { reply, decoder, trail }, hold, relay, open };
            return Ok(reply::json(StatusCode::OK, errand.shared.parked.park(call, &errand.shared.opaque)));
        }
        let frame = tokio::select! {
            biased;
            frame = call.reply.frame() => frame,
            open = call.hold.asked() => {
                call.open.extend(open);
                continue;
            }
        };
        let error = match frame {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    call.decoder.push(data);
                }
                continue;
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        let resumed = match call.trail.resume(error.as_ref(), call.relay.errand.as_ref()) {
            Some(resuming) => resuming.await,
            None => None,
        };
        let Some(reply) = resumed else {
            return Err(error.map_or_else(
                || unusable("its stream ended without an answer"),
                |error| Error::of_backend(server, &error),
            ));
        };
        call.reply = reply;
        call.decoder = sse::Decoder::new(MAX_EVENT_BYTES);
    }
}

/// A call whose answer is waited for; where the client goes away first, the backend may finish as on a stream.
struct Awaited(Option<Running>);

/// What a call is read with.
pub(super) struct Running {
    pub(super) reply: Reply,
    pub(super) decoder: sse::Decoder,
    pub(super) trail: Trail,
    pub(super) hold: Hold,
    pub(super) relay: Relay,
    /// What the backend asks.
    pub(super) open: Vec<Question>,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let Some(Running { reply, decoder, trail, hold, open, .. }) = self.0.take() else { return };
        match hold.cancels {
            Some(_) => rest::give_up(hold, Rest::Stream { reply, decoder, trail }, open),
            None => go_on(Some(reply), hold),
        }
    }
}
