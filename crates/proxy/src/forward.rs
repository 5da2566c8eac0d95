//! Sends a message to a backend: in a session, renewed once where the backend forgot it, or without one.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use backend::{Backends, Hello, Outgoing, Reply};
use bytes::Bytes;
use catalog::endpoint::Era;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt;
use mcp::era::Revision;
use mcp::headers::{PROTOCOL_VERSION, SESSION_ID};
use mcp::message::quote;
use routing::version::VersionTarget;
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::flights::Airborne;
use crate::sessions::{BackendSession, ClientSession, Slot};
use crate::shared::Shared;

/// What the data plane accepts from a backend.
pub(crate) const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
pub(crate) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Longest time in which a session is told what the client set for all of them. A backend that needs longer for a log
/// level would only hold up its client's calls.
pub(crate) const TAKE_UP_TIME: Duration = Duration::from_secs(5);

/// Longest refusal that is read to learn whether it is about the session.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// Most bytes read of an answer whose client went away, so that its backend can finish.
pub(crate) const MAX_DRAINED_BYTES: usize = 16 * 1024 * 1024;

/// Headers of a client that every backend gets: trace context (W3C) and what the client calls itself.
const CARRIED: [HeaderName; 5] = [
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
    HeaderName::from_static("baggage"),
    HeaderName::from_static("user-agent"),
    HeaderName::from_static("accept-language"),
];

/// The body of a backend's answer: still coming, or read already.
pub(crate) enum Back {
    Coming(Reply),
    Read(Bytes),
}

/// Room for the headers of most requests. More make a map twice as large, more than the allocator has at hand.
const USUAL_HEADERS: usize = 6;

/// Headers of a client that go on to a backend.
pub(crate) type Carried = Vec<(HeaderName, HeaderValue)>;

/// Picks the headers every backend gets. Everything else of the client, credentials first, stays here.
pub(crate) fn carried(client: &HeaderMap) -> Carried {
    // One look at each name there is, since most of these seldom are.
    let names = client.keys().filter(|name| CARRIED.contains(name));
    names.filter_map(|name| Some((name.clone(), client.get(name)?.clone()))).collect()
}

/// Copies the headers every backend gets, with room for those of this request.
pub(crate) fn carried_headers(client: &HeaderMap) -> HeaderMap {
    headers_of(&carried(client))
}

fn headers_of(carried: &Carried) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(USUAL_HEADERS);
    headers.extend(carried.iter().cloned());
    headers
}

/// Completes the headers of a POST.
pub(crate) fn post(mut headers: HeaderMap, body: Bytes) -> Outgoing {
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(ACCEPT, BOTH);
    Outgoing { method: Method::POST, headers, body }
}

/// Sends to a version's backend, owning all it needs, so that it can outlive its client.
pub(crate) fn send(
    backends: &Arc<Backends>,
    version: &Arc<VersionTarget>,
    outgoing: Outgoing,
) -> impl Future<Output = Result<Response<Back>, Error>> + Send + use<> {
    let (backends, version) = (backends.clone(), version.clone());
    async move {
        let answer = backends.send(&version.endpoint, outgoing).await;
        let answer = answer.map_err(|error| Error::of_backend(version.key.path.as_str(), &error))?;
        Ok(answer.map(Back::Coming))
    }
}

/// One message for one backend session of one client session.
pub(crate) struct Errand {
    pub(crate) shared: Arc<Shared>,
    pub(crate) backends: Arc<Backends>,
    pub(crate) session: Arc<ClientSession>,
    pub(crate) version: Arc<VersionTarget>,
}

impl Errand {
    fn server(&self) -> &str {
        self.version.key.path.as_str()
    }

    /// Posts a message; where the backend forgot the session, greets it again and posts once more. Nothing
    /// that may have run is posted twice.
    pub(crate) async fn post(&self, carried: Carried, body: Bytes) -> Result<Response<Back>, Error> {
        let slot = self.session.slot(&self.version.key);
        let open = self.open(&slot).await?;
        match self.once(&open, headers_of(&carried), body.clone()).await? {
            Some(answer) => Ok(answer),
            None => {
                slot.forget(&open);
                let open = self.open(&slot).await?;
                let again = Box::pin(self.once(&open, headers_of(&carried), body)).await?;
                again.ok_or_else(|| self.unusable("it forgot a session that it had just opened"))
            }
        }
    }

    /// Posts once. `None`: the backend does not know the session, so the message surely did not run.
    async fn once(
        &self,
        open: &Arc<BackendSession>,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Option<Response<Back>>, Error> {
        let outgoing = post(self.session_headers(open, headers), body);
        let answer = self.backends.send(&self.version.endpoint, outgoing).await;
        let (parts, reply) = answer.map_err(|error| Error::of_backend(self.server(), &error))?.into_parts();
        if open.id.is_none() || !matches!(parts.status, StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST) {
            return Ok(Some(Response::from_parts(parts, Back::Coming(reply))));
        }
        if parts.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let refusal =
            Box::pin(read_refusal(reply)).await.map_err(|error| Error::of_backend(self.server(), &error))?;
        Ok((!is_about_session(&refusal)).then(|| Response::from_parts(parts, Back::Read(refusal))))
    }

    /// Adds what identifies a backend session.
    pub(crate) fn session_headers(&self, open: &BackendSession, mut headers: HeaderMap) -> HeaderMap {
        if let Some(id) = &open.id {
            headers.insert(SESSION_ID, id.clone());
        }
        if open.revision >= Revision::V2025_06_18 {
            headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(open.revision.as_str()));
        }
        headers
    }

    /// Returns the backend session, greeting the backend first where there is none. Many calls at once
    /// greet once, and fail together.
    pub(crate) async fn open(&self, slot: &Slot) -> Result<Arc<BackendSession>, Error> {
        match self.opened(slot) {
            Some(open) => Ok(open),
            // Boxed, as is all here that is seldom: the future of a call is moved while it is made.
            None => Box::pin(self.greet(slot)).await,
        }
    }

    async fn greet(&self, slot: &Slot) -> Result<Arc<BackendSession>, Error> {
        let failures = slot.failures();
        let _alone = slot.opening.lock().await;
        if let Some(open) = self.opened(slot) {
            return Ok(open);
        }
        if let Some(error) = slot.failed_since(failures) {
            return Err(Error::of_backend(self.server(), &error));
        }
        let sealed = &self.session.sealed;
        let hello = Hello {
            revision: sealed.revision,
            capabilities: &sealed.capabilities,
            client_info: &sealed.client_info,
        };
        let greeting = self.backends.greet(&self.version.endpoint, &hello).await;
        let greeting = greeting.map_err(|error| Error::of_backend(self.server(), &slot.fail(error)))?;
        let id = greeting.session.as_deref().map(HeaderValue::from_str).transpose();
        let id = id.map_err(|_| self.unusable("its session id is not printable"))?;
        let endpoint = Some(self.version.endpoint.clone());
        let identity = self.version.identity;
        let open = BackendSession { id, revision: greeting.revision, endpoint, identity };
        // What does not get through costs log messages or updates, never the session.
        let _ = tokio::time::timeout(TAKE_UP_TIME, self.take_up(&open)).await;
        let open = slot.set(open);
        self.shared.sessions.keep(&self.session);
        Ok(open)
    }

    /// Returns the open session, unless it is one with a version that stood under this label before.
    fn opened(&self, slot: &Slot) -> Option<Arc<BackendSession>> {
        let open = slot.current()?;
        if open.identity == self.version.identity {
            return Some(open);
        }
        slot.forget(&open);
        None
    }

    /// Tells a new backend session what the client told the ones before: its log level and subscriptions.
    async fn take_up(&self, open: &BackendSession) {
        let messages: Vec<String> = {
            let state = self.session.state();
            let level = state.log_level.as_ref().filter(|_| self.version.offers(Era::Legacy, "logging"));
            let level =
                level.map(|level| format!(r#""method":"logging/setLevel","params":{{"level":{level}}}"#));
            let theirs = state.subscriptions.iter().filter(|(_, key)| **key == self.version.key);
            let subscribe =
                |uri: &str| format!(r#""method":"resources/subscribe","params":{{"uri":{}}}"#, quote(uri));
            level.into_iter().chain(theirs.map(|(uri, _)| subscribe(uri))).collect()
        };
        for (index, message) in messages.iter().enumerate() {
            let body = format!(r#"{{"jsonrpc":"2.0","id":"switchyard-{index}",{message}}}"#);
            self.tell(open, body.into()).await;
        }
    }

    /// Posts a message whose answer is of no interest, and waits for that.
    async fn tell(&self, open: &BackendSession, body: Bytes) {
        let outgoing = post(self.session_headers(open, HeaderMap::new()), body);
        if let Ok(answer) = self.backends.send(&self.version.endpoint, outgoing).await {
            let _ = answer.into_body().collect(MAX_REFUSAL_BYTES).await;
        }
    }

    /// Posts a notification or an answer in the background; its own answer is of no interest.
    pub(crate) fn post_aside(self: Arc<Self>, body: Bytes) {
        self.post_all(vec![body], None);
    }

    /// Posts some, one after another; `held` lives until the backend has the first.
    pub(crate) fn post_all(self: Arc<Self>, bodies: Vec<Bytes>, mut held: Option<Airborne>) {
        let slot = self.session.slot(&self.version.key);
        let Some(open) = slot.current() else { return };
        spawn_if_running(async move {
            for body in bodies {
                self.tell(&open, body).await;
                drop(held.take());
            }
        });
    }

    /// Posts a message that calls after it must find taken, be the session open or just being opened. Goes on to its
    /// end whether or not somebody waits for that.
    pub(crate) fn post_first(self: Arc<Self>, body: Bytes) -> JoinHandle<()> {
        let slot = self.session.slot(&self.version.key);
        tokio::spawn(async move {
            drop(slot.opening.lock().await);
            if let Some(open) = slot.current() {
                self.tell(&open, body).await;
            }
        })
    }

    fn unusable(&self, reason: &str) -> Error {
        Error::Unusable { server: self.server().into(), reason: reason.into() }
    }
}

/// Reads why a backend refused.
pub(crate) async fn read_refusal(reply: Reply) -> Result<Bytes, backend::Error> {
    reply.collect(MAX_REFUSAL_BYTES).await
}

/// Says whether a refusal is about the session: some backends answer 400 for one they do not know.
pub(crate) fn is_about_session(refusal: &[u8]) -> bool {
    refusal.to_ascii_lowercase().windows(7).any(|word| word == b"session")
}

/// Lets an exchange with a backend go on for a while when its client goes away without cancelling: for
/// clients of the legacy era a closed connection is not a cancellation (gateway protocol, section 6).
pub(crate) struct Patient<F: Future<Output = Result<Response<Back>, Error>> + Send + 'static> {
    future: Option<Pin<Box<F>>>,
    /// The request stays among those under way for as long as the exchange goes on.
    airborne: Option<Airborne>,
    patience: Duration,
}

impl<F: Future<Output = Result<Response<Back>, Error>> + Send + 'static> Patient<F> {
    pub(crate) fn new(future: F, patience: Duration, airborne: Option<Airborne>) -> Self {
        Self { future: Some(Box::pin(future)), airborne, patience }
    }
}

impl<F: Future<Output = Result<Response<Back>, Error>> + Send + 'static> Future for Patient<F> {
    type Output = Result<(Response<Back>, Option<Airborne>), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.future.as_mut().expect("not polled again after it was ready");
        let answer = std::task::ready!(future.as_mut().poll(cx));
        self.future = None;
        Poll::Ready(answer.map(|answer| (answer, self.airborne.take())))
    }
}

impl<F: Future<Output = Result<Response<Back>, Error>> + Send + 'static> Drop for Patient<F> {
    fn drop(&mut self) {
        let Some(future) = self.future.take() else { return };
        let (patience, airborne) = (self.patience, self.airborne.take());
        spawn_if_running(async move {
            let rest = async {
                if let Ok(answer) = future.await
                    && let Back::Coming(reply) = answer.into_body()
                {
                    drain(reply).await;
                }
            };
            let _ = tokio::time::timeout(patience, rest).await;
            drop(airborne);
        });
    }
}

/// Reads an answer to its end and throws it away. Gives up on one that is long: nobody waits for it, and a stream
/// may go on for ever.
pub(crate) async fn drain(mut reply: Reply) {
    let mut read_bytes = 0;
    while let Some(Ok(frame)) = reply.frame().await {
        read_bytes += frame.data_ref().map_or(0, Bytes::len);
        if read_bytes > MAX_DRAINED_BYTES {
            return;
        }
    }
}

/// Spawns, unless the runtime is ending already: then there is nothing to go on with.
pub(crate) fn spawn_if_running(future: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(future);
    }
}
