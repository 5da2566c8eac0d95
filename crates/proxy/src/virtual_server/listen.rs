//! The GET stream: notifications and requests of all backends as one stream.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use backend::{Outgoing, Reply};
use bytes::Bytes;
use catalog::VersionKey;
use catalog::access::Principal;
use catalog::endpoint::{Endpoint, Era};
use http::header::ACCEPT;
use http::{HeaderMap, Method as Verb, Response, StatusCode};
use http_body_util::BodyExt;
use mcp::sse;
use routing::Table;
use routing::target::VirtualTarget;
use routing::version::VersionTarget;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::answer;
use crate::error::Error;
use crate::exchange::back_era;
use crate::forward::{self, EVENTS, Errand};
use crate::outbound::{Body, MAX_EVENT_BYTES};
use crate::plane::{Front, Plane};
use crate::relay::{Passed, Relay};
use crate::sessions::{BackendSession, ClientSession, Slot};

/// Events that wait for a slow client; later ones are dropped, as on any stream that nobody reads.
const QUEUE: usize = 256;

/// First and longest pause before a backend's stream that ended is opened again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Opens the GET stream of a session. An older one of the same session ends.
pub(crate) async fn open(
    plane: &Plane,
    headers: &HeaderMap,
    target: &Arc<VirtualTarget>,
    principal: &Principal,
) -> Result<Response<Body>, Error> {
    let session = super::session(plane, headers, target, principal).await?;
    let (sender, receiver) = mpsc::channel(QUEUE);
    session.state().stream = Some(sender);
    plane.shared.listen(&target.slug, &session);
    let following = tokio::spawn(follow_all(plane.clone(), session, target.clone()));
    let closing = plane.shared.while_allowed(principal, &target.path, None);
    Ok(answer::stream(Body::merged(receiver, vec![following.abort_handle()], closing)))
}

/// The stream of one backend.
struct Followed {
    endpoint: Arc<Endpoint>,
    task: AbortHandle,
}

/// Follows the streams of all backends behind the virtual server, also of those that come to it later. What
/// was switched away from is followed until it is removed, for calls may still run there.
async fn follow_all(plane: Plane, session: Arc<ClientSession>, mut target: Arc<VirtualTarget>) {
    let mut published = plane.shared.published();
    let mut followed: HashMap<VersionKey, Followed> = HashMap::new();
    let mut streams = JoinSet::new();
    loop {
        // A modern backend has no such stream, nor a session to open it in.
        let has_stream = |version: &&Arc<VersionTarget>| back_era(version, Front::Legacy) == Era::Legacy;
        for version in target.backends.iter().filter(has_stream) {
            followed.entry(version.key.clone()).or_insert_with(|| {
                let task = streams.spawn(follow(plane.errand(&session, version)));
                Followed { endpoint: version.endpoint.clone(), task }
            });
        }
        if published.changed().await.is_err() {
            return;
        }
        while streams.try_join_next().is_some() {}
        let table = plane.shared.live.full();
        followed.retain(|key, one| {
            let is_there = is_at(&table, key, &one.endpoint);
            if !is_there {
                one.task.abort();
            }
            is_there
        });
        match table.virtual_server(target.slug.as_str()).filter(|now| now.is_enabled) {
            Some(now) => target = now.clone(),
            None => {
                session.state().stream = None;
                return;
            }
        }
    }
}

/// Says whether a version is still served, at the same endpoint.
fn is_at(table: &Table, key: &VersionKey, endpoint: &Endpoint) -> bool {
    let server = table.server(key.path.as_str()).filter(|server| server.is_enabled);
    let version = server.and_then(|server| server.version(key.label.as_str()));
    version.is_some_and(|version| *version.endpoint == *endpoint)
}

/// Keeps one backend's stream open, until the backend says that it has none.
async fn follow(errand: Arc<Errand>) {
    let slot = errand.session.slot(&errand.version.key);
    let mut pause = FIRST_PAUSE;
    loop {
        if let Ok(open) = errand.open(&slot).await {
            match read_stream(&errand, &slot, &open).await {
                Ended::NoStream => return,
                Ended::Renewed => continue,
                Ended::Lost => slot.forget(&open),
                Ended::AfterEvents => pause = FIRST_PAUSE,
                Ended::AtOnce => {}
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Why a backend's stream is over.
enum Ended {
    NoStream,
    Lost,
    Renewed,
    AfterEvents,
    AtOnce,
}

async fn read_stream(errand: &Arc<Errand>, slot: &Slot, open: &Arc<BackendSession>) -> Ended {
    let mut renewed = pin!(slot.renewed.notified());
    renewed.as_mut().enable();
    if !slot.current().is_some_and(|now| Arc::ptr_eq(&now, open)) {
        return Ended::Renewed;
    }
    if open.id.is_none() {
        return Ended::NoStream;
    }
    let mut headers = errand.session_headers(open, HeaderMap::new());
    headers.insert(ACCEPT, EVENTS);
    let outgoing = Outgoing { method: Verb::GET, headers, body: Bytes::new() };
    let answer = match errand.backends.send(&errand.version.endpoint, outgoing).await {
        Ok(answer) if answer.status() == StatusCode::OK => answer,
        Ok(answer) if answer.status() == StatusCode::NOT_FOUND => return Ended::Lost,
        // The backend has not noticed yet that the stream before this one is closed.
        Ok(answer) if answer.status() == StatusCode::CONFLICT => return Ended::AtOnce,
        Ok(answer) if answer.status() == StatusCode::BAD_REQUEST => {
            let refusal = forward::read_refusal(answer.into_body()).await.unwrap_or_default();
            return if forward::is_about_session(&refusal) { Ended::Lost } else { Ended::NoStream };
        }
        Ok(answer) if answer.status().is_client_error() => return Ended::NoStream,
        _ => return Ended::AtOnce,
    };
    let mut reply = answer.into_body();
    reply.set_idle(None);
    tokio::select! {
        ended = pass_all(errand, reply) => ended,
        () = renewed => Ended::Renewed,
    }
}

async fn pass_all(errand: &Arc<Errand>, mut reply: Reply) -> Ended {
    let relay = Relay { errand: Some(errand.clone()), ..Relay::untouched() };
    let mut decoder = sse::Decoder::new(MAX_EVENT_BYTES);
    let mut ended = Ended::AtOnce;
    while let Some(Ok(frame)) = reply.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        decoder.push(data);
        while let Some(event) = decoder.next() {
            let Ok(event) = event else { return ended };
            ended = Ended::AfterEvents;
            if !event.data.is_empty()
                && let Passed::Message(message) = relay.pass(event.data)
            {
                errand.session.push(sse::encode(&message, None));
            }
        }
    }
    ended
}
