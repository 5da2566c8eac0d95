//! Rounds of input of a modern backend, put to a legacy client as requests on the stream of its call.

use std::sync::Arc;
use std::time::Duration;

use backend::events::{Events, Unread};
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use mcp::bridge::{InputRequest, InputRequired, UnknownQuestion, input_required, with_responses};
use mcp::error::{code, error_body};
use mcp::message::{Outline, member, quote};
use mcp::method::Method;
use mcp::sse;
use tokio::sync::{mpsc, oneshot};

use crate::answer::{self, Expected};
use crate::error::Error;
use crate::forward::{self, Back, Errand};
use crate::hold::Hold;
use crate::outbound::{Body, MAX_EVENT_BYTES};
use crate::relay::{Dress, Passed, Relay, RestoreId, asked_id};
use crate::replay::Writing;
use crate::reply;
use crate::sessions::{Answer, Asked};

/// Most rounds of one call, and the longest time one may take a person (gateway protocol, section 9).
const MOST_ROUNDS: usize = 8;
const ROUND_TIME: Duration = Duration::from_secs(600);

/// Pause before a call is repeated that gave only a state and asked nothing.
const STATE_ONLY_PAUSE: Duration = Duration::from_millis(500);

/// Events that wait for a slow client; the call waits with them.
const QUEUE: usize = 64;

/// Largest answer that is read whole.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// What is sent again with answers.
pub(crate) struct Round {
    pub(crate) errand: Arc<Errand>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) method: Method,
}

/// Turns a modern backend's answer into a legacy client's; where it asks for input, the client gets a stream
/// on which it is asked.
pub(crate) async fn to_client(
    answer: Response<Back>,
    mut expected: Expected<'_>,
    round: Round,
) -> Result<Response<Body>, Error> {
    let (head, back) = answer.into_parts();
    let back = match back {
        // A stream: questions can only stand in its last event, and what comes before goes out at once.
        Back::Coming(reply) if head.status.is_success() && answer::is_events(&head.headers) => {
            return begin(round, Start::Stream(reply), expected).await;
        }
        back => back,
    };
    // What is refused asks nothing.
    if !head.status.is_success() || !answer::is_json(&head.headers) {
        return answer::to_client(Response::from_parts(head, back), expected).await;
    }
    let whole = match back {
        Back::Read(whole) => whole.into(),
        Back::Coming(reply) => {
            let whole = reply.collect_after(Bytes::new(), MAX_ANSWER_BYTES).await;
            whole.map_err(|error| Error::of_backend(expected.server, &error))?
        }
    };
    match questions(&round, &whole.bytes)? {
        Some(asked) => begin(round, Start::Asked(asked), expected).await,
        None => {
            expected.relay.awaited = expected.id.map(Bytes::copy_from_slice);
            answer::whole_to_client(head.status, whole, expected)
        }
    }
}

enum Start {
    Stream(backend::Reply),
    Asked(InputRequired),
}

/// Goes on with a call on a stream of its own, or, for a client that takes only JSON, as far as it goes
/// without asking.
async fn begin(round: Round, start: Start, expected: Expected<'_>) -> Result<Response<Body>, Error> {
    let id = expected.id.map(Bytes::copy_from_slice).unwrap_or_default();
    let (sender, receiver) = mpsc::channel(QUEUE);
    if !expected.accepts.events {
        drop(receiver);
        let client = Client { sender, kept: None };
        return Ok(reply::json(StatusCode::OK, run(&round, start, &id, &client).await?));
    }
    let (kept, has_primer) = answer::keep(&round.errand);
    if has_primer {
        // There is room in a queue that nobody used.
        let _ = sender.try_send(kept.primer());
    }
    let client = Client { sender, kept: Some(kept) };
    tokio::spawn(go_on(round, start, id, client, expected.hold));
    Ok(answer::stream(Body::merged(receiver, Vec::new(), Box::pin(std::future::pending()))))
}

/// The client of a call that goes on on a stream.
struct Client {
    /// Its connection; closed for one that takes no events.
    sender: mpsc::Sender<Bytes>,
    /// Where events are kept for a client that comes back.
    kept: Option<Writing>,
}

impl Client {
    /// Sends a message; says whether the client has it or may come back for it.
    async fn tell(&self, message: &[u8]) -> bool {
        let Some(kept) = &self.kept else {
            return self.sender.send(sse::encode(message, None)).await.is_ok();
        };
        let event = kept.event(message);
        if !kept.is_read() {
            // Who is away comes back for it.
            let _ = self.sender.send(event).await;
        }
        true
    }

    fn is_gone(&self) -> bool {
        self.kept.is_none() && self.sender.is_closed()
    }

    /// Resolves when the client has been away for so long.
    async fn left(&self, patience: Duration) {
        self.sender.closed().await;
        loop {
            tokio::time::sleep(patience).await;
            if !self.kept.as_ref().is_some_and(Writing::is_read) {
                return;
            }
        }
    }
}

/// Runs a call to its answer. Ends when its client cancels it, or some time after the client went away, which
/// by itself is no cancellation.
async fn go_on(round: Round, start: Start, id: Bytes, client: Client, hold: Hold) {
    let stopped = async {
        match hold.airborne.as_ref().and_then(|airborne| airborne.stop.clone()) {
            Some(stop) => stop.notified().await,
            None => std::future::pending().await,
        }
    };
    let answer = tokio::select! {
        answer = run(&round, start, &id, &client) => answer,
        () = stopped => return,
        () = client.left(hold.patience.unwrap_or_default()) => return,
    };
    let answer = answer.unwrap_or_else(|error| {
        let asker =
            reply::Asker { id: Some(&id), is_modern: false, metadata_url: &String::new, scope: &String::new };
        reply::body(&error, &asker)
    });
    // A client that went away needs no answer.
    client.tell(&answer).await;
}

/// Runs rounds until the backend answers. Returns the answer for the client.
async fn run(round: &Round, start: Start, id: &Bytes, client: &Client) -> Result<Bytes, Error> {
    let mut relay = Relay {
        errand: Some(round.errand.clone()),
        may_ask: false,
        dress: Dress::ToLegacy { method: round.method },
        awaited: Some(id.clone()),
        ..Relay::untouched()
    };
    let mut asked = match start {
        Start::Asked(asked) => asked,
        Start::Stream(reply) => match read(round, reply, &relay, client).await? {
            Answered::Asks(asked) => asked,
            Answered::Finally(answer) => return Ok(answer),
        },
    };
    for number in 1..=MOST_ROUNDS {
        let mut responses = Vec::new();
        for request in &asked.requests {
            match ask(round, request, client).await? {
                Some(response) => responses.push((request.key.clone(), response)),
                None => return Ok(declined(id, round.method)),
            }
        }
        if asked.requests.is_empty() {
            tokio::time::sleep(STATE_ONLY_PAUSE).await;
        }
        let Ok(outline) = Outline::read(&round.body) else { break };
        // Each round is a request of its own to the backend.
        let own = Bytes::from(format!("\"round-{number}\""));
        let state = asked.request_state.as_ref();
        let body = with_responses(&round.body, &outline, &responses, state, Some(&own));
        relay.awaited = Some(own.clone());
        relay.restore = Some(RestoreId { own, clients: id.clone() });
        let outgoing = forward::post(round.headers.clone(), body);
        let answer = forward::send(&round.errand.backends, &round.errand.version, outgoing).await?;
        let (head, back) = answer.into_parts();
        let answered = match back {
            Back::Coming(reply) if answer::is_events(&head.headers) => {
                read(round, reply, &relay, client).await?
            }
            Back::Coming(reply) => {
                let whole = reply.collect(MAX_ANSWER_BYTES).await;
                finally(round, &relay, whole.map_err(|error| Error::of_backend(server(round), &error))?)?
            }
            Back::Read(whole) => finally(round, &relay, whole)?,
        };
        match answered {
            Answered::Asks(again) => asked = again,
            Answered::Finally(answer) => return Ok(answer),
        }
    }
    Err(Error::Unusable {
        server: server(round).into(),
        reason: format!("it asked more than {MOST_ROUNDS} times"),
    })
}

enum Answered {
    Asks(InputRequired),
    Finally(Bytes),
}

fn finally(round: &Round, relay: &Relay, answer: Bytes) -> Result<Answered, Error> {
    Ok(match questions(round, &answer)? {
        Some(asked) => Answered::Asks(asked),
        None => Answered::Finally(relay.finished(answer)),
    })
}

/// Reads what a backend's answer asks for, if it asks at all.
fn questions(round: &Round, answer: &Bytes) -> Result<Option<InputRequired>, Error> {
    let unusable = |unknown: UnknownQuestion| Error::Unusable {
        server: server(round).into(),
        reason: unknown.to_string(),
    };
    input_required(answer).map_err(unusable)
}

/// Passes a stream's messages on until its answer.
async fn read(
    round: &Round,
    reply: backend::Reply,
    relay: &Relay,
    client: &Client,
) -> Result<Answered, Error> {
    let mut events = Events::new(reply, MAX_EVENT_BYTES);
    let unusable = |reason: &str| Error::Unusable { server: server(round).into(), reason: reason.into() };
    while let Some(event) = events.next().await {
        let event = event.map_err(|unread| match unread {
            Unread::TooLong(_) => unusable("it sent an event too long to read"),
            Unread::Broken(error) => Error::of_backend(server(round), &error),
        })?;
        if let Some(asked) = questions(round, &event.data)? {
            return Ok(Answered::Asks(asked));
        }
        match relay.pass(event.data) {
            Passed::Answer(answer) => return Ok(Answered::Finally(answer)),
            Passed::Message(message) => {
                client.tell(&message).await;
            }
            Passed::Nothing | Passed::Question { .. } | Passed::Lacking(_) => {}
        }
    }
    Err(unusable("its stream ended without an answer"))
}

/// Asks the client and waits for its answer. `None`: it refused something without which the call cannot go on,
/// or it cannot be asked.
async fn ask(round: &Round, request: &InputRequest, client: &Client) -> Result<Option<Bytes>, Error> {
    if client.is_gone() {
        return Ok(None);
    }
    let (answer, waiting) = oneshot::channel();
    let asked = Asked { answer: Answer::ToRound(answer), progress_token: None };
    let Some(number) = round.errand.session.state().ask(asked) else { return Ok(None) };
    let _removed = Removal { errand: &round.errand, number };
    let (id, method) = (asked_id(number), quote(&request.method_name));
    let params = String::from_utf8_lossy(&request.params);
    let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
    let gone =
        || Error::Unusable { server: server(round).into(), reason: "the client gave no answer".into() };
    if !client.tell(message.as_bytes()).await {
        return Err(gone());
    }
    let answer = tokio::time::timeout(ROUND_TIME, waiting).await.map_err(|_| gone())?.map_err(|_| gone())?;
    if let Some(result) = member(&answer, "result") {
        return Ok(Some(answer.slice(result.range())));
    }
    Ok(match request.method {
        Method::Elicit => Some(Bytes::from_static(br#"{"action":"cancel"}"#)),
        Method::RootsList => Some(Bytes::from_static(br#"{"roots":[]}"#)),
        _ => None,
    })
}

/// Takes a question back that is no longer waited for.
struct Removal<'a> {
    errand: &'a Errand,
    number: u64,
}

impl Drop for Removal<'_> {
    fn drop(&mut self) {
        self.errand.session.state().asked.remove(&self.number);
    }
}

/// The end of a call whose client would not do what the backend needs.
fn declined(id: &Bytes, method: Method) -> Bytes {
    if method == Method::ToolsCall {
        let result = br#"{"content":[{"type":"text","text":"the client refused the request of the tool"}],"isError":true}"#;
        return mcp::error::result_body(id, result);
    }
    error_body(Some(id), code::INTERNAL, "the client refused the request of the backend", None)
}

fn server(round: &Round) -> &str {
    round.errand.version.key.path.as_str()
}
