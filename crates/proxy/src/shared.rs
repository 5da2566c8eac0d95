//! What all data threads share, made once by the program.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use auth::{Authenticator, Seal};
use catalog::VersionKey;
use catalog::access::{Principal, Scope};
use catalog::name::Slug;
use catalog::time::Timestamp;
use limits::Limiter;
use mcp::list::ListKind;
use mcp::method::Method;
use mcp::subscription::list_changed;
use routing::version::VersionTarget;
use routing::{Live, Table};
use tokio::sync::watch;

use crate::ended::NoteCall;
use crate::event_door::Doors;
use crate::flights::Flights;
use crate::opaque::Opaque;
use crate::parked::Parked;
use crate::replay::Replays;
use crate::seats::Seats;
use crate::seen::Seen;
use crate::sessions::{self, ClientSession, SessionStore, Sessions};

/// Told when a backend says that one of its lists changed. Must not block.
pub type Hint = Box<dyn Fn(VersionKey) + Send + Sync>;

/// How the data plane behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Largest request body, in bytes.
    pub max_body_bytes: usize,
    /// Longest time a request body may take to arrive.
    pub body_timeout: Duration,
    /// Public base URL, without a trailing slash; made from the `Host` header where absent.
    pub public_url: Option<String>,
    /// Path prefix under which everything stands, for example `/mcp-gateway`; empty for none.
    pub path_prefix: String,
    /// Host names served, lower-case, without port; loopback names are always served.
    pub allowed_hosts: Vec<String>,
    /// Origins served, as browsers send them; those of loopback and of the public URL are always served.
    pub allowed_origins: Vec<String>,
    /// Endpoint paths open to callers without a token.
    pub anonymous: Vec<String>,
    /// Whether unknown version labels are refused everywhere.
    pub strict_versions: bool,
    /// How long a call goes on after its client went away without cancelling.
    pub patience: Duration,
    /// Client sessions of virtual servers.
    pub sessions: sessions::Settings,
}

/// What the program plugs in.
pub struct Hooks {
    /// Told when a backend's list changed.
    pub hint: Hint,
    /// Says whether a caller comes too often; absent where nothing is limited.
    pub limiter: Option<Arc<Limiter>>,
    /// Told of calls that have ended; absent where nobody wants to know.
    pub note_call: Option<NoteCall>,
}

/// What all data threads share.
pub struct Shared {
    pub(crate) live: Arc<Live>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) opaque: Opaque,
    pub(crate) sessions: Sessions,
    pub(crate) flights: Arc<Flights>,
    pub(crate) parked: Parked,
    pub(crate) replays: Replays,
    pub(crate) seats: Seats,
    pub(crate) seen: Seen,
    pub(crate) doors: Doors,
    pub(crate) limiter: Option<Arc<Limiter>>,
    pub(crate) note_call: Option<NoteCall>,
    pub(crate) settings: Settings,
    pub(crate) hint: Hint,
    closing: watch::Sender<bool>,
    published: watch::Sender<u64>,
    listeners: Mutex<HashMap<Slug, Vec<Weak<ClientSession>>>>,
}

impl Shared {
    /// Puts the shared parts together, and has open streams told of every change that concerns them.
    pub fn new(
        live: Arc<Live>,
        authenticator: Arc<Authenticator>,
        seal: Seal,
        store: Arc<dyn SessionStore>,
        hooks: Hooks,
        settings: Settings,
    ) -> Arc<Self> {
        let Hooks { hint, limiter, note_call } = hooks;
        let shared = Arc::new(Self {
            live: live.clone(),
            authenticator,
            opaque: Opaque::new(seal),
            sessions: Sessions::new(store, settings.sessions.clone()),
            flights: Arc::new(Flights::new()),
            parked: Parked::default(),
            replays: Replays::default(),
            seats: Seats::default(),
            seen: Seen::default(),
            doors: Doors::default(),
            limiter,
            note_call,
            settings,
            hint,
            closing: watch::Sender::new(false),
            published: watch::Sender::new(0),
            listeners: Mutex::new(HashMap::new()),
        });
        let observer = Arc::downgrade(&shared);
        live.subscribe(Box::new(move |old, new| {
            if let Some(shared) = observer.upgrade() {
                shared.announce(old, new);
                shared.published.send_replace(new.revision);
            }
        }));
        shared
    }

    /// Ends streams that only wait for news, so that the rest can finish. Called when the program drains.
    pub fn begin_shutdown(&self) {
        self.closing.send_replace(true);
    }

    /// Writes all sessions down. Called last, when no request runs any more.
    pub fn keep_sessions(&self) {
        self.sessions.keep_all();
    }

    /// Drops idle sessions from memory. To be called every few seconds.
    pub fn reap(&self) {
        self.sessions.reap();
        self.parked.reap();
        self.replays.reap();
        self.seen.reap();
        if let Some(limiter) = &self.limiter {
            limiter.sweep();
        }
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|_, sessions| {
            sessions.retain(|session| session.strong_count() > 0);
            !sessions.is_empty()
        });
        metrics::gauge!("switchyard_sessions_in_memory").set(self.sessions.count() as f64);
    }

    /// Resolves when the program begins to drain.
    pub(crate) fn closing(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut closing = self.closing.subscribe();
        async move {
            // An error means that the sender is gone, which ends the wait as well.
            let _ = closing.wait_for(|is_closing| *is_closing).await;
        }
    }

    /// Resolves when a stream must end: the program drains, or its caller may no longer have it (the token was
    /// revoked or is over, scopes are missing), or what it belongs to is gone.
    pub(crate) fn while_allowed(
        self: &Arc<Self>,
        principal: &Principal,
        path: &str,
        version: Option<&VersionTarget>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (shared, principal, path) = (Arc::downgrade(self), principal.clone(), path.to_owned());
        let version = version.map(|version| (version.key.clone(), version.identity));
        let (closing, mut published) = (self.closing(), self.published());
        Box::pin(async move {
            let forbidden = async {
                loop {
                    let table = shared.upgrade().map(|shared| shared.live.full());
                    if !table.is_some_and(|table| is_allowed(&table, &principal, &path, version.as_ref())) {
                        return;
                    }
                    if published.changed().await.is_err() {
                        return;
                    }
                }
            };
            let over = async {
                match principal.expires_at {
                    Some(end) => {
                        let left = end.0.saturating_sub(Timestamp::now().0);
                        tokio::time::sleep(Duration::from_millis(u64::try_from(left).unwrap_or_default()))
                            .await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = closing => {}
                () = forbidden => {}
                () = over => {}
            }
        })
    }

    /// Tells of each publication.
    pub(crate) fn published(&self) -> watch::Receiver<u64> {
        self.published.subscribe()
    }

    /// Has a session with an open GET stream told of changes to its virtual server.
    pub(crate) fn listen(&self, slug: &Slug, session: &Arc<ClientSession>) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = listeners.entry(slug.clone()).or_default();
        sessions.retain(|known| known.strong_count() > 0);
        if !sessions.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(session))) {
            sessions.push(Arc::downgrade(session));
        }
    }

    fn announce(&self, old: &Table, new: &Table) {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        for (slug, sessions) in listeners.iter() {
            let (Some(old), Some(new)) =
                (old.virtual_server(slug.as_str()), new.virtual_server(slug.as_str()))
            else {
                continue;
            };
            if Arc::ptr_eq(old, new) {
                continue;
            }
            let mut methods: Vec<_> = new.changed_lists(old).into_iter().map(changed_method).collect();
            methods.dedup();
            for message in methods.into_iter().map(list_changed) {
                for session in sessions.iter().filter_map(Weak::upgrade) {
                    session.push(&message);
                }
            }
        }
    }
}

fn is_allowed(table: &Table, principal: &Principal, path: &str, version: Option<&(VersionKey, u64)>) -> bool {
    let Some(target) = table.target(path).filter(|target| target.is_enabled()) else { return false };
    let is_live = !principal.token.as_deref().is_some_and(|token| table.is_revoked(token));
    let is_there = version.is_none_or(|(key, identity)| {
        let server = table.server(key.path.as_str());
        let version = server.and_then(|server| server.version(key.label.as_str()));
        version.is_some_and(|version| version.identity == *identity)
    });
    let holds = |scope: &Scope| table.holds(principal, scope);
    let is_let_in = principal.is_admin || table.guard(path).is_none_or(|guard| guard.admits(holds));
    is_live && is_there && is_let_in && table.missing(principal, target.required_scopes()).is_none()
}

/// Resources and templates share one notification and stand next to each other.
fn changed_method(kind: ListKind) -> Method {
    match kind {
        ListKind::Tools => Method::ToolsListChanged,
        ListKind::Prompts => Method::PromptsListChanged,
        ListKind::Resources | ListKind::Templates => Method::ResourcesListChanged,
    }
}
