//! Search: servers, their tools and virtual servers, by meaning and by words.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use catalog::error::Invalid;
use search::found::{FoundServer, FoundTool, FoundVirtualServer};
use search::query::{Kinds, Query};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::base::Base;
use super::error::Problem;
use super::extract::{Caller, JsonBody};
use crate::Registry;

/// Most entries of each kind.
const MAX_RESULTS: usize = 100;
/// Longest query; nobody types more, and what a program pastes in finds everything and nothing.
const MAX_QUERY_CHARS: usize = 2000;
/// Most tags to filter by.
const MAX_TAGS: usize = 50;

/// The routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(semantic))
}

/// What to look for.
#[derive(Deserialize, ToSchema)]
struct SearchRequest {
    /// Words, as a person writes them; one that begins with `#` is a tag to filter by.
    #[serde(default)]
    #[schema(examples("create an issue"))]
    query: String,
    /// Tags that all must be there. May stand alone, without a query.
    #[serde(default)]
    tags: Vec<String>,
    /// Most entries of each kind: 1 to 100, 10 by default.
    max_results: Option<usize>,
    /// Kinds of entries; all where absent.
    #[schema(value_type = Option<Vec<EntityType>>)]
    entity_types: Option<Vec<String>>,
}

/// A kind of entry.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the words that `entity_types` takes")]
enum EntityType {
    /// Servers.
    McpServer,
    /// Tools of servers.
    Tool,
    /// Virtual servers.
    VirtualServer,
}

/// How a query was searched.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(rename_all = "snake_case")]
enum SearchMode {
    /// By meaning and by words.
    Hybrid,
    /// The same, while some entries are not yet known by their meaning.
    Partial,
    /// By words alone, for lack of a model, or of time to ask it.
    Keyword,
}

/// What was found, best first, and how many fit in all.
#[derive(Serialize, ToSchema)]
struct SearchResponse {
    /// The query as it came.
    query: String,
    /// How it was searched: by meaning and words (`hybrid`), the same while some entries are not yet known by their
    /// meaning (`partial`), or by words alone (`keyword`).
    search_mode: SearchMode,
    /// Servers, each by its active version.
    servers: Vec<ServerHit>,
    /// Tools of active versions.
    tools: Vec<ToolHit>,
    /// Virtual servers.
    virtual_servers: Vec<VirtualServerHit>,
    /// Number of servers that fit.
    total_servers: usize,
    /// Number of tools that fit.
    total_tools: usize,
    /// Number of virtual servers that fit.
    total_virtual_servers: usize,
}

/// A server that fits.
#[derive(Serialize, ToSchema)]
struct ServerHit {
    /// Its path.
    path: String,
    /// What people call it.
    server_name: String,
    /// What its active version does.
    description: String,
    /// Words to find it by.
    tags: Vec<String>,
    /// Number of tools, as last read.
    num_tools: usize,
    /// Always true: what is disabled is not found.
    is_enabled: bool,
    /// Label of the active version.
    version: String,
    /// 0 to 1; 1 where the query is its name or path.
    relevance_score: f64,
    /// The text that fits.
    match_context: String,
    /// Its tools that fit, the best five.
    matching_tools: Vec<MatchingTool>,
    /// Where clients reach it.
    endpoint_url: String,
}

/// A tool that fits, beside its server.
#[derive(Serialize, ToSchema)]
struct MatchingTool {
    /// Its name.
    tool_name: String,
    /// What its backend says of it.
    description: String,
    /// 0 to 1.
    relevance_score: f64,
    /// The text that fits.
    match_context: String,
}

/// A tool that fits.
#[derive(Serialize, ToSchema)]
struct ToolHit {
    /// Its name.
    tool_name: String,
    /// The server it belongs to.
    server_path: String,
    /// What people call the server.
    server_name: String,
    /// What its backend says of it.
    description: String,
    /// 0 to 1; 1 where the query is its name.
    relevance_score: f64,
    /// The text that fits.
    match_context: String,
    /// Where clients reach the server.
    endpoint_url: String,
}

/// A virtual server that fits.
#[derive(Serialize, ToSchema)]
struct VirtualServerHit {
    /// Its path.
    #[schema(examples("/virtual/dev-tools"))]
    path: String,
    /// What people call it.
    server_name: String,
    /// What it is for.
    description: String,
    /// Words to find it by.
    tags: Vec<String>,
    /// Number of its rows.
    num_tools: usize,
    /// Always true: what is disabled is not found.
    is_enabled: bool,
    /// 0 to 1; 1 where the query is its name or path.
    relevance_score: f64,
    /// The text that fits.
    match_context: String,
    /// Where clients reach it.
    endpoint_url: String,
}

/// Finds servers, tools and virtual servers.
///
/// Only active versions of enabled servers that the caller may find are found and counted. The name is that of
/// the original registry's route. `search_mode` says whether meaning was taken into account.
#[utoipa::path(post, path = "/api/search/semantic", operation_id = "search", tag = "search",
    request_body = SearchRequest, responses((status = 200, body = SearchResponse)))]
async fn semantic(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    base: Base,
    JsonBody(request): JsonBody<SearchRequest>,
) -> Result<Json<SearchResponse>, Problem> {
    let (kinds, max_results) = check(&request)?;
    let index = registry.indexing.caught_up().await;
    let meaning = registry.indexing.meaning_of(index.reading(&request.query)).await;
    let search_mode = match &meaning {
        Some(_) if registry.indexing.is_settled() => SearchMode::Hybrid,
        Some(_) => SearchMode::Partial,
        None => SearchMode::Keyword,
    };
    let meaning = meaning.as_deref();
    let query = Query { text: &request.query, meaning, tags: &request.tags, kinds, max_results };
    let found = index.query(&query, |server| caller.may_find(server));
    Ok(Json(SearchResponse {
        search_mode,
        servers: found.servers.into_iter().map(|one| ServerHit::of(one, &base)).collect(),
        tools: found.tools.into_iter().map(|one| ToolHit::of(one, &base)).collect(),
        virtual_servers: found
            .virtual_servers
            .into_iter()
            .map(|one| VirtualServerHit::of(one, &base))
            .collect(),
        total_servers: found.total_servers,
        total_tools: found.total_tools,
        total_virtual_servers: found.total_virtual_servers,
        query: request.query,
    }))
}

/// Checks a request whole and names every bad field.
fn check(request: &SearchRequest) -> Result<(Kinds, usize), Vec<Invalid>> {
    let mut faults = Vec::new();
    if request.query.trim().is_empty() && request.tags.iter().all(|tag| tag.trim().is_empty()) {
        faults.push(Invalid::new("query", "is empty; give words or tags to look for"));
    }
    if request.query.chars().count() > MAX_QUERY_CHARS {
        faults.push(Invalid::new("query", format!("is longer than {MAX_QUERY_CHARS} characters")));
    }
    if request.tags.len() > MAX_TAGS {
        faults.push(Invalid::new("tags", format!("are more than {MAX_TAGS}")));
    }
    let max_results = request.max_results.unwrap_or(10);
    if !(1..=MAX_RESULTS).contains(&max_results) {
        faults.push(Invalid::new("max_results", format!("must be 1 to {MAX_RESULTS}")));
    }
    let mut kinds = Kinds::ALL;
    if let Some(types) = request.entity_types.as_deref().filter(|types| !types.is_empty()) {
        kinds = Kinds { servers: false, tools: false, virtual_servers: false };
        for (index, word) in types.iter().enumerate() {
            match word.as_str() {
                "mcp_server" => kinds.servers = true,
                "tool" => kinds.tools = true,
                "virtual_server" => kinds.virtual_servers = true,
                other => faults.push(Invalid::new(
                    format!("entity_types[{index}]"),
                    format!("{other:?} is none of mcp_server, tool, virtual_server"),
                )),
            }
        }
    }
    if faults.is_empty() { Ok((kinds, max_results)) } else { Err(faults) }
}

impl ServerHit {
    fn of(found: FoundServer, base: &Base) -> Self {
        let (server, active) = (&found.server, found.server.active());
        let tool = |one: FoundTool| MatchingTool {
            tool_name: one.name,
            description: one.description,
            relevance_score: score(one.relevance),
            match_context: one.context,
        };
        Self {
            path: server.path.to_string(),
            server_name: server.name.clone(),
            description: active.description.clone(),
            tags: server.tags.clone(),
            num_tools: found.inventory.as_ref().map_or(0, |one| one.all_tools().count()),
            is_enabled: server.is_enabled,
            version: active.label.to_string(),
            relevance_score: score(found.relevance),
            match_context: found.context,
            matching_tools: found.tools.into_iter().map(tool).collect(),
            endpoint_url: base.endpoint(server.path.as_str()),
        }
    }
}

impl ToolHit {
    fn of(found: FoundTool, base: &Base) -> Self {
        Self {
            tool_name: found.name,
            server_path: found.server.path.to_string(),
            server_name: found.server.name.clone(),
            description: found.description,
            relevance_score: score(found.relevance),
            match_context: found.context,
            endpoint_url: base.endpoint(found.server.path.as_str()),
        }
    }
}

impl VirtualServerHit {
    fn of(found: FoundVirtualServer, base: &Base) -> Self {
        let one = &found.virtual_server;
        Self {
            path: one.slug.path(),
            server_name: one.name.clone(),
            description: one.description.clone(),
            tags: one.tags.clone(),
            num_tools: one.mappings.len(),
            is_enabled: one.is_enabled,
            relevance_score: score(found.relevance),
            match_context: found.context,
            endpoint_url: base.endpoint(&one.slug.path()),
        }
    }
}

/// Rounds to what a score can tell.
fn score(relevance: f32) -> f64 {
    (f64::from(relevance) * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests;
