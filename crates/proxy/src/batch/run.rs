//! The messages of a batch under way: side by side, but what asks no answer before what comes after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use mcp::error::{code, error_body};
use mcp::message::{Kind, Outline};
use mcp::sse;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::answers::{self, Told};
use super::member::Member;
use crate::answer;
use crate::error::Error;
use crate::outbound::{Body, MAX_EVENT_BYTES};
use crate::reply::JSON;
use crate::standing::Standing;

/// How many messages of a batch run at once: more than one so that a slow call does not hold up the others, few
/// so that one request does not take all connections of a backend.
const AT_ONCE: usize = 8;

/// What all answers of a batch may hold together while they are put together, as much as one event or one
/// rewritten answer of a backend.
const MAX_ANSWERS_BYTES: usize = MAX_EVENT_BYTES;

/// Messages that wait to be put together.
const QUEUE: usize = 16;

/// Runs the messages and answers for them all.
///
/// Cancel: as if each message's own connection had closed.
pub(super) async fn all(standing: Standing, members: Vec<Member>) -> Result<Response<Body>, Error> {
    let (sender, mut told) = mpsc::channel(QUEUE);
    let running = tokio::spawn(run(Arc::new(standing), members, sender));
    let running = Running(Some(running.abort_handle()));
    let mut done = Vec::new();
    while let Some(one) = told.recv().await {
        match one {
            Told::Done { index, head, says } => done.push((index, head, says)),
            Told::Streamed(first) => {
                let said = done.into_iter().filter_map(|(.., says)| says).chain([first]).collect();
                return Ok(answers::streamed(said, told, running.into_handle()));
            }
        }
    }
    Ok(answers::joined(done))
}

/// Ends what runs when nobody waits for it any more.
struct Running(Option<AbortHandle>);

impl Running {
    fn into_handle(mut self) -> AbortHandle {
        self.0.take().expect("taken once")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.abort();
        }
    }
}

async fn run(standing: Arc<Standing>, members: Vec<Member>, told: mpsc::Sender<Told>) {
    let room = AtomicUsize::new(MAX_ANSWERS_BYTES);
    let mut waiting = members.into_iter().enumerate();
    let mut running = FuturesUnordered::new();
    let mut one_way = None;
    loop {
        while one_way.is_none() && running.len() < AT_ONCE {
            let Some((index, member)) = waiting.next() else { break };
            // What comes after `notifications/initialized`, say, may need it; what came before only began.
            one_way = member.is_one_way().then_some(index);
            running.push(one(&standing, index, member, &told, &room));
        }
        let Some(index) = running.next().await else { return };
        if one_way == Some(index) {
            one_way = None;
        }
    }
}

/// Has one message answered, and returns its place in the batch.
async fn one(
    standing: &Standing,
    index: usize,
    member: Member,
    told: &mpsc::Sender<Told>,
    room: &AtomicUsize,
) -> usize {
    let (id, is_one_way) = (member.id().cloned(), member.is_one_way());
    let (mut head, body) = standing.answer(member.body).await.into_parts();
    let says = match () {
        // There is nothing to be said to it, not even an error.
        () if is_one_way => None,
        () if answer::is_events(&head.headers) => {
            streamed(standing, body, id.as_deref(), told).await;
            return index;
        }
        () if answer::is_json(&head.headers) => match whole(body, room).await {
            Ok(answer) => Some(answer),
            Err(reason) => {
                let error = Error::Unusable { server: standing.path.clone(), reason };
                let refusal = standing.refuse(&error, id.as_deref());
                let body;
                (head, body) = refusal.into_parts();
                body.collect().await.ok().map(|body| body.to_bytes())
            }
        },
        () => {
            head.headers.insert(CONTENT_TYPE, JSON);
            Some(wordless(head.status, id.as_deref(), &standing.path))
        }
    };
    // Nobody is told where the client has gone.
    let _ = told.send(Told::Done { index, head: Box::new(head), says }).await;
    index
}

/// Passes on the messages of a stream, and an error where it ends without an answer.
async fn streamed(standing: &Standing, mut body: Body, id: Option<&[u8]>, told: &mpsc::Sender<Told>) {
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
            if told.send(Told::Streamed(event.data)).await.is_err() {
                return;
            }
        }
    }
    if !has_answered {
        let message = format!("Backend server gave no answer: {}", standing.path);
        let _ = told.send(Told::Streamed(error_body(id, code::UNUSABLE_ANSWER, &message, None))).await;
    }
}

/// Reads an answer to its end, as far as there is room for it; else says why it cannot be used.
async fn whole(mut body: Body, room: &AtomicUsize) -> Result<Bytes, String> {
    let (mut first, mut more) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.reason())?;
        let Ok(data) = frame.into_data() else { continue };
        let taken =
            room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(data.len()));
        if taken.is_err() {
            return Err(format!("the answers of a batch hold more than {MAX_ANSWERS_BYTES} bytes"));
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
