//! What an operator sees of a running gateway: logs, metrics, health and readiness.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::log::{Format, Log};

/// Bounds of the buckets of every histogram in seconds: from a cached answer to a long tool call.
const SECONDS: [f64; 14] =
    [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0, 120.0];
/// How often histograms are folded, which bounds what they keep between two scrapes.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// Whether the gateway takes requests. Cheap to clone; all clones show the same.
#[derive(Clone, Default)]
pub(crate) struct Readiness(Arc<AtomicBool>);

#[derive(Clone)]
struct Observed {
    readiness: Readiness,
    metrics: PrometheusHandle,
}

impl Readiness {
    /// Says from now on whether requests are taken.
    pub(crate) fn set(&self, is_ready: bool) {
        self.0.store(is_ready, Ordering::Release);
    }

    fn is_ready(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Opens the log on standard error.
pub(crate) fn start_log(log: &Log) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&log.level).context("log.level")?;
    // Colours are for a person at a terminal, not for a file.
    let has_colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let lines =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(has_colours);
    let started = match log.format {
        Format::Text => lines.try_init(),
        Format::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("cannot open the log: {error}"))
}

/// Installs the recorder that every crate's metrics go to.
pub(crate) fn start_metrics() -> anyhow::Result<PrometheusHandle> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)
        .context("cannot set the buckets of histograms")?;
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(|_| anyhow::anyhow!("metrics are recorded already"))?;
    Ok(handle)
}

/// Keeps the histograms folded. Runs until it is dropped.
pub(crate) async fn keep_metrics(metrics: PrometheusHandle) {
    let mut clock = tokio::time::interval(UPKEEP_EVERY);
    loop {
        clock.tick().await;
        metrics.run_upkeep();
    }
}

/// `/healthz`, `/readyz`, `/metrics`. They are open: what they show holds no secret and names no caller.
pub(crate) fn router(readiness: Readiness, metrics: PrometheusHandle) -> Router {
    Router::new()
        .route("/healthz", get(async || ([(CACHE_CONTROL, "no-store")], "ok\n")))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .with_state(Observed { readiness, metrics })
}

async fn readyz(State(observed): State<Observed>) -> impl axum::response::IntoResponse {
    let (status, text) = match observed.readiness.is_ready() {
        true => (StatusCode::OK, "ready\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
    };
    (status, [(CACHE_CONTROL, "no-store")], text)
}

async fn scrape(State(observed): State<Observed>) -> impl axum::response::IntoResponse {
    let headers = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    (headers, observed.metrics.render())
}
