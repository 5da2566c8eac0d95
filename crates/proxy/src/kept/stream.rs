//! The GET stream of a session we keep: a question that a legacy backend asks there is of the one call that runs.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use backend::Backends;
use bytes::Bytes;
use http::HeaderMap;
use mcp::error::{code, error_body};
use mcp::message::{Outline, apart};
use mcp::method::Method;
use routing::version::VersionTarget;
use tokio::sync::watch;

use crate::error::Error;
use crate::forward::Errand;
use crate::listening::{self, Listening};
use crate::relay::{Dress, Passed, Relay};
use crate::sessions::{BackendSession, ClientSession, Heard, Slot};
use crate::shared::Shared;

/// How long the first call of a session waits for its GET stream. Backends open one at once; one that does not
/// may lose a question, but no call.
const OPENING_TIME: Duration = Duration::from_secs(1);

/// First and longest pause before a stream that ended is opened again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Has the GET stream of a session read, and waits until it is open. Fails as a call does whose backend cannot be
/// greeted.
pub(crate) async fn hear(errand: &Errand) -> Result<(), Error> {
    let slot = errand.session.slot(&errand.version.key);
    errand.open(&slot).await?;
    let mut settled = {
        let mut state = errand.session.state();
        let heard = state.heard.get_or_insert_with(|| {
            let (settle, settled) = watch::channel(false);
            let stream = Stream {
                session: Arc::downgrade(&errand.session),
                slot,
                shared: errand.shared.clone(),
                backends: errand.backends.clone(),
                version: errand.version.clone(),
                settle,
            };
            Heard { settled, task: tokio::spawn(stream.follow()).abort_handle() }
        });
        heard.settled.clone()
    };
    // An error means that the backend has no such stream.
    let _ = tokio::time::timeout(OPENING_TIME, settled.wait_for(|is_settled| *is_settled)).await;
    Ok(())
}

/// What follows the stream; it ends with the session, and so does not hold it.
struct Stream {
    session: Weak<ClientSession>,
    slot: Arc<Slot>,
    shared: Arc<Shared>,
    backends: Arc<Backends>,
    version: Arc<VersionTarget>,
    /// Told when the stream is open, or could not be opened at the first try.
    settle: watch::Sender<bool>,
}

/// Why a stream is over.
enum Ended {
    /// The backend has none.
    Never,
    /// The backend does not know the session; a call will notice and greet again.
    Lost,
    Renewed,
    AfterEvents,
    AtOnce,
}

impl Stream {
    async fn follow(self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let mut renewed = pin!(self.slot.renewed.notified());
            renewed.as_mut().enable();
            let ended = match self.slot.current() {
                Some(open) => tokio::select! {
                    ended = self.read(&open) => ended,
                    () = &mut renewed => Ended::Renewed,
                },
                None => Ended::Lost,
            };
            self.settle.send_replace(true);
            match ended {
                Ended::Never => return,
                Ended::Lost => renewed.await,
                Ended::Renewed => {}
                Ended::AfterEvents => {
                    pause = FIRST_PAUSE;
                    tokio::time::sleep(pause).await;
                }
                Ended::AtOnce => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn read(&self, open: &BackendSession) -> Ended {
        let (Some(_), Some(endpoint), Some(errand)) = (&open.id, &open.endpoint, self.errand()) else {
            return Ended::Never;
        };
        let headers = errand.session_headers(open, HeaderMap::new());
        drop(errand);
        let mut events = match listening::listen(&self.backends, endpoint, headers).await {
            Listening::Open(events) => events,
            Listening::Unknown => return Ended::Lost,
            Listening::NotNow => return Ended::AtOnce,
            Listening::Refused(_) => return Ended::Never,
        };
        self.settle.send_replace(true);
        let mut ended = Ended::AtOnce;
        while let Some(Ok(event)) = events.next().await {
            ended = Ended::AfterEvents;
            for message in apart(event.data).filter(|message| !message.is_empty()) {
                self.take(message);
            }
        }
        ended
    }

    /// Gives a question to the call that runs; what else comes here is nothing that a modern client could get.
    fn take(&self, message: Bytes) {
        let Some(errand) = self.errand() else { return };
        let dress = Dress::ToModern { method: Method::ToolsCall, caching: None, uri: None, log_level: None };
        let relay = Relay { errand: Some(errand.clone()), dress, ..Relay::untouched() };
        let id = Outline::read(&message).ok().and_then(|outline| Some(message.slice(outline.id?.range())));
        let is_asked = match relay.pass(message) {
            Passed::Question { id, question } => errand.session.ask_running((id, question)),
            Passed::Lacking(_) => false,
            Passed::Nothing | Passed::Message(_) | Passed::Answer(_) => return,
        };
        if let Some(id) = id.filter(|_| !is_asked) {
            let reason = "no call runs whose client could be asked";
            errand.post_aside(error_body(Some(&id), code::METHOD_NOT_FOUND, reason, None));
        }
    }

    fn errand(&self) -> Option<Arc<Errand>> {
        Some(Arc::new(Errand {
            shared: self.shared.clone(),
            backends: self.backends.clone(),
            session: self.session.upgrade()?,
            version: self.version.clone(),
        }))
    }
}
