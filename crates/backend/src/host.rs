//! One host and the connections to it: idle ones, last used first, or one shared by all.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use catalog::endpoint::Endpoint;
use http_body_util::Full;
use hyper::client::conn::http2;
use tokio::time::Instant;

use crate::line::Line;
use crate::settings::Settings;

/// How long a shared HTTP/2 connection may lie idle. Its end is announced, so nothing races with it.
const SHARED_IDLE_FOR: Duration = Duration::from_secs(90);

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
    pub(crate) opening: tokio::sync::Mutex<()>,
    /// Whether it was found to speak HTTP/1, so that nobody needs to wait for another's connection.
    pub(crate) is_http1: AtomicBool,
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

impl Host {
    pub(crate) fn new(endpoint: &Endpoint, settings: &Settings) -> Self {
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

    pub(crate) fn share(&self, sender: Shared) {
        *lock(&self.shared) = Some((Instant::now(), sender));
    }

    pub(crate) fn sweep(&self, now: Instant) {
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
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
