//! What versions offer: their tools, a fresh look at them, and the difference between two.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use catalog::VersionKey;
use catalog::name::ServerPath;
use http::StatusCode;
use http::request::Parts;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::document::{Document, rfc3339};
use crate::api::error::{Problem, ProblemDocument};
use crate::api::extract::{AtServer, AtVersion, Caller, Params, part, require_server};
use crate::api::permitted::{self, Permitted};
use crate::api::tagged::Tagged;
use crate::diff::{self, Diff};
use crate::unfit::unfit;
use crate::{Registry, Unread};

/// The routes of this file.
pub(super) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(tools)).routes(routes!(refresh)).routes(routes!(compare))
}

/// Which version is meant.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct VersionParam {
    /// Its label; the active version where absent.
    version: Option<String>,
}

/// The tools of a version.
#[derive(Serialize, ToSchema)]
struct ToolList {
    /// The server.
    path: String,
    /// Label of the version.
    version: String,
    /// When they were read; absent where the backend was never read.
    read_at: Option<String>,
    /// Each tool as its backend describes it, and the `server_path`.
    #[schema(value_type = Vec<Object>)]
    tools: Vec<Box<RawValue>>,
    /// Number of tools.
    total_count: usize,
    /// Those among them that no client may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unusable: Vec<UnusableTool>,
}

/// A tool whose schema asks for headers that nobody can make.
#[derive(Serialize, ToSchema)]
struct UnusableTool {
    /// Its name.
    name: String,
    /// What is wrong with its `x-mcp-header`.
    reason: String,
}

/// Lists the tools of a version, as last read.
#[utoipa::path(get, path = "/api/servers/{path}/tools", operation_id = "list_server_tools", tag = "servers",
    params(("path" = String, Path, description = "Path of the server; may hold slashes"), VersionParam),
    responses((status = 200, body = ToolList), (status = 404, body = ProblemDocument)))]
async fn tools(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    AtServer(path): AtServer,
    Params(params): Params<VersionParam>,
) -> Result<Json<ToolList>, Problem> {
    let catalog = registry.catalog();
    let server = caller.server(&catalog, &path)?;
    let version = match &params.version {
        Some(label) => server.require(label)?,
        None => server.active(),
    };
    let inventory = catalog.inventory(&path, &version.label);
    let tools: Vec<_> =
        inventory.iter().flat_map(|one| one.all_tools()).filter_map(|tool| described(tool, &path)).collect();
    let unusable = inventory.iter().flat_map(|one| one.all_tools());
    let unusable = unusable
        .filter_map(|tool| unfit(tool).map(|reason| UnusableTool { name: tool.name.to_string(), reason }));
    Ok(Json(ToolList {
        unusable: unusable.collect(),
        path: path.to_string(),
        version: version.label.to_string(),
        read_at: inventory.map(|one| rfc3339(one.read_at)),
        total_count: tools.len(),
        tools,
    }))
}

/// Writes a tool with the path of its server.
fn described(tool: &catalog::inventory::Item, path: &ServerPath) -> Option<Box<RawValue>> {
    if let Ok(mut members) = serde_json::from_str::<Map<String, Value>>(&tool.json) {
        members.insert("server_path".into(), path.as_str().into());
        return serde_json::value::to_raw_value(&members).ok();
    }
    // JSON may hold what no text can, half a surrogate pair. It goes out as it came in.
    let rest = tool.json.trim_start().strip_prefix('{')?.trim_start();
    let comma = if rest.starts_with('}') { "" } else { "," };
    RawValue::from_string(format!("{{\"server_path\":\"{path}\"{comma}{rest}")).ok()
}

/// Probes a version and reads its inventory, now. Answers when that is done.
#[utoipa::path(post, path = "/api/servers/{path}/refresh", operation_id = "refresh_server", tag = "servers",
    params(("path" = String, Path, description = "Path of the server; may hold slashes"), VersionParam),
    responses((status = 200, body = Document), (status = 404, body = ProblemDocument),
        (status = 502, description = "Its backend does not answer as it should", body = ProblemDocument)))]
async fn refresh(
    State(registry): State<Arc<Registry>>,
    _: Permitted<permitted::CheckHealth>,
    AtServer(path): AtServer,
    Params(params): Params<VersionParam>,
) -> Result<Tagged<Document>, Problem> {
    let key = {
        let catalog = registry.catalog();
        let server = require_server(&catalog, &path)?;
        let version = match &params.version {
            Some(label) => server.require(label)?,
            None => server.active(),
        };
        VersionKey::new(&path, &version.label)
    };
    registry.refresh(&key).await?;
    let catalog = registry.catalog();
    let server = require_server(&catalog, &path)?;
    let version = server.require(key.label.as_str())?;
    Ok(Tagged::ok(server.revision, Document::of_version(&registry, &catalog, server, version)))
}

/// The second version of a comparison.
struct Other(String);

impl<S: Send + Sync> FromRequestParts<S> for Other {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        part(parts, state, "other").await.map(Self)
    }
}

/// Compares two versions: what comes, goes and changes, what of it breaks callers, and which virtual servers notice.
/// A version whose backend was never read is read first.
#[utoipa::path(get, path = "/api/servers/{path}/versions/{label}/diff/{other}", operation_id = "compare_versions", tag = "versions",
    params(("path" = String, Path, description = "Path of the server; may hold slashes"),
        ("label" = String, Path, description = "Label of the version to compare from"),
        ("other" = String, Path, description = "Label of the version to compare to")),
    responses((status = 200, body = Diff), (status = 404, body = ProblemDocument),
        (status = 502, description = "A version that was never read does not answer", body = ProblemDocument)))]
async fn compare(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    AtVersion { path, label }: AtVersion,
    Other(other): Other,
) -> Result<Json<Diff>, Problem> {
    let catalog = registry.catalog();
    let server = caller.server(&catalog, &path)?;
    for label in [&label, &other] {
        let version = server.require(label)?;
        if catalog.inventory(&path, &version.label).is_none() {
            registry.refresh(&VersionKey::new(&path, &version.label)).await?;
        }
    }
    Ok(Json(diff::of_versions(&registry.catalog(), &path, &label, &other)?))
}

impl From<Unread> for Problem {
    fn from(error: Unread) -> Self {
        let status = match &error {
            Unread::Gone(_) => StatusCode::NOT_FOUND,
            Unread::Backend { .. } => StatusCode::BAD_GATEWAY,
            Unread::Unstored { .. } => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.to_string())
    }
}
