//! The health board: what the last probe of each active version found.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use catalog::VersionKey;
use catalog::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::document::rfc3339;
use super::error::ProblemDocument;
use super::extract::Caller;
use crate::Registry;

/// The routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(board))
}

/// The health board.
#[derive(Serialize, ToSchema)]
struct HealthBoard {
    /// When this was written.
    checked_at: String,
    /// Numbers of enabled servers by state.
    summary: Summary,
    /// The active version of each server the caller may find.
    servers: Vec<Health>,
    /// What the routing table had to leave out; for administrators.
    left_out: Vec<LeftOutEntry>,
}

/// Numbers of enabled servers by state.
#[derive(Default, Serialize, ToSchema)]
struct Summary {
    /// The last probe worked.
    healthy: usize,
    /// The last probe failed.
    unhealthy: usize,
    /// Not probed yet.
    unknown: usize,
    /// Not routed, so not probed.
    disabled: usize,
}

/// What the last probe of an active version found.
#[derive(Serialize, ToSchema)]
struct Health {
    /// The server.
    path: String,
    /// What people call it.
    server_name: String,
    /// Label of the active version.
    version: String,
    /// Whether the server is routed; only then it is probed.
    is_enabled: bool,
    /// `healthy`, `unhealthy` or `unknown`. It never decides whether the server is routed.
    status: &'static str,
    /// Since when the status holds.
    since: Option<String>,
    /// When it was last probed.
    last_checked: Option<String>,
    /// How long the backend took, in milliseconds.
    latency_ms: Option<u64>,
    /// What was wrong.
    error: Option<String>,
    /// The version the running software reports.
    mcp_server_version: Option<String>,
}

/// An entry that the routing table had to leave out.
#[derive(Serialize, ToSchema)]
struct LeftOutEntry {
    /// What.
    what: String,
    /// Why.
    reason: String,
}

/// Shows how the active version of each server is.
#[utoipa::path(get, path = "/api/health", operation_id = "show_health", tag = "health",
    responses((status = 200, body = HealthBoard), (status = 401, body = ProblemDocument)))]
async fn board(State(registry): State<Arc<Registry>>, caller: Caller) -> Json<HealthBoard> {
    let catalog = registry.catalog();
    let mut summary = Summary::default();
    let mut servers = Vec::new();
    for server in catalog.servers.values().filter(|server| caller.may_find(server)) {
        let active = server.active();
        let check = registry.board.check(&VersionKey::new(&server.path, &active.label));
        let status = check.as_ref().map_or("unknown", |check| check.status());
        match status {
            _ if !server.is_enabled => summary.disabled += 1,
            "healthy" => summary.healthy += 1,
            "unhealthy" => summary.unhealthy += 1,
            _ => summary.unknown += 1,
        }
        let known = catalog.inventory(&server.path, &active.label);
        servers.push(Health {
            path: server.path.to_string(),
            server_name: server.name.clone(),
            version: active.label.to_string(),
            is_enabled: server.is_enabled,
            status,
            since: check.as_ref().map(|check| rfc3339(check.since)),
            last_checked: check.as_ref().map(|check| rfc3339(check.checked_at)),
            latency_ms: check.as_ref().and_then(|check| u64::try_from(check.latency?.as_millis()).ok()),
            error: check.as_ref().and_then(|check| check.fault.clone()),
            mcp_server_version: known
                .and_then(|one| one.reported.version.clone())
                .or(check.and_then(|check| check.reported)),
        });
    }
    let left_out = if caller.grants.is_everything() { registry.left_out() } else { Vec::new() };
    let left_out =
        left_out.into_iter().map(|one| LeftOutEntry { what: one.what, reason: one.reason }).collect();
    Json(HealthBoard { checked_at: rfc3339(Timestamp::now()), summary, servers, left_out })
}
