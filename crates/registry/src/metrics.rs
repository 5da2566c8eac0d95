//! What the control plane counts.

use std::time::Duration;

use catalog::name::ServerPath;

/// Counts a REST request and its duration.
pub(crate) fn answered(method: &http::Method, route: String, status: u16, took: Duration) {
    // Clients may invent methods; a label for each would have no end.
    let method = match method.as_str() {
        known @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => known,
        _ => "other",
    };
    let labels = [("method", method.to_owned()), ("route", route), ("status", status.to_string())];
    metrics::counter!("switchyard_api_requests_total", &labels).increment(1);
    metrics::histogram!("switchyard_api_request_duration_seconds", &labels).record(took.as_secs_f64());
}

/// Notes a published table.
pub(crate) fn published(revision: u64, left_out: usize) {
    metrics::gauge!("switchyard_catalog_revision").set(revision as f64);
    metrics::gauge!("switchyard_catalog_left_out_entries").set(left_out as f64);
}

/// Counts a probe or an inventory read.
pub(crate) fn probed(kind: &'static str, is_healthy: bool, took: Duration) {
    let result = if is_healthy { "healthy" } else { "unhealthy" };
    metrics::counter!("switchyard_probes_total", "kind" => kind, "result" => result).increment(1);
    metrics::histogram!("switchyard_probe_duration_seconds", "kind" => kind).record(took.as_secs_f64());
}

/// Counts a changed reported version.
pub(crate) fn reported_version_changed(path: &ServerPath) {
    metrics::counter!("switchyard_reported_version_changes_total", "server" => path.to_string()).increment(1);
}
