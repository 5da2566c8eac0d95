//! Counters, durations, and the one log line per request.

use std::time::Duration;

use http::StatusCode;
use metrics::{Counter, Histogram, counter, histogram};

/// What kind of endpoint a request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Server,
    Virtual,
    Other,
}

/// Handles made once, so that counting costs no look-up.
pub(crate) struct Metrics {
    requests: [[Counter; 2]; 3],
    durations: [Histogram; 3],
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let names = ["server", "virtual", "other"];
        let count = |endpoint: &'static str, outcome: &'static str| counter!("switchyard_requests_total", "endpoint" => endpoint, "outcome" => outcome);
        Self {
            requests: names.map(|name| [count(name, "ok"), count(name, "error")]),
            durations: names
                .map(|name| histogram!("switchyard_request_duration_seconds", "endpoint" => name)),
        }
    }

    /// Counts a request up to the head of its answer.
    pub(crate) fn answered(&self, endpoint: Endpoint, is_error: bool, took: Duration) {
        self.requests[endpoint as usize][usize::from(is_error)].increment(1);
        self.durations[endpoint as usize].record(took);
    }
}

/// Writes the request's line: failures of backends and of ours as warnings, clients' faults as information,
/// the rest only when asked for.
pub(crate) fn log(
    path: &str,
    method: &str,
    status: StatusCode,
    error: Option<&crate::error::Error>,
    took: Duration,
) {
    let (status, duration_ms) = (status.as_u16(), took.as_secs_f64() * 1000.0);
    match error {
        None => tracing::debug!(path, method, status, duration_ms, "served"),
        Some(error) if error.is_clients_fault() => {
            tracing::info!(path, method, status, duration_ms, class = error.class(), %error, "refused");
        }
        Some(error) => {
            let reason = error.reason();
            tracing::warn!(path, method, status, duration_ms, class = error.class(), %error, reason, "failed");
        }
    }
}
