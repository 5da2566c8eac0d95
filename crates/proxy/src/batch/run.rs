//! The messages of a batch under way: side by side, but what asks no answer before what comes after it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::Response;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::answers::{self, Told};
use super::member::Member;
use crate::answer;
use crate::answered::{self, Listener, Room};
use crate::error::Error;
use crate::outbound::{Body, MAX_EVENT_BYTES};
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
    let room = Some(Room::of_bytes(MAX_ANSWERS_BYTES));
    let running = tokio::spawn(run(Arc::new(standing), members, sender, room));
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

/// Runs the messages and tells each answer by itself.
pub(super) async fn each(standing: Standing, members: Vec<Member>, listener: &impl Listener) {
    let (sender, mut told) = mpsc::channel(QUEUE);
    let telling = async move {
        while let Some(one) = told.recv().await {
            let (Told::Done { says: Some(says), .. } | Told::Streamed(says)) = one else { continue };
            if !listener.tell(says).await {
                return;
            }
        }
    };
    tokio::join!(run(Arc::new(standing), members, sender, None), telling);
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

/// Runs the messages. `room` is for the answers that are held together; without it each is held by itself.
async fn run(standing: Arc<Standing>, members: Vec<Member>, told: mpsc::Sender<Told>, room: Option<Room>) {
    let mut waiting = members.into_iter().enumerate();
    let mut running = FuturesUnordered::new();
    let mut one_way = None;
    loop {
        while one_way.is_none() && running.len() < AT_ONCE {
            let Some((index, member)) = waiting.next() else { break };
            // What comes after `notifications/initialized`, say, may need it; what came before only began.
            one_way = member.is_one_way().then_some(index);
            running.push(one(&standing, index, member, &told, room.as_ref()));
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
    room: Option<&Room>,
) -> usize {
    let (id, is_one_way) = (member.id().cloned(), member.is_one_way());
    let answer = standing.answer(member.body).await;
    let id = id.as_deref();
    let (head, says) = match () {
        // There is nothing to be said to it, not even an error.
        () if is_one_way => (answer.into_parts().0, None),
        () if answer::is_events(answer.headers()) => {
            let unanswered = Some(answer::unanswered(id, &standing.path));
            answered::each(answer.into_body(), unanswered, told).await;
            return index;
        }
        () => {
            let own = Room::of_bytes(MAX_EVENT_BYTES);
            let (head, whole) = answered::whole(answer, standing, id, room.unwrap_or(&own)).await;
            (head, Some(whole))
        }
    };
    // Nobody is told where the client has gone.
    let _ = told.send(Told::Done { index, head: Box::new(head), says }).await;
    index
}

impl Listener for mpsc::Sender<Told> {
    async fn tell(&self, message: Bytes) -> bool {
        self.send(Told::Streamed(message)).await.is_ok()
    }
}
