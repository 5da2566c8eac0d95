//! What all connections to backends have in common: deadlines, limits, trust.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::endpoint::{AddressRule, Endpoint};

use crate::budget::Budget;
use crate::event_stream::EventStreams;
use crate::stdio::{Limits, Stdio};
use crate::tls;
use crate::tokens::Tokens;

pub use crate::tls::BadRoots;

/// Deadlines, limits and trust of all connections to backends.
#[derive(Clone)]
pub struct Settings {
    /// How TLS is spoken, and whom it trusts.
    pub tls: Arc<rustls::ClientConfig>,
    /// Longest wait for a connection: name, TCP and TLS together.
    pub connect: Duration,
    /// Longest wait for the head of an answer once the request was handed to a connection.
    pub answer: Duration,
    /// Longest silence inside the body of an answer.
    pub idle: Duration,
    /// Longest wait for one step of a handshake or one page of a list, body included.
    pub probe: Duration,
    /// Most idle connections kept to one host.
    pub max_idle_per_host: usize,
    /// How long a connection may lie idle and still be used.
    pub idle_for: Duration,
    /// Which addresses may be connected to.
    pub address_rule: AddressRule,
    /// Which addresses may be connected to by URLs that no administrator set.
    pub learnt_address_rule: AddressRule,
    /// Memory for large answers that are read whole.
    pub budget: Budget,
    /// Commands that are backends.
    pub stdio: Arc<Stdio>,
    /// Conversations over HTTP+SSE that are open.
    pub event_streams: Arc<EventStreams>,
    /// Tokens for backends whose authorization servers give some; without it none are had.
    pub tokens: Option<Arc<Tokens>>,
}

impl Settings {
    /// Makes the settings a gateway starts with. `extra_roots` are PEM files of certificate authorities to trust
    /// besides the platform's.
    pub fn new(extra_roots: &[Vec<u8>], address_rule: AddressRule) -> Result<Self, BadRoots> {
        Ok(Self {
            tls: tls::client_config(extra_roots)?,
            connect: Duration::from_secs(5),
            // Tools may work for minutes before they answer.
            answer: Duration::from_secs(300),
            idle: Duration::from_secs(300),
            probe: Duration::from_secs(5),
            // Each costs some 10 KB; more than this many calls at once to one host is a rare peak.
            max_idle_per_host: 256,
            // Node and uvicorn close idle connections after 5 s. Stopping before they do avoids the race in which
            // a request meets the closing connection and can not be repeated.
            idle_for: Duration::from_secs(4),
            address_rule,
            learnt_address_rule: AddressRule { allow_private: false },
            budget: Budget::default(),
            stdio: Stdio::new(BTreeMap::new(), Limits::default()),
            event_streams: Arc::default(),
            tokens: None,
        })
    }

    /// Returns the longest wait for one step of a handshake with a backend: a command has to start first.
    pub fn probe_of(&self, endpoint: &Endpoint) -> Duration {
        match endpoint.command() {
            Some(_) => self.probe.max(self.stdio.limits().start),
            None => self.probe,
        }
    }
}
