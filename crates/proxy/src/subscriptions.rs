//! `subscriptions/listen`: one stream on which a modern client is told what changed of what it asked for.
//!
//! Where both sides are modern, a server's own stream is passed on. Everywhere else the stream is ours, and feeds on
//! those of the backends.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use auth::Issuer;
use bytes::Bytes;
use catalog::VersionKey;
use catalog::endpoint::Era;
use http::Response;
use mcp::era::Revision;
use mcp::headers::{Wanted, wanted_version};
use mcp::message::Meta;
use mcp::method::Method;
use mcp::sse;
use mcp::subscription::{Filter, acknowledgment, end};
use routing::target::VirtualTarget;
use routing::version::VersionTarget;
use tokio::sync::mpsc;

use crate::answer;
use crate::choice::Choice;
use crate::error::Error;
use crate::exchange::{self, Exchange};
use crate::follow::{self, Granted, Listener, Ready};
use crate::opaque::VirtualSession;
use crate::outbound::Body;
use crate::plane::{Call, Front, NAMELESS};
use crate::resource_owners;
use crate::sessions::{ClientSession, Listening, MAX_SUBSCRIPTIONS, Outlet};
use crate::shared::Shared;
use crate::subscribe;

/// Messages that wait for a slow client; its stream ends where there are more.
const QUEUE: usize = 256;

/// How long the backends have until the client is told that it is subscribed. Clients wait a second for that; a backend
/// that takes longer is listened to as soon as it can be.
const READY_TIME: Duration = Duration::from_millis(500);

type Until = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Opens the stream of a virtual server.
pub(crate) async fn of_virtual(call: &Call, target: &Arc<VirtualTarget>) -> Result<Response<Body>, Error> {
    let mut filter = asked(call)?;
    filter.prompts &= target.face(Era::Modern).answers(Method::PromptsList);
    filter.resources &= target.face(Era::Modern).answers(Method::ResourcesList);
    let mut owners = HashMap::new();
    filter.uris.retain(|uri| {
        let owners_of = resource_owners::find(call, target, None, uri);
        let owner = subscribe::owner(target, Era::Modern, &owners_of);
        owner.is_some_and(|owner| owners.insert(uri.clone(), owner.key.clone()).is_none())
    });
    let shared = &call.plane.shared;
    let until = shared.while_allowed(&call.principal, &target.path, None);
    let session = session(call, &target.binding, owners);
    shared.listen(&target.slug, &session);
    let (ready, granted) = Ready::new();
    let following = follow::virtual_server(listener(call, &session), target.clone(), ready);
    begin(call, Opening { session, filter, granted, lists_are_ours: true }, following, until).await
}

/// Opens the stream of a version of a server, whose backend is legacy.
pub(crate) async fn of_version(call: &Call, version: &Arc<VersionTarget>) -> Result<Response<Body>, Error> {
    let mut filter = asked(call)?;
    filter.tools &= version.offers_switch(Era::Modern, "tools", "listChanged");
    filter.prompts &= version.offers_switch(Era::Modern, "prompts", "listChanged");
    filter.resources &= version.offers_switch(Era::Modern, "resources", "listChanged");
    if !subscribe::tells_of_updates(version, Era::Modern) {
        filter.uris.clear();
    }
    let owners = filter.uris.iter().map(|uri| (uri.clone(), version.key.clone())).collect();
    let session = session(call, version.key.path.as_str(), owners);
    let until = while_chosen(call, version);
    let (ready, granted) = Ready::new();
    let following = follow::version(listener(call, &session), version.clone(), Era::Legacy, ready);
    begin(call, Opening { session, filter, granted, lists_are_ours: false }, following, until).await
}

/// Passes on the stream of a version whose backend is modern.
pub(crate) async fn passed_on(call: &Call, choice: &Choice) -> Result<Response<Body>, Error> {
    let seat = call.plane.shared.seats.take(&call.principal)?;
    let until = while_chosen(call, &choice.version);
    let version = choice.version.clone();
    let answer = exchange::run(Exchange::at_server(call, version)).await?;
    // A blank line first: the backend may have begun an event.
    let farewell = [b"\n", &farewell(call)[..]].concat();
    Ok(answer.map(|body| body.closing(holding(seat, until)).farewell(farewell.into())))
}

/// A stream on its way to its client.
struct Opening {
    session: Arc<ClientSession>,
    filter: Filter,
    granted: mpsc::Receiver<Granted>,
    /// Whether lists are those of the gateway, whose changes it knows whatever a backend tells of.
    lists_are_ours: bool,
}

async fn begin(
    call: &Call,
    opening: Opening,
    following: impl Future<Output = ()> + Send + 'static,
    until: Until,
) -> Result<Response<Body>, Error> {
    if !call.accepts.events {
        return Err(Error::NotAcceptable);
    }
    let seat = call.plane.shared.seats.take(&call.principal)?;
    let (sender, receiver) = mpsc::channel(QUEUE);
    let Opening { session, mut filter, mut granted, lists_are_ours } = opening;
    session.state().listening = Some(Listening { id: id(call), filter: filter.clone() });
    let task = tokio::spawn(following).abort_handle();
    // From here on it ends with its client.
    let body = Body::merged(receiver, vec![task], holding(seat, until)).farewell(farewell(call));
    let narrowing = async {
        while let Some(granted) = granted.recv().await {
            narrow(&mut filter, &session, &granted, lists_are_ours);
        }
    };
    let _ = tokio::time::timeout(READY_TIME, narrowing).await;
    // Nothing may come before it, so the session has the stream only now.
    let _ = sender.try_send(sse::encode(&acknowledgment(&id(call), &filter), None));
    let mut state = session.state();
    state.listening = Some(Listening { id: id(call), filter });
    state.stream = Some(Outlet::Listen(sender));
    drop(state);
    Ok(answer::stream(body))
}

/// Takes out of a filter what a backend did not agree to.
fn narrow(filter: &mut Filter, session: &ClientSession, granted: &Granted, lists_are_ours: bool) {
    let state = session.state();
    let is_theirs = |uri: &str| state.subscriptions.get(uri) == Some(&granted.key);
    filter.uris.retain(|uri| !is_theirs(uri) || granted.filter.uris.contains(uri));
    if !lists_are_ours {
        filter.tools &= granted.filter.tools;
        filter.prompts &= granted.filter.prompts;
        filter.resources &= granted.filter.resources;
    }
}

/// Reads what the client wants to be told of.
fn asked(call: &Call) -> Result<Filter, Error> {
    let params = call.outline.params.map(|params| params.of(&call.body)).unwrap_or_default();
    let filter = Filter::read(params).ok_or_else(|| {
        let reason = "params.notifications is missing or no filter of notifications";
        Error::InvalidParams(reason.into())
    })?;
    if filter.uris.len() > MAX_SUBSCRIPTIONS {
        let reason = format!("a stream may subscribe to {MAX_SUBSCRIPTIONS} resources");
        return Err(Error::InvalidParams(reason));
    }
    Ok(filter)
}

/// Makes the session in which the backends are listened to; it ends at them with the stream. The client cannot be asked
/// on its stream, so it is not said to be able to answer.
fn session(call: &Call, path: &str, owners: HashMap<Box<str>, VersionKey>) -> Arc<ClientSession> {
    let meta = call.outline.meta.map(|span| span.of(&call.body)).unwrap_or_default();
    let client_info = Meta::read(meta).client_info.and_then(|span| std::str::from_utf8(span.of(meta)).ok());
    let sealed = VirtualSession {
        id: Issuer::new_id().to_string(),
        revision: Revision::LATEST_LEGACY,
        capabilities: "{}".into(),
        client_info: client_info.unwrap_or(NAMELESS).into(),
    };
    let keeper = call.plane.backends.clone();
    let session = call.plane.shared.sessions.apart(sealed, path, &call.principal, keeper);
    session.state().subscriptions = owners;
    session
}

fn listener(call: &Call, session: &Arc<ClientSession>) -> Listener {
    Listener { plane: call.plane.clone(), session: session.clone(), front: Front::Modern }
}

/// Resolves when the caller may not listen any more, or another version answers it than the one listened to.
fn while_chosen(call: &Call, version: &Arc<VersionTarget>) -> Until {
    let shared = &call.plane.shared;
    let path = version.key.path.as_str();
    let allowed = shared.while_allowed(&call.principal, path, Some(version));
    if matches!(wanted_version(&call.headers), Wanted::Label(label) if label == version.key.label.as_str()) {
        return allowed;
    }
    let switched = switched(shared, version.key.clone());
    Box::pin(async move {
        tokio::select! {
            () = allowed => {}
            () = switched => {}
        }
    })
}

/// Resolves when another version of the server is active.
fn switched(shared: &Arc<Shared>, key: VersionKey) -> impl Future<Output = ()> + Send + use<> {
    let (mut published, shared) = (shared.published(), Arc::downgrade(shared));
    async move {
        loop {
            let table = shared.upgrade().map(|shared| shared.live.full());
            let server = table.as_ref().and_then(|table| table.server(key.path.as_str()));
            if server.is_none_or(|server| server.active().key != key) || published.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Keeps something until then.
fn holding(held: impl Send + 'static, until: Until) -> Until {
    Box::pin(async move {
        until.await;
        drop(held);
    })
}

fn id(call: &Call) -> Bytes {
    call.id().map(Bytes::copy_from_slice).unwrap_or_default()
}

fn farewell(call: &Call) -> Bytes {
    sse::encode(&end(&id(call)), None)
}
