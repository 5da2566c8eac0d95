//! One open stream: what comes on it is delivered, and what must be said to the backend is posted.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::endpoint::Endpoint;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method as Verb, StatusCode};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::opening::{self, Opened};
use crate::answer;
use crate::duplex::board::{Board, Closed};
use crate::duplex::inbox::Inbox;
use crate::duplex::messages::Peer;
use crate::duplex::switchboard::{Delivered, Serves};
use crate::error::Error;
use crate::events::Events;
use crate::outgoing::Outgoing;
use crate::pool::Backends;
use crate::route::Route;

/// Answers of ours, to pings say, that wait to be posted.
const OWED: usize = 16;

/// How long a stream may be unused: as long as sessions are remembered that nobody uses.
const IDLE: Duration = Duration::from_secs(3600);

/// How often it is looked whether a stream is still used.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How long is paused after a message that nobody waits for, so that a backend which floods has no core to itself.
const FLOOD_PAUSE: Duration = Duration::from_millis(1);

/// One open stream.
pub(super) struct Channel {
    /// Who waits for what comes on it.
    pub(super) board: Board,
    /// The endpoint whose stream it is.
    endpoint: Endpoint,
    posts: Endpoint,
    owed: mpsc::Sender<Bytes>,
    closing: watch::Sender<bool>,
}

impl Channel {
    /// Goes on with a stream that has begun, on this runtime.
    pub(super) fn start(endpoint: &Endpoint, opened: Opened, backends: &Backends) -> Arc<Self> {
        let (owed, to_post) = mpsc::channel(OWED);
        let channel = Arc::new(Self {
            board: Board::new(Serves::Session),
            endpoint: endpoint.clone(),
            posts: opened.posts,
            owed,
            closing: watch::Sender::new(false),
        });
        // Connections of its own: it outlives the request that opened it.
        let backends = Arc::new(backends.apart());
        tokio::spawn(channel.clone().run(opened.events, backends, to_post));
        channel
    }

    /// Says whether it is a stream of the backend at this URL.
    pub(super) fn is_at(&self, url: &str) -> bool {
        self.endpoint.url.as_str() == url
    }

    /// Closes the stream, which ends the session at the backend.
    pub(super) fn close(&self) {
        self.board.close(&Closed::Ended("the session was ended".into()));
        self.closing.send_replace(true);
    }

    /// Posts a message and returns the status it was taken with.
    ///
    /// Cancel: the post is given up.
    pub(super) async fn post(
        &self,
        backends: &Backends,
        headers: HeaderMap,
        body: Bytes,
        deadline: Instant,
    ) -> Result<StatusCode, Error> {
        self.board.touch();
        let now = Instant::now();
        // The same origin, so the same connections.
        let host = backends.route(&self.endpoint, now)?.host.clone();
        let route = Route::new(&self.posts, host, backends.settings.tokens.as_ref())?;
        let outgoing = Outgoing { method: Verb::POST, headers, body };
        let response = backends.send_on(&route, outgoing, now, deadline).await?;
        let status = response.status();
        answer::finish(response.into_body()).await;
        Ok(status)
    }

    async fn run(self: Arc<Self>, events: Events, backends: Arc<Backends>, owed: mpsc::Receiver<Bytes>) {
        // Ends with this.
        let mut beside = JoinSet::new();
        beside.spawn(self.clone().pay(backends, owed));
        let mut closing = self.closing.subscribe();
        let reason = tokio::select! {
            reason = self.follow(events) => reason,
            () = self.unused() => "the session was idle for too long".to_owned(),
            _ = closing.wait_for(|closing| *closing) => return,
        };
        tracing::debug!(reason, "an event stream of a backend is over");
        self.board.close(&Closed::Ended(reason));
    }

    /// Delivers what comes until the stream ends; says why it did.
    async fn follow(&self, mut events: Events) -> String {
        while let Some(event) = opening::next(&mut events).await {
            let event = match event {
                Ok(event) => event,
                Err(error) => return format!("the event stream broke off: {}", error.reason()),
            };
            if event.name.as_deref().is_some_and(|name| name != b"message") {
                continue;
            }
            for delivered in self.board.deliver(event.data) {
                match delivered {
                    Delivered::Taken => {}
                    Delivered::Dropped => tokio::time::sleep(FLOOD_PAUSE).await,
                    Delivered::Answered(answer) => {
                        self.try_write(answer);
                        tokio::time::sleep(FLOOD_PAUSE).await;
                    }
                }
            }
        }
        "the backend closed its event stream".into()
    }

    async fn unused(&self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if self.board.idle_since().is_some_and(|since| since.elapsed() >= IDLE) {
                return;
            }
        }
    }

    /// Posts our own answers.
    async fn pay(self: Arc<Self>, backends: Arc<Backends>, mut owed: mpsc::Receiver<Bytes>) {
        while let Some(message) = owed.recv().await {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
            let deadline = Instant::now() + backends.settings().probe;
            if let Err(error) = self.post(&backends, headers, message, deadline).await {
                tracing::debug!(%error, "a backend did not take an answer of ours");
            }
        }
    }
}

impl Peer for Channel {
    fn forget(&self, number: u64) -> Option<Bytes> {
        self.board.forget(number)
    }

    fn close_news(&self, inbox: &Arc<Inbox>) {
        self.board.close_news(inbox);
    }

    fn try_write(&self, message: Bytes) {
        if self.owed.try_send(message).is_err() {
            tracing::debug!("an answer was not posted: the backend is slow to take them");
        }
    }
}
