//! The listen stream of a modern backend, opened anew, before the old one is closed, when other subscriptions are
//! wanted.

use std::sync::Arc;
use std::time::Duration;

use backend::events::Events;
use bytes::Bytes;
use catalog::endpoint::Era;
use http::{HeaderMap, HeaderValue, StatusCode};
use mcp::bridge::{Dress, to_legacy};
use mcp::era::Revision;
use mcp::headers::{METHOD, PROTOCOL_VERSION};
use mcp::message::Outline;
use mcp::method::Method;
use mcp::subscription::{self, Filter};
use tokio::sync::{mpsc, oneshot};

use super::source::{Pause, Source};
use crate::answer;
use crate::forward::{self, Errand};
use crate::outbound::MAX_EVENT_BYTES;
use crate::relay::{Passed, Relay};
use crate::sessions::Refilter;

/// Changes of subscriptions that wait; those beyond are seen with them, for each reads all subscriptions.
const MOST_CHANGES: usize = 16;

/// Longest wait for the first message of a stream.
const ACKNOWLEDGMENT_TIME: Duration = Duration::from_secs(10);

/// Keeps one backend's listen stream open, until the backend says that it has none.
pub(super) async fn follow(mut source: Source) {
    let (sender, mut changes) = mpsc::channel(MOST_CHANGES);
    let _registered = Registered::new(source.errand.clone(), sender);
    let (mut pause, mut waiting, mut stream) = (Pause::first(), Vec::new(), None);
    for number in 1_u64.. {
        let filter = wanted(&source);
        if filter.is_empty() {
            stream = None;
            waiting.clear();
            source.ready.done();
        } else {
            match while_reading(&source, &mut stream, open(&source, number, &filter)).await {
                Opened::Open(opened, granted) => {
                    stream = Some(opened);
                    for one in waiting.drain(..) {
                        // Whoever changed something need not wait to the end.
                        let _ = oneshot::Sender::send(one, granted.clone());
                    }
                    source.ready.granted(&source.errand.version.key, granted);
                }
                Opened::None => {
                    return source.ready.granted(&source.errand.version.key, Filter::default());
                }
                Opened::Failed => {
                    waiting.clear();
                    source.ready.done();
                }
            }
        }
        let until_next = async {
            match &mut stream {
                Some(open) => {
                    if open.read(&source).await {
                        pause.reset();
                    }
                    stream = None;
                }
                None if filter.is_empty() => std::future::pending().await,
                None => {}
            }
            pause.take().await;
        };
        tokio::select! {
            () = until_next => {}
            change = changes.recv() => {
                waiting.extend(change);
                while let Ok(change) = changes.try_recv() {
                    waiting.push(change);
                }
            }
        }
    }
}

/// Returns what is wanted of the backend now, of what it says it can tell of.
fn wanted(source: &Source) -> Filter {
    let Errand { session, version, .. } = &*source.errand;
    let state = session.state();
    let asked = state.listening.as_ref().map(|listening| &listening.filter);
    let list = |kind, is_asked: fn(&Filter) -> bool| {
        asked.is_none_or(is_asked) && version.offers_switch(Era::Modern, kind, "listChanged")
    };
    let uris = state.subscriptions.iter().filter(|(_, key)| **key == version.key);
    Filter {
        tools: list("tools", |filter| filter.tools),
        prompts: list("prompts", |filter| filter.prompts),
        resources: list("resources", |filter| filter.resources),
        uris: uris.map(|(uri, _)| uri.clone()).collect(),
    }
}

/// What comes of asking for a stream.
enum Opened {
    /// The stream, and what the backend agreed to.
    Open(Box<Stream>, Filter),
    /// The backend has no such streams.
    None,
    Failed,
}

/// A stream of a backend.
struct Stream {
    events: Events,
    relay: Relay,
}

/// Reads the stream that is open while another is opened.
async fn while_reading(
    source: &Source,
    stream: &mut Option<Box<Stream>>,
    opening: impl Future<Output = Opened>,
) -> Opened {
    tokio::pin!(opening);
    loop {
        let reading = async {
            match stream.as_mut() {
                Some(open) => open.read(source).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            opened = &mut opening => return opened,
            _ = reading => {}
        }
        *stream = None;
    }
}

async fn open(source: &Source, number: u64, filter: &Filter) -> Opened {
    let Errand { backends, session, version, .. } = &*source.errand;
    let dress = Dress {
        client_info: &session.sealed.client_info,
        client_capabilities: &session.sealed.capabilities,
        log_level: None,
    };
    let id = format!("\"listen-{}-{number}\"", session.number);
    let body = subscription::listen(&id, filter, &dress);
    let mut headers = HeaderMap::new();
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(Revision::MODERN.as_str()));
    headers.insert(METHOD, HeaderValue::from_static(Method::Listen.as_str()));
    let Ok(answer) = backends.send(&version.endpoint, forward::post(headers, body)).await else {
        return Opened::Failed;
    };
    let status = answer.status();
    if status.is_success() && answer::is_events(answer.headers()) {
        let mut reply = answer.into_body();
        reply.set_idle(None);
        let stream = Stream { events: Events::new(reply, MAX_EVENT_BYTES), relay: source.relay() };
        let begun = tokio::time::timeout(ACKNOWLEDGMENT_TIME, stream.begin(source, filter)).await;
        return begun.unwrap_or(Opened::Failed);
    }
    let is_no = status.is_success() || status.is_client_error();
    let may_change = matches!(
        status,
        StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_MANY_REQUESTS
    );
    if is_no && !may_change { Opened::None } else { Opened::Failed }
}

impl Stream {
    /// Reads up to the acknowledgment.
    async fn begin(mut self, source: &Source, asked: &Filter) -> Opened {
        let Some(first) = self.next().await else { return Opened::Failed };
        let Ok(outline) = Outline::read(&first) else { return Opened::Failed };
        if outline.error.is_some() {
            return Opened::None;
        }
        if subscription::is_acknowledgment(&first, &outline) {
            let params = outline.params.map(|params| params.of(&first)).unwrap_or_default();
            let granted = Filter::read(params).unwrap_or_default();
            return Opened::Open(Box::new(self), granted);
        }
        // It does not say what it agreed to, and tells of things already.
        self.pass(source, first);
        Opened::Open(Box::new(self), asked.clone())
    }

    /// Passes everything on, to the end of the stream. Says whether anything came.
    async fn read(&mut self, source: &Source) -> bool {
        let mut has_heard = false;
        while let Some(message) = self.next().await {
            has_heard = true;
            if self.pass(source, message) {
                break;
            }
        }
        has_heard
    }

    /// Passes one message on; says whether it is the answer, the last of a stream.
    fn pass(&self, source: &Source, message: Bytes) -> bool {
        match self.relay.pass(message) {
            Passed::Answer(_) => return true,
            Passed::Message(message) => {
                // The backend's name for our subscription means nothing to the client.
                if let Ok(outline) = Outline::read(&message) {
                    source.errand.session.push(&to_legacy(&message, &outline));
                }
            }
            Passed::Nothing | Passed::Question { .. } | Passed::Lacking(_) => {}
        }
        false
    }

    /// Waits for the next message; `None` at the end. May be dropped and called again.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let event = self.events.next().await?.ok()?;
            if !event.data.is_empty() {
                return Some(event.data);
            }
        }
    }
}

/// The entry of a follower in its session, for as long as it runs.
struct Registered {
    errand: Arc<Errand>,
    sender: Refilter,
}

impl Registered {
    fn new(errand: Arc<Errand>, sender: Refilter) -> Self {
        let key = errand.version.key.clone();
        errand.session.state().refilters.insert(key, sender.clone());
        Self { errand, sender }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut state = self.errand.session.state();
        let key = &self.errand.version.key;
        // A stream that took over has its own.
        if state.refilters.get(key).is_some_and(|one| one.same_channel(&self.sender)) {
            state.refilters.remove(key);
        }
    }
}
