//! Versions of a server: list, switch, show, edit, remove, compare, and what each offers.

mod offer;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use catalog::error::Refusal;
use catalog::name::{ServerPath, VersionLabel};
use catalog::time::Timestamp;
use catalog::unreadable::Place;
use catalog::{Catalog, VersionKey};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::change::{Change, Edit, Expect};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::document::Document;
use super::edit::VersionEdit;
use super::error::{Problem, ProblemDocument};
use super::extract::{Admin, AtServer, AtVersion, Caller, IfMatch, JsonBody, Params, require_server};
use super::fields::Fields;
use super::permitted::{self, Permitted};
use super::servers::put;
use super::tagged::Tagged;
use crate::Registry;

/// The routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(activate))
        .routes(routes!(show, edit, remove))
        .merge(offer::routes())
}

/// The versions of a server.
#[derive(Serialize, ToSchema)]
struct VersionList {
    /// The server.
    path: String,
    /// What people call it.
    server_name: String,
    /// Label of the active version.
    default_version: String,
    /// Moves with every write to the server or a version of it.
    revision: u64,
    /// All versions, by label.
    versions: Vec<Document>,
}

/// Which version to make active.
#[derive(Deserialize, ToSchema)]
struct Switch {
    /// Its label.
    #[schema(examples("v2.0.0"))]
    version: String,
    /// Whether to ask its backend first, and refuse where it does not answer.
    #[serde(default)]
    preflight: bool,
}

/// The outcome of a switch.
#[derive(Serialize, ToSchema)]
struct Switched {
    /// What happened, in words.
    message: String,
    /// The server.
    path: String,
    /// Label of the version that is active now.
    default_version: String,
    /// Label of the version that was active before.
    previous_version: String,
    /// The revision after the switch.
    revision: u64,
}

/// How to remove a version.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct RemoveParams {
    /// Whether to remove it though virtual servers pin it.
    #[serde(default)]
    force: bool,
}

/// A version that is gone.
#[derive(Serialize, ToSchema)]
struct RemovedVersion {
    /// The server.
    path: String,
    /// Label of the version that is gone.
    version: String,
    /// Virtual servers that pinned it, and now show the mapping as missing.
    virtual_servers: Vec<String>,
}

/// Lists the versions of a server.
#[utoipa::path(get, path = "/api/servers/{path}/versions", operation_id = "list_versions", tag = "versions",
    params(("path" = String, Path, description = "Path of the server; may hold slashes")),
    responses((status = 200, body = VersionList), (status = 404, body = ProblemDocument)))]
async fn list(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    AtServer(path): AtServer,
) -> Result<Tagged<VersionList>, Problem> {
    let catalog = registry.catalog();
    let server = caller.server(&catalog, &path)?;
    let versions = server.versions();
    let body = VersionList {
        path: path.to_string(),
        server_name: server.name.clone(),
        default_version: server.active().label.to_string(),
        revision: server.revision,
        versions: versions.map(|one| Document::of_version(&registry, &catalog, server, one)).collect(),
    };
    Ok(Tagged::ok(server.revision, body))
}

/// Makes a version active. The next request that names no version goes to it; nothing else changes.
#[utoipa::path(put, path = "/api/servers/{path}/versions/default", operation_id = "activate_version", tag = "versions",
    params(("path" = String, Path, description = "Path of the server; may hold slashes"),
        ("If-Match" = Option<String>, Header, description = "The revision the switch is based on, in quotes")),
    request_body = Switch,
    responses((status = 200, body = Switched), (status = 404, body = ProblemDocument),
        (status = 409, description = "The preflight failed", body = ProblemDocument),
        (status = 412, body = ProblemDocument)))]
async fn activate(
    State(registry): State<Arc<Registry>>,
    Permitted(caller, _): Permitted<permitted::Modify>,
    AtServer(path): AtServer,
    if_match: IfMatch,
    JsonBody(switch): JsonBody<Switch>,
) -> Result<Tagged<Switched>, Problem> {
    let label = switch.version.trim();
    if switch.preflight {
        let catalog = registry.catalog();
        let server = require_server(&catalog, &path)?;
        if_match.check(path.as_str(), server.revision)?;
        let key = VersionKey::new(&path, &server.require(label)?.label);
        if let Err(error) = registry.refresh(&key).await {
            let detail = format!("not switched: {error}");
            return Err(Problem::new(StatusCode::CONFLICT, detail));
        }
    }
    let now = Timestamp::now();
    let switched = registry
        .apply_for(&caller.trail, |catalog| {
            let server = require_server(catalog, &path)?;
            if_match.check(path.as_str(), server.revision)?;
            let previous = server.active().label.to_string();
            caller.trail.detail(format!("{previous} -> {label}"));
            if server.require(label)?.label == server.active().label {
                return Ok((Change::new(Vec::new()), (previous, server.revision)));
            }
            let next = server.activate(label, now)?;
            let revision = next.revision;
            Ok((put(server, next, Vec::new()), (previous, revision)))
        })
        .await?;
    let (previous_version, revision) = switched;
    let message = if previous_version == label {
        format!("{label} is the active version of {path} already")
    } else {
        let catalog = registry.catalog();
        if let Some(version) = catalog.servers.get(&path).and_then(|server| server.version(label)) {
            registry.hint_changed(VersionKey::new(&path, &version.label));
        }
        tracing::info!(server.path = %path, from = %previous_version, to = %label, "active version switched");
        format!("{label} is the active version of {path} now, in place of {previous_version}")
    };
    let (path, default_version) = (path.to_string(), label.to_owned());
    Ok(Tagged::ok(revision, Switched { message, path, default_version, previous_version, revision }))
}

/// Shows a version.
#[utoipa::path(get, path = "/api/servers/{path}/versions/{label}", operation_id = "show_version", tag = "versions",
    params(("path" = String, Path, description = "Path of the server; may hold slashes"),
        ("label" = String, Path, description = "Label of the version")),
    responses((status = 200, body = Document), (status = 404, body = ProblemDocument)))]
async fn show(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    AtVersion { path, label }: AtVersion,
) -> Result<Tagged<Document>, Problem> {
    let catalog = registry.catalog();
    let server = caller.server(&catalog, &path)?;
    let version = server.require(&label)?;
    Ok(Tagged::ok(server.revision, Document::of_version(&registry, &catalog, server, version)))
}

/// Edits a version: URL, status, dates, description, credentials. Members that are absent stay.
#[utoipa::path(patch, path = "/api/servers/{path}/versions/{label}", operation_id = "edit_version", tag = "versions",
    params(("path" = String, Path, description = "Path of the server; may hold slashes"),
        ("label" = String, Path, description = "Label of the version"),
        ("If-Match" = Option<String>, Header, description = "The revision the edit is based on, in quotes")),
    request_body(description = "The members of a registration that belong to a version", content = serde_json::Value),
    responses((status = 200, body = Document), (status = 404, body = ProblemDocument),
        (status = 412, body = ProblemDocument), (status = 422, body = ProblemDocument)))]
async fn edit(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    AtVersion { path, label }: AtVersion,
    if_match: IfMatch,
    mut fields: Fields,
) -> Result<Tagged<Document>, Problem> {
    let own = VersionEdit::read(&mut fields, &registry.parts);
    fields.refuse_rest();
    let faults = fields.into_faults();
    let now = Timestamp::now();
    let moved = registry
        .apply_for(&caller.trail, |catalog| {
            let server = require_server(catalog, &path)?;
            if_match.check(path.as_str(), server.revision)?;
            let version = server.require(&label)?;
            if !faults.is_empty() {
                return Err(Refusal::Invalid(faults));
            }
            if own.is_empty() {
                return Ok((Change::new(Vec::new()), None));
            }
            let next = own.apply(&path, version, now).map_err(|fault| Refusal::Invalid(vec![fault]))?;
            let key = (next.endpoint != version.endpoint).then(|| VersionKey::new(&path, &version.label));
            let label = version.label.clone();
            Ok((put(server, server.replace(next, now)?, vec![label]), key))
        })
        .await?;
    if let Some(key) = moved {
        registry.hint_changed(key);
    }
    let catalog = registry.catalog();
    let server = require_server(&catalog, &path)?;
    let version = server.require(&label)?;
    Ok(Tagged::ok(server.revision, Document::of_version(&registry, &catalog, server, version)))
}

/// Removes an inactive version. One that virtual servers pin is removed only with `force`.
#[utoipa::path(delete, path = "/api/servers/{path}/versions/{label}", operation_id = "delete_version", tag = "versions",
    params(("path" = String, Path, description = "Path of the server; may hold slashes"),
        ("label" = String, Path, description = "Label of the version"), RemoveParams,
        ("If-Match" = Option<String>, Header, description = "The revision the edit is based on, in quotes")),
    responses((status = 200, body = RemovedVersion), (status = 404, body = ProblemDocument),
        (status = 409, description = "It is active, or pinned", body = ProblemDocument),
        (status = 412, body = ProblemDocument)))]
async fn remove(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    AtVersion { path, label }: AtVersion,
    if_match: IfMatch,
    Params(params): Params<RemoveParams>,
) -> Result<Json<RemovedVersion>, Problem> {
    let now = Timestamp::now();
    let pinned_by = registry
        .apply_for(&caller.trail, |catalog| {
            let server = require_server(catalog, &path)?;
            if_match.check(path.as_str(), server.revision)?;
            if let Some(damaged) = damaged(catalog, &path, &label) {
                let next = Arc::new(server.written(now, |_| {}));
                let edit = Edit::PutServer { server: next, versions: Vec::new(), removed: vec![damaged] };
                let expected = Expect::Server(path.clone(), Some(server.revision));
                return Ok((Change::new(vec![edit]).expecting(expected), Vec::new()));
            }
            let checked = server.require(&label)?.label.clone();
            let next = server.remove(&label, now)?;
            let by = catalog.mapped_by(&path, Some(&checked));
            if !by.is_empty() && !params.force {
                return Err(Refusal::Pinned { path: path.to_string(), label: label.clone(), by });
            }
            let edit =
                Edit::PutServer { server: Arc::new(next), versions: Vec::new(), removed: vec![checked] };
            let expected = Expect::Server(path.clone(), Some(server.revision));
            Ok((Change::new(vec![edit]).expecting(expected), by))
        })
        .await?;
    let virtual_servers = pinned_by.iter().map(|slug| slug.path()).collect();
    Ok(Json(RemovedVersion { path: path.to_string(), version: label, virtual_servers }))
}

/// Returns the label of a version whose stored record cannot be read.
fn damaged(catalog: &Catalog, path: &ServerPath, label: &str) -> Option<VersionLabel> {
    let label = VersionLabel::parse("label", label).ok()?;
    catalog.unreadable.contains_key(&Place::Version(VersionKey::new(path, &label))).then_some(label)
}

#[cfg(test)]
mod tests;
