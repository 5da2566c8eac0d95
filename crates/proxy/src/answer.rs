//! A backend's answer turned into the client's.

mod last;
mod reading;

use std::time::Duration;

use backend::{Held, Reply};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, response};
use mcp::era::Revision;
use mcp::error::{code, error_body};
use mcp::headers::Accepts;
use mcp::message::{Outline, apart, is_array, member};
use mcp::rewrite::{Edit, splice};
use mcp::sse;

use crate::error::Error;
use crate::forward::{Back, Errand};
use crate::hold::Hold;
use crate::lending::Lending;
use crate::outbound::{Body, MAX_EVENT_BYTES};
use crate::parked::ParkedCall;
use crate::relay::{Dress, Passed, Relay, id};
use crate::replay::Writing;
use crate::reply::{self, JSON};
use crate::rest::{Coming, Rest};
use crate::trail::Trail;
use last::{Running, last_answer};
use reading::{MAX_WHOLE_BYTES, Whole, beginning, is_answer, looks_whole, whole};

/// Largest JSON answer that is read whole because something in it must be replaced.
const MAX_REWRITTEN_BYTES: usize = 16 * 1024 * 1024;

/// How long the head of a modern client's stream waits for the first event, which may refuse the request and so have
/// another status. Backends that ask what a client cannot answer do so early.
const FIRST_EVENT_TIME: Duration = Duration::from_secs(2);

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const NO_TRANSFORM: HeaderValue = HeaderValue::from_static("no-cache, no-transform");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const NO: HeaderValue = HeaderValue::from_static("no");

/// What is expected of an answer.
pub(crate) struct Expected<'a> {
    /// The server's path, for errors.
    pub(crate) server: &'a str,
    /// What the client takes.
    pub(crate) accepts: Accepts,
    /// The raw id of the request; `None` after a notification or an answer of the client.
    pub(crate) id: Option<&'a [u8]>,
    /// What lives until the last byte.
    pub(crate) hold: Hold,
    /// How the messages of a stream are passed on, and which id is put back.
    pub(crate) relay: Relay,
    /// What the answer may give the client to be shown again; that is sealed.
    pub(crate) lending: Option<Lending<'a>>,
    /// Whether streams are handed on untouched: on a server path, while the ids are the client's own.
    pub(crate) is_untouched: bool,
}

/// Turns a backend's answer into the client's, with the content type and hardly anything else in its head.
pub(crate) async fn to_client(
    answer: Response<Back>,
    mut expected: Expected<'_>,
) -> Result<Response<Body>, Error> {
    let (head, back) = answer.into_parts();
    if !expected.is_untouched {
        let own = expected.relay.restore.as_ref().map(|restore| restore.own.clone());
        expected.relay.awaited = own.or_else(|| expected.id.map(Bytes::copy_from_slice));
    }
    let content = content(&head.headers);
    if !matches!(content, Content::Events) {
        // The backend is done with the request, whatever its answer is worth.
        expected.hold.cancels = None;
    }
    let unusable = |reason: String| Err(Error::Unusable { server: expected.server.into(), reason });
    if matches!(head.status, StatusCode::UNAUTHORIZED | StatusCode::PROXY_AUTHENTICATION_REQUIRED) {
        return Err(Error::RefusedCredentials { server: expected.server.into() });
    }
    if head.status.is_redirection() {
        return unusable(format!("it redirected with HTTP {}", head.status.as_u16()));
    }
    match content {
        Content::Json => {
            let read = match back {
                Back::Read(bytes) => Whole::Read(bytes),
                Back::Coming(reply) => {
                    let read = whole(reply, MAX_WHOLE_BYTES).await;
                    read.map_err(|error| Error::of_backend(expected.server, &error))?
                }
            };
            match read {
                Whole::Read(bytes) => whole_to_client(head.status, bytes.into(), expected),
                Whole::Begun(begun, reply) => Box::pin(long_json(head.status, begun, reply, expected)).await,
            }
        }
        Content::Events if head.status.is_success() && expected.id.is_some() => {
            Box::pin(events(back, expected)).await
        }
        _ if expected.id.is_none() && head.status.is_success() => Ok(reply::empty(StatusCode::ACCEPTED)),
        Content::Other if head.status.is_client_error() && expected.is_untouched => {
            Ok(Box::pin(in_its_own_words(&head, back)).await)
        }
        _ => unusable(format!("it answered HTTP {} without MCP in it", head.status.as_u16())),
    }
}

/// Waits for a backend's answer and turns it into the client's. Where the backend asks first, beside the stream of
/// the call, the call is parked and the answer is its question.
pub(crate) async fn when_come(
    mut coming: Coming,
    mut expected: Expected<'_>,
) -> Result<Response<Body>, Error> {
    let open = tokio::select! {
        biased;
        answer = &mut coming => return match answer {
            Ok(answer) => to_client(answer, expected).await,
            Err(error) => {
                expected.hold.cancels = None;
                Err(error)
            }
        },
        open = expected.hold.asked() => open,
    };
    let Expected { hold, relay, .. } = expected;
    let errand = relay.errand.clone().expect("only calls in a session are asked");
    let call = ParkedCall { rest: Rest::Whole(coming), hold, relay, open };
    Ok(reply::json(StatusCode::OK, errand.shared.parked.park(call, &errand.shared.opaque)))
}

/// Says whether an answer is JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    matches!(content(headers), Content::Json)
}

/// Says whether an answer is an event stream.
pub(crate) fn is_events(headers: &HeaderMap) -> bool {
    matches!(content(headers), Content::Events)
}

enum Content {
    Json,
    Events,
    Other,
}

fn content(headers: &HeaderMap) -> Content {
    let value = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let end = memchr::memchr(b';', value).unwrap_or(value.len());
    let essence = value[..end].trim_ascii();
    if essence.eq_ignore_ascii_case(b"application/json") {
        Content::Json
    } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
        Content::Events
    } else {
        Content::Other
    }
}

/// Hands on a refusal that is not MCP: its status, when to come back, and what it says. Nothing in it is for the
/// client's credentials or cookies, which are another party's.
async fn in_its_own_words(head: &response::Parts, back: Back) -> Response<Body> {
    let words = match back {
        Back::Read(words) => words,
        // What cannot be read to its end says enough with its status.
        Back::Coming(mut reply) => beginning(&mut reply, Bytes::new(), |_| false).await.unwrap_or_default(),
    };
    let words = words.slice(..words.len().min(MAX_WHOLE_BYTES));
    let mut response = reply::empty(head.status);
    if let Some(when) = head.headers.get(RETRY_AFTER) {
        response.headers_mut().insert(RETRY_AFTER, when.clone());
    }
    let kind = head.headers.get(CONTENT_TYPE).filter(|_| !head.headers.contains_key(CONTENT_ENCODING));
    if let (Some(kind), false) = (kind, words.is_empty()) {
        response.headers_mut().insert(CONTENT_TYPE, kind.clone());
        *response.body_mut() = Body::full(words);
    }
    response
}

/// Passes on a JSON answer that is too long to be read whole.
async fn long_json(
    status: StatusCode,
    mut begun: Bytes,
    mut reply: Reply,
    expected: Expected<'_>,
) -> Result<Response<Body>, Error> {
    let failed = |error: backend::Error| Error::of_backend(expected.server, &error);
    if expected.lending.is_some_and(|lending| lending.wants_whole()) {
        let whole = reply.collect_after(begun, MAX_REWRITTEN_BYTES).await.map_err(failed)?;
        return whole_to_client(status, whole, expected);
    }
    if !expected.is_untouched && is_array(&begun) {
        let whole = reply.collect_after(begun, MAX_REWRITTEN_BYTES).await.map_err(failed)?;
        return whole_to_client(status, whole, expected);
    }
    let relay = &expected.relay;
    if relay.restore.is_some() || relay.awaited.is_some() {
        let is_enough = |begun: &[u8]| id::find(begun).is_some();
        begun = beginning(&mut reply, begun, is_enough).await.map_err(failed)?;
        let is_foreign = match (&relay.awaited, id::find(&begun).map(|at| at.of(&begun))) {
            (Some(awaited), Some(found)) => found != b"null" && !id::is_same(found, awaited),
            _ => false,
        };
        if is_foreign {
            return Err(foreign(expected.server));
        }
    }
    let Some(begun) = begun_for_client(&begun, relay) else {
        let whole = reply.collect_after(begun, MAX_REWRITTEN_BYTES).await.map_err(failed)?;
        return whole_to_client(status, whole, expected);
    };
    let lender = expected.lending.map(Lending::to_lender);
    let mut response = Response::new(Body::passing(begun, reply, expected.hold, lender));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    Ok(response)
}

/// Changes the beginning of an answer so that the rest can follow as it is; `None` where all of it must be known.
fn begun_for_client(begun: &Bytes, relay: &Relay) -> Option<Bytes> {
    if !matches!(relay.dress, Dress::Same) {
        return None;
    }
    let Some(restore) = &relay.restore else { return Some(begun.clone()) };
    let at = id::find(begun)?;
    if !id::is_same(at.of(begun), &restore.own) {
        return Some(begun.clone());
    }
    Some(splice(begun, &mut [Edit { at, with: restore.clients.clone() }]))
}

/// Turns a JSON answer that was read to its end into the client's.
pub(crate) fn whole_to_client(
    status: StatusCode,
    whole: Held,
    mut expected: Expected<'_>,
) -> Result<Response<Body>, Error> {
    if expected.id.is_none() && status.is_success() {
        return Ok(reply::empty(StatusCode::ACCEPTED));
    }
    let unusable = |reason: &str| Error::Unusable { server: expected.server.into(), reason: reason.into() };
    if !looks_whole(&whole.bytes) {
        return Err(unusable("it answered JSON that is empty or cut off"));
    }
    if !expected.is_untouched && is_array(&whole.bytes) {
        return several_to_client(status, whole, expected);
    }
    if !expected.is_untouched && !is_answer(&whole.bytes) {
        return Err(unusable("it answered JSON that is cut off or no answer"));
    }
    if !expected.is_untouched && expected.relay.is_foreign(&whole.bytes) {
        return Err(foreign(expected.server));
    }
    expected.hold.complete();
    let finished = whole.map(|whole| {
        let finished = expected.relay.finished(whole);
        match expected.lending {
            Some(lending) => lending.sealed(finished),
            None => finished,
        }
    });
    let finished = finished.into_bytes();
    Ok(reply::json(status_of(status, &expected.relay.dress, &finished), finished))
}

/// Turns an array with the answer in it, as backends of 2025-03-26 may write, into the client's answer, and into a
/// stream where something stands beside the answer.
fn several_to_client(
    status: StatusCode,
    whole: Held,
    mut expected: Expected<'_>,
) -> Result<Response<Body>, Error> {
    expected.hold.complete();
    // Whoever has answered waits for nothing.
    expected.relay.may_ask = false;
    expected.relay.lender = expected.lending.take().map(Lending::to_lender);
    let (mut events, mut answer) = (Vec::new(), None);
    for message in apart(whole.into_bytes()) {
        match expected.relay.pass(message) {
            Passed::Message(message) => events.push(sse::encode(&message, None)),
            Passed::Answer(finished) => answer = answer.or(Some(finished)),
            Passed::Nothing | Passed::Question { .. } | Passed::Lacking(_) => {}
        }
    }
    let unusable = || "it answered an array without the answer".to_owned();
    let answer =
        answer.ok_or_else(|| Error::Unusable { server: expected.server.into(), reason: unusable() })?;
    if events.is_empty() || !expected.accepts.events {
        return Ok(reply::json(status_of(status, &expected.relay.dress, &answer), answer));
    }
    events.push(sse::encode(&answer, None));
    Ok(stream(Body::full(events.concat().into())))
}

fn status_of(status: StatusCode, dress: &Dress, finished: &[u8]) -> StatusCode {
    match dress {
        Dress::Same => status,
        // Legacy clients read an error only from a 2xx answer; modern backends give some other statuses.
        Dress::ToLegacy { .. } => StatusCode::OK,
        // For modern clients the status says that a method is unknown (2026-07-28, streamable HTTP).
        Dress::ToModern { .. } if is_unknown_method(finished) => StatusCode::NOT_FOUND,
        Dress::ToModern { .. } => status,
    }
}

fn foreign(server: &str) -> Error {
    Error::Unusable { server: server.into(), reason: "it answered another request".into() }
}

fn is_unknown_method(answer: &[u8]) -> bool {
    let number = code::METHOD_NOT_FOUND.to_string();
    // Hardly any answer holds the number at all.
    if memchr::memmem::find(answer, number.as_bytes()).is_none() {
        return false;
    }
    let Ok(Outline { error: Some(error), .. }) = Outline::read(answer) else { return false };
    let error = error.of(answer);
    member(error, "code").is_some_and(|span| span.of(error) == number.as_bytes())
}

async fn events(back: Back, mut expected: Expected<'_>) -> Result<Response<Body>, Error> {
    let Back::Coming(reply) = back else {
        return Err(Error::Unusable {
            server: expected.server.into(),
            reason: "its stream was cut off".into(),
        });
    };
    let lender = expected.lending.map(Lending::to_lender);
    if expected.accepts.events && expected.is_untouched && !expected.relay.rewrites() {
        return Ok(stream(Body::raw_events(reply, expected.hold, lender, None)));
    }
    expected.relay.lender = lender;
    let decoder = sse::Decoder::new(MAX_EVENT_BYTES);
    if !expected.accepts.events {
        let Expected { hold, relay, server, .. } = expected;
        let call = Running { reply, decoder, trail: Trail::default(), hold, relay, open: Vec::new() };
        return last_answer(call, server).await;
    }
    let kept = kept(&expected.relay);
    let may_refuse = matches!(expected.relay.dress, Dress::ToModern { .. });
    let unanswered = unanswered(expected.id, expected.server);
    let mut body =
        Body::relayed_events(reply, expected.hold, expected.relay, decoder, Trail::default(), unanswered);
    if may_refuse && let Some(refusal) = body.refusal(FIRST_EVENT_TIME).await {
        return Ok(reply::json(StatusCode::BAD_REQUEST, refusal));
    }
    Ok(stream(match kept {
        Some((kept, has_primer)) => body.kept(kept, has_primer),
        None => body,
    }))
}

/// Begins to keep the stream of a legacy client's call. Other streams are not ours to keep: on server paths of one era
/// the backend's own ids pass through, and 2026-07-28 has none.
fn kept(relay: &Relay) -> Option<(Writing, bool)> {
    Some(keep(relay.errand.as_ref().filter(|_| matches!(relay.dress, Dress::Same))?))
}

/// Begins to keep the stream of a call, and says whether it begins with a primer.
pub(crate) fn keep(errand: &Errand) -> (Writing, bool) {
    let sealed = &errand.session.sealed;
    (errand.shared.replays.begin(&sealed.id), sealed.revision >= Revision::V2025_11_25)
}

/// What is said where a stream ends without an answer.
pub(crate) fn unanswered(id: Option<&[u8]>, server: &str) -> Bytes {
    let message = format!("Backend server gave no answer: {server}");
    error_body(id, code::UNUSABLE_ANSWER, &message, None)
}

/// The rest of the answer to a call that was parked and goes on.
pub(crate) async fn of_parked(
    call: ParkedCall,
    accepts: Accepts,
    id: Option<&[u8]>,
    server: &str,
) -> Result<Response<Body>, Error> {
    let ParkedCall { rest, hold, relay, open } = call;
    let (reply, decoder, trail) = match rest {
        Rest::Stream { reply, decoder, trail } => (reply, decoder, trail),
        Rest::Whole(coming) => {
            let expected = Expected { server, accepts, id, hold, relay, lending: None, is_untouched: false };
            return when_come(coming, expected).await;
        }
    };
    if !accepts.events {
        let call = Running { reply, decoder, trail, hold, relay, open };
        return last_answer(call, server).await;
    }
    let unanswered = unanswered(id, server);
    Ok(stream(Body::relayed_events(reply, hold, relay, decoder, trail, unanswered)))
}

/// Dresses a body as an event stream that nothing on the way may hold back.
pub(crate) fn stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
    headers.insert(CACHE_CONTROL, NO_TRANSFORM);
    headers.insert(ACCEL_BUFFERING, NO);
    response
}

#[cfg(test)]
mod tests;
