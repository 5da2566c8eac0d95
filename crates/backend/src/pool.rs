//! The pool: idle connections by host, last used first; one shared connection to hosts that speak HTTP/2.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use catalog::endpoint::Endpoint;
use tokio::time::Instant;

use crate::connect;
use crate::error::Error;
use crate::host::{Host, Opened, lock};
use crate::route::{self, Route};
use crate::settings::Settings;
use crate::tokens::Caller;

/// How often connections that nobody asks for are looked through.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// Most endpoints kept ready; past it the table is made anew. A gateway has some hundreds.
const MAX_ROUTES: usize = 10_000;

/// The connections to all backends.
///
/// Made once for each thread that serves requests, so that its locks are never waited for.
pub struct Backends {
    pub(crate) settings: Arc<Settings>,
    table: Arc<Mutex<Table>>,
    /// On whose behalf requests are sent, where one of the backends may want to know.
    pub(crate) caller: Option<Caller>,
}

struct Table {
    routes: HashMap<Box<str>, Arc<Route>>,
    hosts: HashMap<Box<str>, Arc<Host>>,
    swept: Instant,
}

impl Backends {
    /// Makes an empty pool.
    pub fn new(settings: Arc<Settings>) -> Self {
        let table = Table { routes: HashMap::new(), hosts: HashMap::new(), swept: Instant::now() };
        Self { settings, table: Arc::new(Mutex::new(table)), caller: None }
    }

    /// Returns the same connections, for requests on behalf of a caller.
    pub fn on_behalf_of(&self, caller: Caller) -> Self {
        Self { settings: self.settings.clone(), table: self.table.clone(), caller: Some(caller) }
    }

    /// Returns a pool of its own, on behalf of the same caller.
    pub(crate) fn apart(&self) -> Self {
        Self { caller: self.caller.clone(), ..Self::new(self.settings.clone()) }
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
        let route = Arc::new(Route::new(endpoint, host, self.settings.tokens.as_ref())?);
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
