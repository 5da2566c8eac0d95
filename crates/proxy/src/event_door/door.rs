//! One open stream: whose it is, the session behind it, and what waits to be read by its client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use catalog::access::Principal;
use http::{HeaderMap, HeaderValue};
use mcp::headers::{SERVER_VERSION, SESSION_ID};
use routing::target::Target;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::answered::Listener;
use crate::plane::Plane;
use crate::{direct, virtual_server};

/// Most streams that are open at once; each is a connection of a client.
const MAX_DOORS: usize = 10_000;

/// Most requests of one stream under way at once.
const MAX_REQUESTS: usize = 64;

/// Most events, and most KiB of them, that wait for a client: one of the longest.
const MAX_EVENTS: usize = 256;
const MAX_WAITING_KIB: u32 = 16 * 1024;

/// How long an event waits for room. A client that reads so slowly is done without: its stream closes.
const SLOW: Duration = Duration::from_secs(30);

/// The streams that are open, by the ids in the URLs they named.
#[derive(Default)]
pub(crate) struct Doors(Mutex<HashMap<String, Arc<Door>>>);

impl Doors {
    pub(super) fn enter(&self, id: &str, door: &Arc<Door>) -> bool {
        let mut doors = self.lock();
        let has_room = doors.len() < MAX_DOORS;
        if has_room {
            doors.insert(id.to_owned(), door.clone());
        }
        has_room
    }

    /// Finds a stream of this caller at this path.
    pub(super) fn find(&self, id: &str, path: &str, principal: &Principal) -> Option<Arc<Door>> {
        let doors = self.lock();
        let door = doors.get(id)?;
        (*door.path == *path && door.principal.is_same_caller(principal)).then(|| door.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Door>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One open stream.
pub(crate) struct Door {
    path: Box<str>,
    principal: Arc<Principal>,
    /// The version of a server that was asked for when it was opened.
    version: Option<HeaderValue>,
    session: Mutex<Session>,
    events: mpsc::Sender<Bytes>,
    room: Arc<Semaphore>,
    places: Arc<Semaphore>,
    /// Set to true when the client is given up.
    closing: watch::Sender<bool>,
}

/// What the endpoint's `initialize` brought.
#[derive(Default)]
struct Session {
    has_begun: bool,
    id: Option<HeaderValue>,
}

impl Door {
    pub(super) fn new(
        path: &str,
        principal: &Arc<Principal>,
        version: Option<HeaderValue>,
    ) -> (Arc<Self>, mpsc::Receiver<Bytes>) {
        let (events, receiver) = mpsc::channel(MAX_EVENTS);
        let door = Self {
            path: path.into(),
            principal: principal.clone(),
            version,
            session: Mutex::default(),
            events,
            room: Arc::new(Semaphore::new(MAX_WAITING_KIB as usize)),
            places: Arc::new(Semaphore::new(MAX_REQUESTS)),
            closing: watch::Sender::new(false),
        };
        (Arc::new(door), receiver)
    }

    /// Says what comes before everything else.
    pub(super) fn say_first(&self, event: Bytes) {
        // There is room in a queue that nobody used.
        let _ = self.events.try_send(event);
    }

    /// Returns a place for one more request.
    pub(super) fn take_place(&self) -> Option<OwnedSemaphorePermit> {
        self.places.clone().try_acquire_owned().ok()
    }

    /// Says whether this is the first `initialize`.
    pub(super) fn begin(&self) -> bool {
        !std::mem::replace(&mut self.session().has_begun, true)
    }

    /// Takes note of what `initialize` brought: a session, or none.
    pub(super) fn begun(&self, id: Option<HeaderValue>, is_error: bool) {
        let mut session = self.session();
        session.has_begun = !is_error;
        session.id = id;
    }

    /// Makes a message's headers those of one in the session.
    pub(super) fn dress(&self, headers: &mut HeaderMap) {
        headers.remove(SESSION_ID);
        if let Some(id) = &self.session().id {
            headers.insert(SESSION_ID, id.clone());
        }
        if let Some(version) = &self.version
            && !headers.contains_key(SERVER_VERSION)
        {
            headers.insert(SERVER_VERSION, version.clone());
        }
    }

    /// Resolves when the stream is over.
    pub(super) async fn gone(&self) {
        tokio::select! {
            () = self.events.closed() => {}
            () = self.given_up() => {}
        }
    }

    /// Resolves when we close the stream.
    pub(super) async fn given_up(&self) {
        // The sender is ours, so it does not go.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// Waits until the stream is over, and ends the session behind it.
    pub(super) async fn end_with_stream(self: Arc<Self>, plane: Plane, id: String) {
        self.events.closed().await;
        self.closing.send_replace(true);
        plane.shared.doors.lock().remove(&id);
        let mut headers = HeaderMap::new();
        self.dress(&mut headers);
        if !headers.contains_key(SESSION_ID) {
            return;
        }
        let table = plane.shared.live.full();
        // A session that cannot be ended ends by its own clock.
        let _ = match table.target(&self.path) {
            Some(Target::Server(server)) => {
                match direct::choose_version(&plane, server, &headers, &self.principal, true) {
                    Ok(choice) => direct::end(&plane, &headers, &choice, &self.principal).await.map(drop),
                    Err(_) => Ok(()),
                }
            }
            Some(Target::Virtual(target)) => {
                virtual_server::end(&plane, &headers, target, &self.principal).await.map(drop)
            }
            None => Ok(()),
        };
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Door {
    async fn tell(&self, message: Bytes) -> bool {
        let event = mcp::sse::encode(&message, None);
        let kib = u32::try_from(event.len() / 1024 + 1).unwrap_or(u32::MAX).min(MAX_WAITING_KIB);
        let telling = async {
            let room = self.room.clone().acquire_many_owned(kib).await.ok()?;
            self.events.send(Bytes::from_owner(Waiting { event, _room: room })).await.ok()
        };
        match tokio::time::timeout(SLOW, telling).await {
            Ok(told) => told.is_some(),
            Err(_) => {
                tracing::info!(path = %self.path, "a client reads its event stream too slowly");
                self.closing.send_replace(true);
                false
            }
        }
    }
}

/// An event that holds its room until it was written.
struct Waiting {
    event: Bytes,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Waiting {
    fn as_ref(&self) -> &[u8] {
        &self.event
    }
}
