//! The catalogue of tools: what the active versions of all servers offer, to pick from.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use catalog::inventory::Item;
use catalog::name::ServerPath;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::error::{Problem, ProblemDocument};
use super::extract::{Caller, Paging, Params};
use crate::Registry;

/// The routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Which tools are shown.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ToolParams {
    /// Only tools of this server.
    server_path: Option<String>,
    /// A text that the name or the description of the tool holds, in any case.
    query: Option<String>,
    /// Whether tools of disabled servers are shown, too.
    include_disabled: Option<bool>,
    /// Most tools to return: 1 to 1000, 100 by default.
    #[expect(dead_code, reason = "read by `Paging`, described here")]
    limit: Option<usize>,
    /// Tools to skip.
    #[expect(dead_code, reason = "read by `Paging`, described here")]
    offset: Option<usize>,
}

/// A page of tools.
#[derive(Serialize, ToSchema)]
struct ToolCatalog {
    /// The tools, by server.
    tools: Vec<CatalogTool>,
    /// Number of tools that match.
    total_count: usize,
    /// Most tools on this page.
    limit: usize,
    /// Tools before this page.
    offset: usize,
    /// Whether more follow.
    has_next: bool,
}

/// A tool of an active version.
#[derive(Serialize, ToSchema)]
struct CatalogTool {
    /// Its original name.
    tool_name: String,
    /// The server it belongs to.
    server_path: String,
    /// What people call the server.
    server_name: String,
    /// What its backend says of it.
    description: String,
    /// Label of the active version.
    version: String,
    /// Labels of all versions that offer a tool of this name, for a pin.
    available_versions: Vec<String>,
    /// Schema of its arguments.
    #[schema(value_type = Object)]
    input_schema: Option<Box<RawValue>>,
}

/// Lists the tools of active versions, of all servers the caller may find.
#[utoipa::path(get, path = "/api/tool-catalog", operation_id = "list_tools", tag = "servers", params(ToolParams),
    responses((status = 200, body = ToolCatalog), (status = 422, body = ProblemDocument)))]
async fn list(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    Params(params): Params<ToolParams>,
    paging: Paging,
) -> Result<Json<ToolCatalog>, Problem> {
    let catalog = registry.catalog();
    let only =
        params.server_path.as_deref().map(|path| ServerPath::parse("server_path", path)).transpose()?;
    let query = params.query.unwrap_or_default().trim().to_lowercase();
    let mut found = Vec::new();
    for server in catalog.servers.values() {
        let is_shown = server.is_enabled || params.include_disabled == Some(true);
        if !is_shown || only.as_ref().is_some_and(|path| *path != server.path) || !caller.may_find(server) {
            continue;
        }
        let tools = catalog.inventory(&server.path, &server.active().label).map(|one| one.all_tools());
        for tool in tools.into_iter().flatten() {
            if query.is_empty() || is_match(tool, &query) {
                found.push((server, tool));
            }
        }
    }
    let (page, total_count, has_next) = paging.cut(found);
    let tools = page.into_iter().map(|(server, tool)| {
        let offers =
            |label| catalog.inventory(&server.path, label).is_some_and(|one| one.tool(&tool.name).is_some());
        CatalogTool {
            tool_name: tool.name.to_string(),
            server_path: server.path.to_string(),
            server_name: server.name.clone(),
            description: description(tool),
            version: server.active().label.to_string(),
            available_versions: server
                .versions()
                .filter(|version| offers(&version.label))
                .map(|version| version.label.to_string())
                .collect(),
            input_schema: member(tool, "inputSchema")
                .and_then(|json| RawValue::from_string(json.into()).ok()),
        }
    });
    let (limit, offset) = (paging.limit, paging.offset);
    Ok(Json(ToolCatalog { tools: tools.collect(), total_count, limit, offset, has_next }))
}

fn is_match(tool: &Item, query: &str) -> bool {
    if tool.name.to_lowercase().contains(query) {
        return true;
    }
    description(tool).to_lowercase().contains(query)
}

fn description(tool: &Item) -> String {
    let text = member(tool, "description").and_then(|json| mcp::message::text(json.as_bytes()));
    text.map(std::borrow::Cow::into_owned).unwrap_or_default()
}

/// Returns a member as the JSON it is. A tree could not hold all of it: JSON may have half a surrogate pair.
fn member<'a>(tool: &'a Item, name: &str) -> Option<&'a str> {
    let bytes = tool.json.as_bytes();
    std::str::from_utf8(mcp::message::member(bytes, name)?.of(bytes)).ok()
}
