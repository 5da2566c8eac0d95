//! Makes each part and hands it what it needs; then waits for the signal to stop and drains.

mod admin_token;
mod commands;
mod open_files;
mod stop;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use auth::{Authenticator, Issuer, RootKey, Seal};
use backend::fetch::Fetcher;
use catalog::Catalog;
use catalog::endpoint::AddressRule;
use registry::Registry;
use routing::Live;
use store::Store;
use store::embedded::{CATALOG_FILE, EmbeddedStore};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::config::search::Search;
use crate::glue::calls::Calls;
use crate::glue::embedders;
use crate::glue::providers::Providers;
use crate::glue::sealing::Sealing;
use crate::glue::sessions::{Sessions, StoredSessions};
use crate::listen::{self, Control};
use crate::observe::{self, Readiness};

/// How often idle sessions are looked for, at the least: what is let go late only takes memory.
const REAP_AT_LEAST_EVERY: Duration = Duration::from_secs(5);
/// And at the most: a look goes over all sessions.
const REAP_AT_MOST_EVERY: Duration = Duration::from_millis(250);
/// Longest time a request's body may take to arrive.
const BODY_WITHIN: Duration = Duration::from_secs(60);
/// How long a backend may finish a call whose client went away without cancelling.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest wait for sessions to be written down at the end; what is not costs a greeting.
const FLUSH_WITHIN: Duration = Duration::from_secs(5);
/// What data threads may need, beyond the grace period, to cut off what still runs.
const CUT_OFF_WITHIN: Duration = Duration::from_secs(1);

/// What commands may need, beyond their grace period, to end and be reaped.
const END_WITHIN: Duration = Duration::from_secs(2);

/// File of the root key in the data directory, where no other is configured.
pub(crate) const KEY_FILE: &str = "root.key";

/// A gateway that takes requests.
pub(crate) struct Running {
    address: SocketAddr,
    /// Where clients find it.
    url: String,
    token_file: PathBuf,
    /// The secret of the link that signs an administrator in once.
    link: Option<String>,
    grace: Duration,
    readiness: Readiness,
    shared: Arc<proxy::Shared>,
    sessions: Arc<StoredSessions>,
    /// Notes of calls that are not written yet, where any are made.
    calls: Option<Arc<Calls>>,
    /// Set to true to close the listening socket and end what runs beside requests.
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
    data_threads: Vec<oneshot::Receiver<()>>,
    following: JoinHandle<()>,
    stdio: Arc<backend::Stdio>,
    signals: stop::Signals,
}

/// Starts everything. Nothing is accepted before all of it stands.
///
/// **Errors:** the data directory or the address belongs to another process; the catalog cannot be read.
pub(crate) async fn start(config: &Config) -> anyhow::Result<Running> {
    let signals = stop::Signals::listen().context("cannot listen for signals")?;
    let metrics = observe::start_metrics()?;
    let data = &config.server.data_dir;
    make_private(data).with_context(|| format!("cannot make the data directory {}", data.display()))?;
    let root = root_key(config)?;

    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(data, Arc::new(Sealing::new(&root))).await?);
    let listener = listen::bind(&config.server.listen).await?;
    let address = listener.local_addr().context("the listening socket has no address")?;

    let live = Arc::new(Live::new(routing::compile::compile(&Catalog::default(), None).table));
    // On this runtime, so that processes outlive the data threads.
    let stdio = backend::Stdio::new(config.stdio.commands.clone(), config.stdio.limits);
    let backends = Arc::new(backend_settings(config, &stdio)?);
    let search_fetcher = Arc::new(Fetcher::new(&backends));
    let limiter = limits::Limiter::new(config.limits.clone()).map(Arc::new);
    let providers = Arc::new(Providers::new(&backends));
    let authenticator =
        Arc::new(Authenticator::with_providers(&root, config.auth.providers.clone(), providers));
    let registry = Registry::start(registry::Parts {
        store: store.clone(),
        live: live.clone(),
        backends: Arc::new(backend::Backends::new(backends.clone())),
        authenticator: authenticator.clone(),
        issuer: Arc::new(Issuer::new(&root)),
        cookies: auth::Cookies::new(&root),
        limiter: limiter.clone(),
        seal: Seal::new(&root, "browsers"),
        settings: registry_settings(config),
    })
    .await?;
    commands::warn_of_missing(&stdio, &registry.catalog());
    let admin_token::Kept { file: token_file, is_first } =
        admin_token::keep(data, &registry, &authenticator, &Issuer::new(&root)).await?;
    // Where people sign in elsewhere, nobody needs it.
    let is_wanted = is_first && config.auth.providers.iter().all(|provider| provider.sign_in.is_none());
    let link = if is_wanted { Some(registry.make_admin_link().await?) } else { None };

    let calls = config.audit.notes_calls.then(|| Calls::new(store.clone()));
    let sessions = StoredSessions::new(store);
    let (hinted, kept) = (registry.clone(), authenticator.clone());
    let shared = proxy::Shared::new(
        live,
        authenticator,
        Seal::new(&root, "sessions"),
        Arc::new(Sessions(sessions.clone())),
        proxy::Hooks {
            hint: Box::new(move |key| hinted.hint_changed(key)),
            limiter,
            note_call: calls.clone().map(|calls| Box::new(move |ended| calls.note(ended)) as _),
        },
        proxy_settings(config),
    );

    let readiness = Readiness::default();
    let router = observe::router(readiness.clone(), metrics.clone()).merge(registry.router());
    let parts = listen::Parts {
        shared: shared.clone(),
        backends,
        control: Control::new(router.fallback(listen::not_found), BODY_WITHIN),
        prefix: config.server.path_prefix.clone(),
    };
    let (mut connections, mut data_threads) = (Vec::new(), Vec::new());
    for index in 0..config.server.data_threads {
        let worker = listen::spawn(index, &parts, config.server.shutdown_grace)?;
        connections.push(worker.connections);
        data_threads.push(worker.ended);
    }

    let stop = watch::Sender::new(false);
    let beside = Beside {
        registry,
        search: config.search.clone(),
        data: data.clone(),
        fetcher: search_fetcher,
        authenticator: kept,
        shared: shared.clone(),
        sessions: sessions.clone(),
        calls: calls.clone(),
        metrics,
        stdio: stdio.clone(),
        reap_every: reap_every(config.sessions.memory_idle.0),
    };
    let following = tokio::spawn(beside.follow(stop.subscribe()));
    let max_connections = open_files::afford(config.server.max_connections);
    let accepting = tokio::spawn(listen::accept(listener, connections, max_connections, stop.subscribe()));
    readiness.set(true);
    let url =
        config.server.public_url.clone().unwrap_or_else(|| local_url(address, &config.server.path_prefix));
    let grace = config.server.shutdown_grace;
    Ok(Running {
        address,
        url,
        token_file,
        link,
        grace,
        readiness,
        shared,
        sessions,
        calls,
        stop,
        accepting,
        data_threads,
        following,
        stdio,
        signals,
    })
}

impl Running {
    /// Returns the line that says where everything is, and at the first start one more with the link to sign in.
    pub(crate) fn announcement(&self) -> String {
        let ready = format!(
            "switchyard is ready: {} (listening on {}, API {}/api, API documentation {}/api/docs, administrator token in {})",
            self.url,
            self.address,
            self.url,
            self.url,
            self.token_file.display()
        );
        match &self.link {
            Some(secret) => {
                format!(
                    "{ready}\nsign in once as administrator, within the hour: {}/login?once={secret}",
                    self.url
                )
            }
            None => ready,
        }
    }

    /// Waits for the signal to stop, then stops: no new connections at once, what runs within the grace period.
    /// A second signal ends the process on the spot.
    pub(crate) async fn until_stopped(mut self) -> anyhow::Result<()> {
        let signal = self.signals.next().await;
        tracing::info!(%signal, grace_s = self.grace.as_secs(), "stopping; send the signal again to end at once");
        let stdio = self.stdio.clone();
        tokio::spawn(async move {
            let signal = self.signals.next().await;
            stdio.kill();
            signal.end_process()
        });
        self.readiness.set(false);
        self.stop.send_replace(true);
        self.shared.begin_shutdown();
        // The sockets' senders end with this task, and with them, one connection after the other, the threads.
        let _ = self.accepting.await;
        let drained = futures_util::future::join_all(self.data_threads);
        if tokio::time::timeout(self.grace + CUT_OFF_WITHIN, drained).await.is_err() {
            tracing::warn!("a data thread did not end");
        }
        self.shared.keep_sessions();
        if tokio::time::timeout(FLUSH_WITHIN, self.sessions.flush()).await.is_err() {
            tracing::warn!("not all sessions could be written down");
        }
        if let Some(calls) = &self.calls
            && tokio::time::timeout(FLUSH_WITHIN, calls.flush()).await.is_err()
        {
            tracing::warn!("not all calls could be noted in the audit trail");
        }
        self.following.abort();
        let _ = self.following.await;
        if tokio::time::timeout(self.stdio.limits().grace + END_WITHIN, self.stdio.stop()).await.is_err() {
            self.stdio.kill();
            tracing::warn!("a command did not end");
        }
        tracing::info!("stopped");
        Ok(())
    }
}

/// Says whether a catalog was ever kept in this directory.
pub(crate) fn has_catalog(data: &Path) -> bool {
    data.join(CATALOG_FILE).is_file()
}

/// Takes the root key as configured, else the one in the data directory, which is made where it is missing.
pub(crate) fn root_key(config: &Config) -> anyhow::Result<RootKey> {
    let key = match &config.auth.root_key {
        Some(text) => RootKey::from_hex(text.reveal()),
        None => RootKey::load_or_create(&config.server.data_dir.join(KEY_FILE)),
    };
    key.context("cannot have the root key")
}

/// What runs beside requests.
struct Beside {
    registry: Arc<Registry>,
    search: Search,
    data: PathBuf,
    fetcher: Arc<Fetcher>,
    authenticator: Arc<Authenticator>,
    shared: Arc<proxy::Shared>,
    sessions: Arc<StoredSessions>,
    calls: Option<Arc<Calls>>,
    metrics: metrics_exporter_prometheus::PrometheusHandle,
    stdio: Arc<backend::Stdio>,
    reap_every: Duration,
}

impl Beside {
    /// Runs it all. The sessions' writer goes on after the stop, for what is written last.
    async fn follow(self, mut stop: watch::Receiver<bool>) {
        let stopped = async move {
            // An error means that the program is past stopping.
            let _ = stop.wait_for(|stop| *stop).await;
        };
        let reaping = async {
            let mut clock = tokio::time::interval(self.reap_every);
            loop {
                clock.tick().await;
                self.shared.reap();
            }
        };
        let metrics = observe::keep_metrics(self.metrics);
        let commands = commands::keep(&self.stdio, &self.registry);
        let keys = self.authenticator.keep_keys();
        let model = embedders::bring(self.search, self.data, self.fetcher, self.registry.clone());
        let calls = async {
            if let Some(calls) = &self.calls {
                calls.run().await;
            }
        };
        let behind = async { tokio::join!(self.sessions.run(), calls) };
        let control = self.registry.run(stopped);
        tokio::join!(control, behind, metrics, reaping, commands, keys, model);
    }
}

/// Tells how often to look for sessions that were idle for so long: late by a tenth at most.
fn reap_every(memory_idle: Duration) -> Duration {
    (memory_idle / 10).clamp(REAP_AT_MOST_EVERY, REAP_AT_LEAST_EVERY)
}

fn backend_settings(config: &Config, stdio: &Arc<backend::Stdio>) -> anyhow::Result<backend::Settings> {
    let given = &config.backends;
    let rule = AddressRule { allow_private: given.allow_private };
    let settings = backend::Settings::new(&given.extra_roots, rule).context("backends.extra_ca_files")?;
    let mut settings = backend::Settings {
        learnt_address_rule: AddressRule { allow_private: given.allow_private_learnt },
        connect: given.connect_timeout,
        answer: given.answer_timeout,
        idle: given.idle_timeout,
        probe: given.probe_timeout,
        stdio: stdio.clone(),
        ..settings
    };
    // Fetched on this runtime, so that fetching outlives the data threads.
    settings.tokens = Some(backend::Tokens::new(backend::Fetcher::new(&settings)));
    Ok(settings)
}

fn registry_settings(config: &Config) -> registry::Settings {
    registry::Settings {
        audit: registry::AuditSettings {
            keep: config.audit.keep,
            max_entries: config.audit.max_entries,
            max_calls: config.audit.max_calls,
        },
        address_rule: AddressRule { allow_private: config.backends.allow_private },
        probe_every: config.health.probe_every.0,
        probe_parallel: config.health.parallel,
        inventory_every: config.health.inventory_every.0,
        strict_versions: config.versions.strict,
        public_url: config.server.public_url.clone(),
        path_prefix: config.server.path_prefix.clone(),
        session_life: config.auth.session_life,
    }
}

fn proxy_settings(config: &Config) -> proxy::Settings {
    proxy::Settings {
        max_body_bytes: config.server.max_body_bytes,
        body_timeout: BODY_WITHIN,
        public_url: config.server.public_url.clone(),
        path_prefix: config.server.path_prefix.clone(),
        allowed_hosts: config.server.allowed_hosts.clone(),
        allowed_origins: config.server.allowed_origins.clone(),
        anonymous: config.auth.anonymous.clone(),
        strict_versions: config.versions.strict,
        patience: PATIENCE,
        sessions: proxy::sessions::Settings {
            memory_idle: config.sessions.memory_idle.0,
            store_idle: config.sessions.store_idle.0,
            most: config.sessions.max,
        },
    }
}

fn make_private(directory: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

fn local_url(mut address: SocketAddr, prefix: &str) -> String {
    if address.ip().is_unspecified() {
        let loopback =
            if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    format!("http://{address}{prefix}")
}

#[cfg(test)]
mod tests;
