//! The pool: idle connections by host, last used first; one shared connection to hosts that speak HTTP/2.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use catalog::endpoint::Endpoint;
use http_body_util::Full;
use hyper::client::conn::http2;
use tokio::time::Instant;

use crate::connect;
use crate::error::Error;
use crate::line::Line;
use crate::route::{self, Route};
use crate::settings::Settings;

/// How often connections that nobody asks for are looked through.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// Most endpoints kept ready; past it the table is made anew. A gateway has some hundreds.
const MAX_ROUTES: usize = 10_000;

/// How long a shared HTTP/2 connection may lie idle. Its end is announced, so nothing races with it.
const SHARED_IDLE_FOR: Duration = Duration::from_secs(90);

/// The connections to all backends.
///
/// Made once for each thread that serves requests, so that its locks are never waited for.
pub struct Backends {
    pub(crate) settings: Arc<Settings>,
    table: Mutex<Table>,
}

struct Table {
    routes: HashMap<Box<str>, Arc<Route>>,
    hosts: HashMap<Box<str>, Arc<Host>>,
    swept: Instant,
}

/// One scheme, name and port, and the connections to it.
pub(crate) struct Host {
    /// Name or address, without brackets.
    pub(crate) name: String,
    pub(crate) port: u16,
    pub(crate) is_tls: bool,
    max_idle: usize,
    idle_for: Duration,
    /// Longest idle first.
    idle: Mutex<Vec<(Instant, Box<Line>)>>,
    shared: Mutex<Option<(Instant, Shared)>>,
    /// Held while the first connection finds out which HTTP the host speaks.
    opening: tokio::sync::Mutex<()>,
    /// Whether it was found to speak HTTP/1, so that nobody needs to wait for another's connection.
    is_http1: AtomicBool,
}

/// The sending side of an HTTP/2 connection.
pub(crate) type Shared = http2::SendRequest<Full<Bytes>>;

/// A connection that was just opened.
pub(crate) enum Opened {
    /// HTTP/1, for one request at a time.
    Line(Box<Line>),
    /// HTTP/2, for all.
    Shared(Shared),
}

impl Backends {
    /// Makes an empty pool.
    pub fn new(settings: Arc<Settings>) -> Self {
        let table = Table { routes: HashMap::new(), hosts: HashMap::new(), swept: Instant::now() };
        Self { settings, table: Mutex::new(table) }
    }

    /// Returns what all connections have in common.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Closes connections that lay idle for too long. Sending does it now and then; call it where nothing is sent.
    pub fn sweep(&self) {
        lock(&self.table).sweep(Instant::now());
    }

    /// Returns the endpoint made ready.
    pub(crate) fn route(&self, endpoint: &Endpoint, now: Instant) -> Result<Arc<Route>, Error> {
        let mut table = lock(&self.table);
        if now.duration_since(table.swept) >= SWEEP_EVERY {
            table.sweep(now);
        }
        let url = endpoint.url.as_str();
        if let Some(route) = table.routes.get(url)
            && route.is_of(endpoint)
        {
            return Ok(route.clone());
        }
        if table.routes.len() >= MAX_ROUTES {
            table.routes.clear();
            // Those in use are held by the requests on them.
            table.hosts.retain(|_, host| Arc::strong_count(host) > 1);
        }
        let host = table.host(endpoint, &self.settings);
        let route = Arc::new(Route::new(endpoint, host)?);
        table.routes.insert(url.into(), route.clone());
        Ok(route)
    }

    /// Opens a connection to a host, or waits for another's that can be shared.
    pub(crate) async fn open(&self, host: &Host, deadline: Instant) -> Result<Opened, Error> {
        let open = async {
            if !host.is_tls || host.is_http1.load(Ordering::Relaxed) {
                return connect::open(host, &self.settings).await;
            }
            let alone = host.opening.lock().await;
            if let Some(shared) = host.shared() {
                return Ok(Opened::Shared(shared));
            }
            if host.is_http1.load(Ordering::Relaxed) {
                drop(alone);
                return connect::open(host, &self.settings).await;
            }
            let opened = connect::open(host, &self.settings).await?;
            match &opened {
                Opened::Line(_) => host.is_http1.store(true, Ordering::Relaxed),
                // Before the lock goes, so that those who waited find it.
                Opened::Shared(shared) => host.share(shared.clone()),
            }
            Ok(opened)
        };
        let timed_out = Error::TimedOut { what: "no connection", may_have_run: false };
        tokio::time::timeout_at(deadline, open).await.unwrap_or(Err(timed_out))
    }
}

impl Table {
    fn host(&mut self, endpoint: &Endpoint, settings: &Settings) -> Arc<Host> {
        let key = format!("{}://{}", endpoint.url.scheme(), route::authority(endpoint)).into_boxed_str();
        self.hosts.entry(key).or_insert_with(|| Arc::new(Host::new(endpoint, settings))).clone()
    }

    fn sweep(&mut self, now: Instant) {
        self.swept = now;
        for host in self.hosts.values() {
            host.sweep(now);
        }
    }
}

impl Host {
    fn new(endpoint: &Endpoint, settings: &Settings) -> Self {
        let url = &endpoint.url;
        let name = url.host_str().unwrap_or_default();
        Self {
            name: name.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: url.port_or_known_default().unwrap_or_default(),
            is_tls: url.scheme() == "https",
            max_idle: settings.max_idle_per_host,
            idle_for: settings.idle_for,
            idle: Mutex::default(),
            shared: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            is_http1: AtomicBool::new(false),
        }
    }

    /// Takes the connection used last, if one is fresh enough.
    pub(crate) fn take(&self, now: Instant) -> Option<Box<Line>> {
        let mut idle = lock(&self.idle);
        let (since, line) = idle.pop()?;
        if now.duration_since(since) < self.idle_for {
            return Some(line);
        }
        // The others have been idle for longer still.
        idle.clear();
        None
    }

    /// Keeps a connection for the next request.
    pub(crate) fn put(&self, line: Box<Line>) {
        let mut idle = lock(&self.idle);
        if idle.len() < self.max_idle {
            idle.push((Instant::now(), line));
        }
    }

    /// Returns the shared connection, if there is one that works.
    pub(crate) fn shared(&self) -> Option<Shared> {
        if !self.is_tls {
            return None;
        }
        let mut shared = lock(&self.shared);
        let (used, sender) = shared.as_mut()?;
        if sender.is_closed() {
            *shared = None;
            return None;
        }
        *used = Instant::now();
        Some(sender.clone())
    }

    fn share(&self, sender: Shared) {
        *lock(&self.shared) = Some((Instant::now(), sender));
    }

    fn sweep(&self, now: Instant) {
        let mut idle = lock(&self.idle);
        let old = idle.partition_point(|(since, _)| now.duration_since(*since) >= self.idle_for);
        idle.drain(..old);
        drop(idle);
        let mut shared = lock(&self.shared);
        if shared.as_ref().is_some_and(|(used, _)| now.duration_since(*used) >= SHARED_IDLE_FOR) {
            // Exchanges still on it go on; the connection closes after the last.
            *shared = None;
        }
    }

    #[cfg(test)]
    pub(crate) fn idle_count(&self) -> usize {
        lock(&self.idle).len()
    }
}

/// Locks; a panic elsewhere leaves nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
