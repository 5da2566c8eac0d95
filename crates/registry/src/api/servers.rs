//! Servers: register, list, show, edit, enable, delete.

mod preview;
mod register;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use catalog::VersionKey;
use catalog::error::Refusal;
use catalog::server::Server;
use catalog::time::Timestamp;
use catalog::unreadable::Place;
use serde::{Deserialize, Serialize};
use store::change::{Change, Edit, Expect};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::document::Document;
use super::edit::{ServerEdit, VersionEdit};
use super::error::{Problem, ProblemDocument};
use super::extract::{Admin, AtServer, Caller, IfMatch, JsonBody, Paging, Params, require_server};
use super::fields::Fields;
use super::permitted::{self, Permitted};
use super::tagged::Tagged;
use crate::Registry;

/// The routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new()
        .routes(routes!(register::register))
        .routes(routes!(list))
        .routes(routes!(show, edit, remove))
        .routes(routes!(toggle))
        .routes(routes!(preview::preview))
}

/// Which servers a list shows.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListParams {
    /// Words that must all be among the tags, with commas between them.
    tag: Option<String>,
    /// A text that the path or the name holds, in any case.
    query: Option<String>,
    /// Whether disabled servers are shown, too.
    include_disabled: Option<bool>,
    /// Most servers to return: 1 to 1000, 100 by default.
    #[expect(dead_code, reason = "read by `Paging`, described here")]
    limit: Option<usize>,
    /// Servers to skip.
    #[expect(dead_code, reason = "read by `Paging`, described here")]
    offset: Option<usize>,
}

/// A page of servers, each with its active version.
#[derive(Serialize, ToSchema)]
struct ServerList {
    /// The servers, by path.
    servers: Vec<Document>,
    /// Number of servers that match.
    total_count: usize,
    /// Most servers on this page.
    limit: usize,
    /// Servers before this page.
    offset: usize,
    /// Whether more follow.
    has_next: bool,
}

/// Enable or disable.
#[derive(Deserialize, ToSchema)]
struct Toggle {
    /// Whether the server is routed.
    #[serde(alias = "is_enabled")]
    enabled: bool,
}

/// What a deletion took away.
#[derive(Serialize, ToSchema)]
struct Removed {
    /// The server that is gone.
    path: String,
    /// Its versions, which are gone too.
    removed_versions: Vec<String>,
    /// Virtual servers that mapped tools of it, and now show them as missing.
    virtual_servers: Vec<String>,
}

/// Lists servers, each with its active version.
#[utoipa::path(get, path = "/api/servers", operation_id = "list_servers", tag = "servers", params(ListParams),
    responses((status = 200, body = ServerList), (status = 401, body = ProblemDocument)))]
async fn list(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    Params(params): Params<ListParams>,
    paging: Paging,
) -> Json<ServerList> {
    let catalog = registry.catalog();
    let query = params.query.unwrap_or_default().trim().to_lowercase();
    let tags: Vec<String> =
        params.tag.unwrap_or_default().split(',').map(|tag| tag.trim().to_lowercase()).collect();
    let matches = |server: &&Arc<Server>| {
        (server.is_enabled || params.include_disabled == Some(true))
            && caller.may_find(server)
            && (server.path.as_str().contains(&query) || server.name.to_lowercase().contains(&query))
            && tags
                .iter()
                .all(|tag| tag.is_empty() || server.tags.iter().any(|one| one.to_lowercase() == *tag))
    };
    let (page, total_count, has_next) = paging.cut(catalog.servers.values().filter(matches).collect());
    let servers = page.into_iter().map(|server| Document::of_server(&registry, &catalog, server)).collect();
    Json(ServerList { servers, total_count, limit: paging.limit, offset: paging.offset, has_next })
}

/// Shows a server with its active version.
#[utoipa::path(get, path = "/api/servers/{path}", operation_id = "show_server", tag = "servers",
    params(("path" = String, Path, description = "Path of the server; may hold slashes")),
    responses((status = 200, body = Document), (status = 404, body = ProblemDocument)))]
async fn show(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    AtServer(path): AtServer,
) -> Result<Tagged<Document>, Problem> {
    let catalog = registry.catalog();
    let server = caller.server(&catalog, &path)?;
    Ok(Tagged::ok(server.revision, Document::of_server(&registry, &catalog, server)))
}

/// Edits a server: what its versions share, and its active version. Members that are absent stay.
#[utoipa::path(patch, path = "/api/servers/{path}", operation_id = "edit_server", tag = "servers",
    params(("path" = String, Path, description = "Path of the server; may hold slashes"),
        ("If-Match" = Option<String>, Header, description = "The revision the edit is based on, in quotes")),
    request_body = register::Registration,
    responses((status = 200, body = Document), (status = 404, body = ProblemDocument),
        (status = 412, body = ProblemDocument), (status = 422, body = ProblemDocument)))]
async fn edit(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    AtServer(path): AtServer,
    if_match: IfMatch,
    mut fields: Fields,
) -> Result<Tagged<Document>, Problem> {
    let shared = ServerEdit::read(&mut fields);
    let own = VersionEdit::read(&mut fields, &registry.parts);
    fields.refuse_rest();
    let faults = fields.into_faults();
    let now = Timestamp::now();
    let changed = registry
        .apply_for(&caller.trail, |catalog| {
            let server = require_server(catalog, &path)?;
            if_match.check(path.as_str(), server.revision)?;
            if !faults.is_empty() {
                return Err(Refusal::Invalid(faults));
            }
            if own.is_empty() {
                return Ok((put(server, server.written(now, |next| shared.apply(next)), Vec::new()), None));
            }
            let active = server.active();
            let version = own.apply(&path, active, now).map_err(|fault| Refusal::Invalid(vec![fault]))?;
            let key = (version.endpoint != active.endpoint).then(|| VersionKey::new(&path, &active.label));
            let mut next = server.replace(version, now)?;
            shared.apply(&mut next);
            Ok((put(server, next, vec![active.label.clone()]), key))
        })
        .await?;
    if let Some(key) = changed {
        registry.hint_changed(key);
    }
    shown(&registry, &path)
}

/// Enables or disables a server. Disabled it is not routed; its data stay.
#[utoipa::path(post, path = "/api/servers/{path}/toggle", operation_id = "toggle_server", tag = "servers",
    params(("path" = String, Path, description = "Path of the server; may hold slashes")),
    request_body = Toggle,
    responses((status = 200, body = Document), (status = 404, body = ProblemDocument)))]
async fn toggle(
    State(registry): State<Arc<Registry>>,
    Permitted(caller, _): Permitted<permitted::Toggle>,
    AtServer(path): AtServer,
    if_match: IfMatch,
    JsonBody(toggle): JsonBody<Toggle>,
) -> Result<Tagged<Document>, Problem> {
    caller.trail.detail(if toggle.enabled { "enabled" } else { "disabled" });
    let now = Timestamp::now();
    let enabled = registry
        .apply_for(&caller.trail, |catalog| {
            let server = require_server(catalog, &path)?;
            if_match.check(path.as_str(), server.revision)?;
            if server.is_enabled == toggle.enabled {
                return Ok((Change::new(Vec::new()), None));
            }
            let next = server.written(now, |next| next.is_enabled = toggle.enabled);
            let key = toggle.enabled.then(|| VersionKey::new(&path, &next.active().label));
            Ok((put(server, next, Vec::new()), key))
        })
        .await?;
    if let Some(key) = enabled {
        registry.hint_changed(key);
    }
    shown(&registry, &path)
}

/// Deletes a server with all its versions, also one whose stored record cannot be read.
#[utoipa::path(delete, path = "/api/servers/{path}", operation_id = "delete_server", tag = "servers",
    params(("path" = String, Path, description = "Path of the server; may hold slashes"),
        ("If-Match" = Option<String>, Header, description = "The revision the edit is based on, in quotes")),
    responses((status = 200, body = Removed), (status = 404, body = ProblemDocument),
        (status = 412, body = ProblemDocument)))]
async fn remove(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    AtServer(path): AtServer,
    if_match: IfMatch,
) -> Result<Json<Removed>, Problem> {
    let removed = registry
        .apply_for(&caller.trail, |catalog| {
            let virtual_servers = catalog.mapped_by(&path, None).iter().map(|slug| slug.path()).collect();
            if catalog.unreadable.contains_key(&Place::Server(path.clone())) {
                let removed =
                    Removed { path: path.to_string(), removed_versions: Vec::new(), virtual_servers };
                return Ok((Change::new(vec![Edit::DeleteServer(path.clone())]), removed));
            }
            let server = require_server(catalog, &path)?;
            if_match.check(path.as_str(), server.revision)?;
            let change = Change::new(vec![Edit::DeleteServer(path.clone())])
                .expecting(Expect::Server(path.clone(), Some(server.revision)));
            let removed = Removed {
                path: path.to_string(),
                removed_versions: server.versions().map(|version| version.label.to_string()).collect(),
                virtual_servers,
            };
            Ok((change, removed))
        })
        .await?;
    Ok(Json(removed))
}

/// Writes a server in place of what it was, with the versions of these labels.
pub(super) fn put(old: &Server, next: Server, versions: Vec<catalog::name::VersionLabel>) -> Change {
    let expected = Expect::Server(old.path.clone(), Some(old.revision));
    Change::new(vec![Edit::PutServer { server: Arc::new(next), versions, removed: Vec::new() }])
        .expecting(expected)
}

/// Shows a server after a write to it.
fn shown(registry: &Registry, path: &catalog::name::ServerPath) -> Result<Tagged<Document>, Problem> {
    let catalog = registry.catalog();
    let server = require_server(&catalog, path)?;
    Ok(Tagged::ok(server.revision, Document::of_server(registry, &catalog, server)))
}

#[cfg(test)]
mod tests;
