//! Scopes: what they are for, what they allow at endpoints, and which groups have them. A scope works without a document.

mod document;
mod import;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use catalog::Catalog;
use catalog::access::Group;
use catalog::error::{Invalid, Refusal};
use catalog::rights::{Place as Endpoint, Rights, ScopeDocument};
use catalog::unreadable::Place;
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use store::change::{Change, Edit, Expect};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::MAX_SCOPES;
use crate::Registry;
use crate::api::error::Problem;
use crate::api::extract::{Admin, Caller, JsonBody, Named, Paging};
use crate::trail::Trail;
use document::{Document, Wanted};

/// Makes the routes of this file.
pub(super) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new()
        .routes(routes!(create_scope, list_scopes))
        .routes(routes!(import_scopes))
        .routes(routes!(show_scope, replace_scope, delete_scope))
}

/// A scope that was written.
#[derive(Serialize, ToSchema)]
#[schema(as = WrittenScope)]
struct Written {
    #[serde(flatten)]
    document: Document,
    /// What is allowed and may still surprise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// What an import wrote.
#[derive(Serialize, ToSchema)]
#[schema(as = ImportedScopes)]
struct Imported {
    /// The scopes, by name.
    scopes: Vec<String>,
    /// What is allowed and may still surprise.
    warnings: Vec<String>,
}

/// A page of scopes.
#[derive(Serialize, ToSchema)]
#[schema(as = ScopePage)]
struct Page {
    /// The entries, by name.
    scopes: Vec<Document>,
    /// Entries on all pages.
    total_count: usize,
    /// Most entries of this page.
    limit: usize,
    /// Entries before this page.
    offset: usize,
    /// Whether there are entries behind this page.
    has_next: bool,
}

/// Describes a scope, and says what it allows
///
/// An endpoint that its `server_access` names is from then on for those alone whose scopes name it.
#[utoipa::path(post, path = "/api/scopes", tag = "groups", request_body = Document,
    responses((status = 201, description = "It is described", body = Written),
        (status = 409, description = "It was described before", body = crate::api::error::ProblemDocument,
            content_type = "application/problem+json")))]
async fn create_scope(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    JsonBody(body): JsonBody<Document>,
) -> Result<(StatusCode, Json<Written>), Problem> {
    let wanted = body.read()?;
    let check = |catalog: &Catalog| match catalog.scopes.contains_key(&wanted.scope) {
        true => Err(Refusal::Exists { kind: "scope", name: wanted.scope.to_string() }),
        false => Ok(()),
    };
    let warnings = write(&registry, &caller.trail, std::slice::from_ref(&wanted), check).await?;
    Ok((StatusCode::CREATED, Json(written(&registry, &wanted, warnings))))
}

/// Lists the scopes that are described
#[utoipa::path(get, path = "/api/scopes", tag = "groups",
    params(("limit" = Option<usize>, Query, description = "Most entries, 1 to 1000; 100 by default"),
        ("offset" = Option<usize>, Query, description = "Entries to skip")),
    responses((status = 200, description = "A page of them, by name; what they allow and who has them is for administrators", body = Page)))]
async fn list_scopes(State(registry): State<Arc<Registry>>, caller: Caller, paging: Paging) -> Json<Page> {
    let catalog = registry.catalog();
    let (page, total_count, has_next) = paging.cut(catalog.scopes.iter().collect());
    let scopes = page.into_iter().map(|(scope, document)| match caller.principal.is_admin {
        true => Document::of(scope, document, &catalog),
        false => {
            let bare = ScopeDocument::described(document.description.as_str());
            Document::of(scope, &bare, &Catalog::default())
        }
    });
    let scopes = scopes.collect();
    Json(Page { scopes, total_count, limit: paging.limit, offset: paging.offset, has_next })
}

/// Shows a scope with what it allows and the groups that have it
#[utoipa::path(get, path = "/api/scopes/{name}", tag = "groups",
    params(("name" = String, Path, description = "Its name")),
    responses((status = 200, description = "It", body = Document)))]
async fn show_scope(
    State(registry): State<Arc<Registry>>,
    _: Admin,
    Named(name): Named,
) -> Result<Json<Document>, Problem> {
    let catalog = registry.catalog();
    let (scope, document) = catalog.scopes.get_key_value(name.as_str()).ok_or_else(|| no_such(&name))?;
    Ok(Json(Document::of(scope, document, &catalog)))
}

/// Replaces what a scope is for and what it allows
///
/// Groups change only where `group_mappings` is given.
#[utoipa::path(put, path = "/api/scopes/{name}", tag = "groups", request_body = Document,
    params(("name" = String, Path, description = "Its name")),
    responses((status = 200, description = "It, as it is now", body = Written)))]
async fn replace_scope(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    Named(name): Named,
    JsonBody(mut body): JsonBody<Document>,
) -> Result<Json<Written>, Problem> {
    if body.name.is_empty() {
        body.name.clone_from(&name);
    }
    let wanted = body.read()?;
    if wanted.scope.as_str() != name {
        let reason = format!("this is the scope {name}, and it keeps its name");
        return Err(Refusal::Invalid(vec![Invalid::new("name", reason)]).into());
    }
    let check = |catalog: &Catalog| match catalog.scopes.contains_key(&wanted.scope) {
        true => Ok(()),
        false => Err(no_such(&name)),
    };
    let warnings = write(&registry, &caller.trail, std::slice::from_ref(&wanted), check).await?;
    Ok(Json(written(&registry, &wanted, warnings)))
}

/// Imports scopes of the original registry
///
/// Takes one scope document, a list of them, or the original's file of all scopes as JSON. Scopes of the same name are
/// replaced.
#[utoipa::path(post, path = "/api/scopes/import", tag = "groups", request_body = Value,
    responses((status = 200, description = "They are written, all or none", body = Imported)))]
async fn import_scopes(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    JsonBody(body): JsonBody<Value>,
) -> Result<Json<Imported>, Problem> {
    let wanted = import::read(body)?;
    let warnings = write(&registry, &caller.trail, &wanted, |_| Ok(())).await?;
    Ok(Json(Imported { scopes: wanted.iter().map(|one| one.scope.to_string()).collect(), warnings }))
}

/// Deletes a scope's document
///
/// Whoever requires or grants the scope goes on doing so. What it allowed at endpoints it allows no more.
#[utoipa::path(delete, path = "/api/scopes/{name}", tag = "groups",
    params(("name" = String, Path, description = "Its name")),
    responses((status = 204, description = "It is gone")))]
async fn delete_scope(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    Named(name): Named,
) -> Result<StatusCode, Problem> {
    let gone = registry.apply_for(&caller.trail, |catalog| {
        let Some((scope, _)) = catalog.scopes.get_key_value(name.as_str()) else {
            return Err(no_such(&name));
        };
        Ok((Change::new(vec![Edit::DeleteScope(scope.clone())]), ()))
    });
    gone.await?;
    Ok(StatusCode::NO_CONTENT)
}

fn no_such(name: &str) -> Refusal {
    Refusal::NoSuch { kind: "scope", name: name.to_owned(), known: Vec::new() }
}

fn written(registry: &Registry, wanted: &Wanted, warnings: Vec<String>) -> Written {
    Written { document: Document::of(&wanted.scope, &wanted.document, &registry.catalog()), warnings }
}

/// Writes scopes and the groups that have them, all or none; returns warnings.
async fn write(
    registry: &Arc<Registry>,
    trail: &Trail,
    wanted: &[Wanted],
    check: impl Fn(&Catalog) -> Result<(), Refusal>,
) -> Result<Vec<String>, Problem> {
    let written = registry.apply_for(trail, |catalog| {
        check(catalog)?;
        let mut change = Change::default();
        for one in wanted {
            change.edits.push(Edit::PutScope(one.scope.clone(), Arc::new(one.document.clone())));
        }
        let mut faults = Vec::new();
        for group in regrouped(catalog, wanted) {
            let old = catalog.groups.get(&group.name).map(|old| old.revision);
            if old.is_none() {
                catalog.check_readable(&Place::Group(group.name.clone()))?;
            }
            if group.scopes.len() > MAX_SCOPES {
                let reason = format!("{} would have more than {MAX_SCOPES} scopes", group.name);
                faults.push(Invalid::new("group_mappings", reason));
            }
            change.expects.push(Expect::Group(group.name.clone(), old));
            change.edits.push(Edit::PutGroup(Arc::new(group)));
        }
        if faults.is_empty() {
            Ok((change, warnings(catalog, wanted)))
        } else {
            Err(Refusal::Invalid(faults))
        }
    });
    Ok(written.await?)
}

/// Returns the groups that change, as they will be.
fn regrouped(catalog: &Catalog, wanted: &[Wanted]) -> Vec<Group> {
    let mut changed: BTreeMap<&str, Group> = BTreeMap::new();
    for one in wanted {
        let Some(members) = &one.groups else { continue };
        let fresh = |name: &str| Group {
            name: name.to_owned(),
            description: String::new(),
            scopes: Vec::new(),
            revision: 0,
        };
        let known =
            catalog.groups.keys().chain(members.iter().filter(|name| !catalog.groups.contains_key(*name)));
        for name in known {
            let now = changed.get(name.as_str()).or_else(|| catalog.groups.get(name).map(|group| &**group));
            let (has, is_to) =
                (now.is_some_and(|group| group.scopes.contains(&one.scope)), members.contains(name));
            if has == is_to {
                continue;
            }
            let mut group = now.cloned().unwrap_or_else(|| fresh(name));
            match is_to {
                true => group.scopes.push(one.scope.clone()),
                false => group.scopes.retain(|scope| *scope != one.scope),
            }
            changed.insert(name, group);
        }
    }
    let revised = |mut group: Group| {
        group.revision += 1;
        group
    };
    changed.into_values().map(revised).collect()
}

/// Says what will be closed to others from now on, and which endpoints are named that are not there.
fn warnings(catalog: &Catalog, wanted: &[Wanted]) -> Vec<String> {
    let before = Rights::of(&catalog.scopes);
    let mut warnings = Vec::new();
    for access in wanted.iter().flat_map(|one| &one.document.access) {
        let (path, is_there) = match &access.at {
            Endpoint::Everywhere => ("every endpoint", true),
            Endpoint::Path(path) => (&**path, is_endpoint(catalog, path)),
        };
        let warning = if !is_there {
            format!("nothing is registered at {path}")
        } else if before.guard(access.at.as_str()).is_none() {
            format!("{path} is now for administrators and holders of scopes that name it")
        } else {
            continue;
        };
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

fn is_endpoint(catalog: &Catalog, path: &str) -> bool {
    match path.strip_prefix("/virtual/") {
        Some(slug) => catalog.virtual_servers.contains_key(slug),
        None => catalog.servers.contains_key(path),
    }
}
