//! What the messages of a batch were answered, put together: one JSON array, or one event stream.

use bytes::Bytes;
use http::{Response, StatusCode, response};
use mcp::sse;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::answer;
use crate::outbound::Body;
use crate::reply;

/// Events that wait for a slow client; the backends wait with it.
const QUEUE: usize = 16;

/// What comes of a message.
pub(super) enum Told {
    /// It is done: the head of its answer, and what is to be said.
    Done { index: usize, head: Box<response::Parts>, says: Option<Bytes> },
    /// A message on the way to an answer, or the answer at the end of that way.
    Streamed(Bytes),
}

/// Joins what was said to one array. The head is that of each answer where they all failed alike, so that a lost
/// session, say, is still told by a status.
pub(super) fn joined(mut done: Vec<(usize, Box<response::Parts>, Option<Bytes>)>) -> Response<Body> {
    done.sort_by_key(|(index, ..)| *index);
    let says_something = done.iter().any(|(.., says)| says.is_some());
    done.retain(|(.., says)| says.is_some() == says_something);
    let status = done[0].1.status;
    let is_alike = !status.is_success() && done.iter().all(|(_, head, _)| head.status == status);
    let mut array = Vec::new();
    for (.., says) in &done {
        let Some(answer) = says else { continue };
        array.push(if array.is_empty() { b'[' } else { b',' });
        array.extend_from_slice(elements_of(answer));
    }
    if says_something {
        array.push(b']');
    }
    let head = is_alike.then(|| done.swap_remove(0).1);
    match (head, says_something) {
        (Some(head), _) => Response::from_parts(*head, Body::full(array.into())),
        (None, true) => reply::json(StatusCode::OK, array.into()),
        (None, false) => reply::empty(StatusCode::ACCEPTED),
    }
}

/// A backend of the same revision may answer with an array itself.
fn elements_of(answer: &[u8]) -> &[u8] {
    let answer = answer.trim_ascii();
    answer.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or(answer)
}

/// Goes on as a stream: what was said already, then what comes.
pub(super) fn streamed(
    said: Vec<Bytes>,
    mut coming: mpsc::Receiver<Told>,
    running: AbortHandle,
) -> Response<Body> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let passing = tokio::spawn(async move {
        for said in said {
            if sender.send(sse::encode(&said, None)).await.is_err() {
                return;
            }
        }
        while let Some(told) = coming.recv().await {
            let (Told::Done { says: Some(says), .. } | Told::Streamed(says)) = told else { continue };
            if sender.send(sse::encode(&says, None)).await.is_err() {
                return;
            }
        }
    });
    // It ends with its last answer, as the stream of one call does.
    let closing = Box::pin(std::future::pending());
    answer::stream(Body::merged(receiver, vec![running, passing.abort_handle()], closing))
}
