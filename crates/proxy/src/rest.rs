//! What is still to come of a backend's answer, and what becomes of it when its call is given up.

use std::pin::Pin;
use std::sync::Arc;

use backend::Reply;
use http::Response;
use http_body_util::BodyExt;
use mcp::message::apart;
use mcp::sse::Decoder;

use crate::cancel::LATE;
use crate::error::Error;
use crate::forward::{Back, Errand, MAX_DRAINED_BYTES, spawn_if_running};
use crate::hold::Hold;
use crate::outbound::MAX_EVENT_BYTES;
use crate::relay::{Passed, Relay};
use crate::sessions::Question;
use crate::trail::Trail;

/// An answer of which nothing has come yet.
pub(crate) type Coming = Pin<Box<dyn Future<Output = Result<Response<Back>, Error>> + Send>>;

/// What is still to come of a call's answer.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are the large one")]
pub(crate) enum Rest {
    /// All of it: the backend asked beside the stream of the call.
    Whole(Coming),
    Stream {
        reply: Reply,
        decoder: Decoder,
        trail: Trail,
    },
}

/// Ends a call that nobody waits for any more. Where that is a cancellation, its backend is told, and what it has asked
/// or asks nonetheless is refused at once rather than left open.
pub(crate) fn give_up(mut hold: Hold, rest: Rest, asked: Vec<Question>) {
    let errand = hold.cancels.as_ref().map(|(errand, _)| errand.clone());
    hold.cancel(asked);
    if let Some(errand) = errand {
        spawn_if_running(async move {
            let _ = tokio::time::timeout(LATE, refuse_questions(rest, errand)).await;
        });
    }
}

async fn refuse_questions(rest: Rest, errand: Arc<Errand>) {
    let relay = Relay { errand: Some(errand), may_ask: false, ..Relay::untouched() };
    let (mut reply, mut decoder) = match rest {
        Rest::Stream { reply, decoder, .. } => (reply, decoder),
        Rest::Whole(coming) => match coming.await.map(Response::into_body) {
            Ok(Back::Coming(reply)) => (reply, Decoder::new(MAX_EVENT_BYTES)),
            Ok(Back::Read(_)) | Err(_) => return,
        },
    };
    let mut read_bytes = 0;
    while read_bytes < MAX_DRAINED_BYTES {
        while let Some(Ok(event)) = decoder.next() {
            tokio::task::coop::consume_budget().await;
            let messages = apart(event.data).filter(|message| !message.is_empty());
            if messages.map(|message| relay.pass(message)).any(|passed| matches!(passed, Passed::Answer(_))) {
                return;
            }
        }
        let Some(Ok(frame)) = reply.frame().await else { return };
        if let Ok(data) = frame.into_data() {
            read_bytes += data.len();
            decoder.push(data);
        }
    }
}
