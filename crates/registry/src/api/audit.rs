//! The audit trail: what is noted of each write, and the list of it for administrators.

mod actions;
mod export;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use catalog::name::ServerPath;
use catalog::time::Timestamp;
use http::StatusCode;
use http::request::Parts;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::audit::{Kept, Outcome, Query};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::document::rfc3339;
use super::error::Problem;
use super::extract::{Admin, Paging, Params, part};
use super::route_of;
use crate::Registry;
use crate::trail::Trail;

/// Makes the routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(list_audit)).merge(export::routes())
}

/// One entry.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditEntry)]
struct Document {
    /// Its id; later entries have higher ones.
    id: u64,
    /// When it was done.
    at: String,
    /// Who did it: the subject of the token.
    actor: String,
    /// What was done; the part before the dot is the kind of the object.
    #[schema(examples("version.activate"))]
    action: String,
    /// What it was done to: a path, a slug, a name or an id. Absent where a refused request did not name it.
    #[schema(examples("/context7"))]
    object: Option<String>,
    /// `ok`, `refused` where the caller may not do it or not now, or `error` for calls that failed.
    outcome: &'static str,
    /// More of it, in a few words.
    #[schema(examples("v1.5.0 -> v2.0.0"))]
    detail: String,
    /// Of a change `before` and `after`, with the members that differ; of a call how long it took and what answered it.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,
    /// The address it came from, where that is known.
    source: Option<String>,
}

/// A page of the audit trail.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditPage)]
struct Page {
    /// The entries, newest first.
    entries: Vec<Document>,
    /// Entries on all pages.
    total_count: u64,
    /// Most entries of this page.
    limit: usize,
    /// Entries before this page.
    offset: usize,
    /// Whether there are entries behind this page.
    has_next: bool,
}

/// What narrows the list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// Only what this subject did.
    actor: Option<String>,
    /// Only this action; `version` stands for all of `version.…`.
    action: Option<String>,
    /// Only what was done to this path, slug, name or id.
    object: Option<String>,
    /// Only what ended so: `ok`, `refused` or `error`.
    outcome: Option<String>,
    /// Only what was done then or later, for example `2026-11-30T00:00:00Z`.
    since: Option<String>,
    /// Only what was done before.
    until: Option<String>,
}

impl Filter {
    /// Reads it into what the store is asked.
    fn read(self, limit: usize, offset: usize) -> Result<Query, Problem> {
        let Self { actor, action, object, outcome, since, until } = self;
        let word = |text: String| {
            let reason = || format!("{text:?} is none of ok, refused, error");
            Outcome::parse(&text).ok_or_else(|| Problem::bad_field("outcome", reason()))
        };
        let outcome = outcome.map(word).transpose()?;
        let since = since.map(|text| moment("since", &text)).transpose()?;
        let until = until.map(|text| moment("until", &text)).transpose()?;
        Ok(Query { actor, action, object, outcome, since, until, below: None, limit, offset })
    }
}

/// Lists what was done
///
/// Every write that was accepted, and every one that was refused because the caller may not make it; calls of MCP
/// where the configuration says so.
#[utoipa::path(get, path = "/api/audit", tag = "audit",
    params(Filter, ("limit" = Option<usize>, Query, description = "Most entries, 1 to 1000; 100 by default"),
        ("offset" = Option<usize>, Query, description = "Entries to skip")),
    responses((status = 200, description = "A page of it, newest first", body = Page),
        (status = 403, description = "The caller is not an administrator", body = super::error::ProblemDocument,
            content_type = "application/problem+json"),
        (status = 422, description = "A parameter is bad", body = super::error::ProblemDocument,
            content_type = "application/problem+json")))]
async fn list_audit(
    State(registry): State<Arc<Registry>>,
    _: Admin,
    paging: Paging,
    Params(filter): Params<Filter>,
) -> Result<Json<Page>, Problem> {
    let Paging { limit, offset } = paging;
    let found = registry.parts.store.audit(filter.read(limit, offset)?).await.map_err(unreadable)?;
    let entries: Vec<Document> = found.entries.into_iter().map(Document::of).collect();
    let shown = offset.saturating_add(entries.len()) as u64;
    let has_next = !entries.is_empty() && shown < found.total;
    Ok(Json(Page { entries, total_count: found.total, limit, offset, has_next }))
}

fn unreadable(error: store::Error) -> Problem {
    tracing::error!(%error, "the audit trail cannot be read");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the audit trail cannot be read now; try again later")
}

fn moment(field: &str, text: &str) -> Result<Timestamp, Problem> {
    let reason = || format!("{text:?} is no point in time like 2026-11-30T00:00:00Z");
    let at: jiff::Timestamp = text.trim().parse().map_err(|_| Problem::bad_field(field, reason()))?;
    Ok(Timestamp(at.as_millisecond()))
}

impl Document {
    fn of(kept: Kept) -> Self {
        let Kept { id, entry } = kept;
        Self {
            id,
            at: rfc3339(entry.at),
            actor: entry.actor.to_string(),
            action: entry.action.to_string(),
            object: entry.object,
            outcome: entry.outcome.as_str(),
            detail: entry.detail,
            data: entry.data.and_then(|data| RawValue::from_string(data.into()).ok()),
            source: entry.source.map(|source| source.to_string()),
        }
    }
}

/// Follows each request that writes. A change takes its entry along; here the rest is kept: what was refused, and
/// what was accepted and changed nothing.
pub(super) async fn follow(State(registry): State<Arc<Registry>>, request: Request, next: Next) -> Response {
    let Some(action) = actions::action(request.method(), route_of(&request)) else {
        return next.run(request).await;
    };
    let (mut parts, body) = request.into_parts();
    let source = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.ip().to_canonical());
    let trail = Trail::new(action, named(&mut parts).await, source);
    if let Ok(label) = part(&mut parts, &(), "label").await {
        trail.detail(label);
    }
    parts.extensions.insert(trail.clone());
    let response = next.run(Request::from_parts(parts, body)).await;
    let outcome = match response.status() {
        status if status.is_success() => Outcome::Ok,
        StatusCode::FORBIDDEN => Outcome::Refused,
        _ => return response,
    };
    if let Some(entry) = trail.entry(outcome, &[])
        && let Err(error) = registry.parts.store.append_audit(vec![entry]).await
    {
        tracing::error!(%error, action, "an entry of the audit trail could not be kept");
    }
    response
}

/// Returns the object that the path of a request names.
async fn named(parts: &mut Parts) -> Option<String> {
    if let Ok(path) = part(parts, &(), "path").await {
        return Some(ServerPath::parse("path", &path).map_or(path, |path| path.to_string()));
    }
    for name in ["slug", "name", "id"] {
        if let Ok(value) = part(parts, &(), name).await {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests;
