//! Reading as from the official MCP registry: each enabled server as a `server.json` by its active version.
//!
//! Shape: `{"servers": [{"server": {"name": "switchyard.local/context7", …}, "_meta": {…}}], "metadata":
//! {"nextCursor": "…", "count": 1}}` (source: the official registry's generic API, `/v0`).

use std::ops::Bound;
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use catalog::error::Refusal;
use catalog::name::ServerPath;
use catalog::server::{Server, Status};
use http::request::Parts;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::base::Base;
use super::document::rfc3339;
use super::error::Problem;
use super::extract::{Caller, Params, part};
use crate::Registry;

/// The namespace of our names. Names in it mean something at this gateway only.
const NAMESPACE: &str = "switchyard.local";
/// The schema of `server.json` that the documents keep.
const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
/// Longest description and title that the schema allows, in characters.
const MAX_TEXT_CHARS: usize = 100;
/// Servers of a page that asks for no number, as in the official registry.
const DEFAULT_LIMIT: usize = 30;
/// Most servers of one page, as in the official registry.
const MAX_LIMIT: usize = 100;

/// The routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show)).routes(routes!(show_version))
}

/// Which servers are shown.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListParams {
    /// Most servers to return: 1 to 100, 30 by default.
    limit: Option<usize>,
    /// `nextCursor` of the page before.
    cursor: Option<String>,
    /// A text that the name or title holds, in any case.
    search: Option<String>,
}

/// A page of servers.
#[derive(Serialize, ToSchema)]
struct RegistryList {
    /// The servers, by path.
    servers: Vec<RegistryEntry>,
    /// How to go on.
    metadata: RegistryPage,
}

/// How to go on with a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RegistryPage {
    /// To be sent as `cursor` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Number of servers on this page.
    count: usize,
}

/// A server and what the registry says of it.
#[derive(Serialize, ToSchema)]
struct RegistryEntry {
    /// The server's own document.
    server: ServerJson,
    /// What the registry adds.
    #[serde(rename = "_meta")]
    meta: RegistryMeta,
}

/// A `server.json`.
#[derive(Serialize, ToSchema)]
struct ServerJson {
    /// Its schema.
    #[serde(rename = "$schema")]
    schema: &'static str,
    /// The path as a name in reverse-DNS form.
    #[schema(examples("switchyard.local/context7"))]
    name: String,
    /// What people call it.
    title: String,
    /// What its active version does, cut at 100 characters.
    description: String,
    /// Label of the active version.
    version: String,
    /// Where it is reached through this gateway.
    remotes: [Remote; 1],
}

/// An address of a server.
#[derive(Serialize, ToSchema)]
struct Remote {
    /// Always `streamable-http`.
    r#type: &'static str,
    /// The endpoint.
    url: String,
}

/// What the registry adds to a server's document.
#[derive(Serialize, ToSchema)]
struct RegistryMeta {
    /// The members that the official registry has.
    #[serde(rename = "io.modelcontextprotocol.registry/official")]
    official: Official,
}

/// The members that the official registry has.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Official {
    /// `active` or `deprecated`.
    status: &'static str,
    /// When the version was registered.
    published_at: String,
    /// When the server was last written.
    updated_at: String,
    /// Always true: only active versions are shown.
    is_latest: bool,
}

/// The server's name in the URL.
struct AtName(String);

impl<S: Send + Sync> FromRequestParts<S> for AtName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        part(parts, state, "name").await.map(Self)
    }
}

/// Lists enabled servers, each by its active version, as the official registry does.
#[utoipa::path(get, path = "/v0/servers", operation_id = "v0_list", tag = "official registry", params(ListParams),
    responses((status = 200, body = RegistryList)))]
async fn list(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    base: Base,
    Params(params): Params<ListParams>,
) -> Result<Json<RegistryList>, Problem> {
    let limit = params.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Problem::bad_field("limit", format!("must be 1 to {MAX_LIMIT}")));
    }
    let catalog = registry.catalog();
    let wanted = params.search.unwrap_or_default().trim().to_lowercase();
    let after = match params.cursor.as_deref().filter(|cursor| !cursor.is_empty()) {
        Some(cursor) => Bound::Excluded(cursor),
        None => Bound::Unbounded,
    };
    let behind = catalog.servers.range::<str, _>((after, Bound::Unbounded)).map(|(_, server)| server);
    let mut fitting = behind.filter(|server| {
        server.is_enabled
            && caller.may_find(server)
            && (name(&server.path).contains(&wanted) || server.name.to_lowercase().contains(&wanted))
    });
    let page: Vec<_> = fitting.by_ref().take(limit).collect();
    let next_cursor = fitting.next().and(page.last()).map(|last| last.path.to_string());
    let servers: Vec<_> = page.into_iter().map(|server| RegistryEntry::of(server, &base)).collect();
    let metadata = RegistryPage { next_cursor, count: servers.len() };
    Ok(Json(RegistryList { servers, metadata }))
}

/// Shows a server as the official registry does.
#[utoipa::path(get, path = "/v0/servers/{name}", operation_id = "v0_show", tag = "official registry",
    params(("name" = String, Path, description = "Name of the server; its slash may be encoded or not")),
    responses((status = 200, body = RegistryEntry)))]
async fn show(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    base: Base,
    AtName(name): AtName,
) -> Result<Json<RegistryEntry>, Problem> {
    let server = find(&registry, &caller, &name).ok_or_else(|| no_such("server", &name))?;
    Ok(Json(RegistryEntry::of(&server, &base)))
}

/// Shows the active version of a server as the official registry does.
#[utoipa::path(get, path = "/v0/servers/{name}/versions/{version}", operation_id = "v0_show_version",
    tag = "official registry",
    params(("name" = String, Path, description = "Name of the server; its slash may be encoded or not"),
        ("version" = String, Path, description = "`latest`, or the label of the active version")),
    responses((status = 200, body = RegistryEntry)))]
async fn show_version(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    base: Base,
    AtName(name): AtName,
    AtLabel(label): AtLabel,
) -> Result<Json<RegistryEntry>, Problem> {
    let server = find(&registry, &caller, &name).ok_or_else(|| no_such("server", &name))?;
    if label != "latest" && label != server.active().label.as_str() {
        return Err(no_such("active version", &format!("{label} of {name}")));
    }
    Ok(Json(RegistryEntry::of(&server, &base)))
}

/// The version's label in the URL.
struct AtLabel(String);

impl<S: Send + Sync> FromRequestParts<S> for AtLabel {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        part(parts, state, "version").await.map(Self)
    }
}

/// Returns the name of the server at a path: `/team/github` is `switchyard.local.team/github`. The official
/// registry allows one slash in a name.
fn name(path: &ServerPath) -> String {
    let inner = path.as_str().trim_start_matches('/');
    match inner.rsplit_once('/') {
        Some((outer, last)) => format!("{NAMESPACE}.{}/{last}", outer.replace('/', ".")),
        None => format!("{NAMESPACE}/{inner}"),
    }
}

fn find(registry: &Registry, caller: &Caller, wanted: &str) -> Option<Arc<Server>> {
    let catalog = registry.catalog();
    let is_it = |server: &&Arc<Server>| {
        server.is_enabled && caller.may_find(server) && name(&server.path).eq_ignore_ascii_case(wanted)
    };
    catalog.servers.values().find(is_it).cloned()
}

fn no_such(kind: &'static str, name: &str) -> Problem {
    Refusal::NoSuch { kind, name: name.into(), known: Vec::new() }.into()
}

impl RegistryEntry {
    fn of(server: &Server, base: &Base) -> Self {
        let active = server.active();
        // The schema wants some text.
        let description = if active.description.is_empty() { &server.name } else { &active.description };
        let server_json = ServerJson {
            schema: SCHEMA,
            name: name(&server.path),
            title: cut(&server.name),
            description: cut(description),
            version: active.label.to_string(),
            remotes: [Remote { r#type: "streamable-http", url: base.endpoint(server.path.as_str()) }],
        };
        let official = Official {
            status: if active.status == Status::Deprecated { "deprecated" } else { "active" },
            published_at: rfc3339(active.registered_at),
            updated_at: rfc3339(server.updated_at),
            is_latest: true,
        };
        Self { server: server_json, meta: RegistryMeta { official } }
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some(_) => text.chars().take(MAX_TEXT_CHARS - 1).chain(['…']).collect(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests;
