//! An answer read as messages, for a client that gets several answers in one place: a batch, or one stream.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode, response};
use http_body_util::BodyExt;
use mcp::error::{code, error_body};
use mcp::message::{Kind, Outline};
use mcp::sse;

use crate::answer;
use crate::error::Error;
use crate::outbound::{Body, MAX_EVENT_BYTES};
use crate::reply::JSON;
use crate::standing::Standing;

/// Who is told each message.
pub(crate) trait Listener: Sync {
    /// Tells one; says whether there is anybody left to be told more.
    fn tell(&self, message: Bytes) -> impl Future<Output = bool> + Send;
}

/// How many bytes of answers may still be held.
pub(crate) struct Room(AtomicUsize);

impl Room {
    pub(crate) fn of_bytes(bytes: usize) -> Self {
        Self(AtomicUsize::new(bytes))
    }

    fn take(&self, bytes: usize) -> bool {
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.is_ok()
    }
}

/// Tells the messages of a stream, and `unanswered` where it ends without an answer.
pub(crate) async fn each(mut body: Body, unanswered: Option<Bytes>, listener: &impl Listener) {
    let mut decoder = sse::Decoder::new(MAX_EVENT_BYTES);
    let mut has_answered = false;
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        decoder.push(data);
        while let Some(Ok(event)) = decoder.next() {
            let is_message = event.name.as_deref().is_none_or(|name| name == b"message");
            if event.data.is_empty() || !is_message {
                continue;
            }
            // What is neither a request nor a notification answers, also an array with the answer in it.
            has_answered |= !Outline::read(&event.data).is_ok_and(|read| read.kind != Kind::Response);
            if !listener.tell(event.data).await {
                return;
            }
        }
    }
    if let Some(unanswered) = unanswered.filter(|_| !has_answered) {
        listener.tell(unanswered).await;
    }
}

/// Reads an answer that is no stream: its head, and the message in it, which is an error where it holds none that can
/// be used.
pub(crate) async fn whole(
    answer: Response<Body>,
    standing: &Standing,
    id: Option<&[u8]>,
    room: &Room,
) -> (response::Parts, Bytes) {
    let (mut head, body) = answer.into_parts();
    if !answer::is_json(&head.headers) {
        head.headers.insert(CONTENT_TYPE, JSON);
        let says = wordless(head.status, id, &standing.path);
        return (head, says);
    }
    match read(body, room).await {
        Ok(says) => (head, says),
        Err(reason) => {
            let error = Error::Unusable { server: standing.path.clone(), reason };
            let (head, body) = standing.refuse(&error, id).into_parts();
            let says = body.collect().await.map(|body| body.to_bytes());
            (head, says.unwrap_or_default())
        }
    }
}

/// Reads a body to its end, as far as there is room for it; else says why it cannot be used.
async fn read(mut body: Body, room: &Room) -> Result<Bytes, String> {
    let (mut first, mut more) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.reason())?;
        let Ok(data) = frame.into_data() else { continue };
        if !room.take(data.len()) {
            return Err("its answer is too large to be put beside others".into());
        }
        if first.is_empty() && more.is_empty() {
            first = data;
            continue;
        }
        more.extend_from_slice(&std::mem::take(&mut first));
        more.extend_from_slice(&data);
    }
    Ok(if more.is_empty() { first } else { more.freeze() })
}

/// What is said for a backend that refused without a message in it.
fn wordless(status: StatusCode, id: Option<&[u8]>, server: &str) -> Bytes {
    let (message, number) = (format!("Backend server gave an unusable answer: {server}"), status.as_u16());
    let data = format!(r#"{{"reason":"it answered HTTP {number} without MCP in it"}}"#);
    error_body(id, code::UNUSABLE_ANSWER, &message, Some(&data))
}
