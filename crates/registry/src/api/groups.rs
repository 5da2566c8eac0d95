//! Groups, which grant scopes to those whose token names them; and descriptions of scopes.

mod scopes;

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use catalog::Catalog;
use catalog::access::{Group, Scope};
use catalog::error::{Invalid, Refusal};
use catalog::name::MAX_SCOPE_BYTES;
use catalog::prose::check_prose;
use catalog::unreadable::Place;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::change::{Change, Edit, Expect};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::error::Problem;
use super::extract::{Admin, IfMatch, JsonBody, Named, Paging};
use super::tagged::Tagged;
use crate::Registry;
use crate::trail::Trail;

/// Most scopes one group grants; each is compared on every request of its members.
const MAX_SCOPES: usize = 1000;
/// Most groups that a token names, and most scopes that a token, a virtual server or one of its tools lists.
pub(super) const MAX_LISTED: usize = 100;

/// Makes the routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new()
        .routes(routes!(create_group, list_groups))
        .routes(routes!(show_group, replace_group, edit_group, delete_group))
        .merge(scopes::routes())
}

/// A group.
#[derive(Serialize, ToSchema)]
#[schema(as = Group)]
struct Document {
    /// Its name, as tokens give it.
    name: String,
    /// What it is for.
    description: String,
    /// What its members may do.
    scopes: Vec<String>,
    /// Moves with every write; what `If-Match` compares.
    revision: u64,
}

/// What a group is made of.
#[derive(Deserialize, ToSchema)]
#[schema(as = GroupBody)]
#[schema(example = json!({"name": "developers", "description": "Build things", "scopes": ["mcp-access", "github-write"]}))]
struct Body {
    /// Its name, as tokens give it. Required to make one; cannot be changed.
    name: Option<String>,
    /// What it is for.
    description: Option<String>,
    /// What its members may do. A scope need not be described to be granted.
    scopes: Option<Vec<String>>,
}

/// A page of groups.
#[derive(Serialize, ToSchema)]
#[schema(as = GroupPage)]
struct Page {
    /// The entries, by name.
    groups: Vec<Document>,
    /// Entries on all pages.
    total_count: usize,
    /// Most entries of this page.
    limit: usize,
    /// Entries before this page.
    offset: usize,
    /// Whether there are entries behind this page.
    has_next: bool,
}

/// Makes a group
#[utoipa::path(post, path = "/api/groups", tag = "groups", request_body = Body,
    responses((status = 201, description = "It is made", body = Document),
        (status = 409, description = "There is one of this name", body = super::error::ProblemDocument,
            content_type = "application/problem+json")))]
async fn create_group(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    JsonBody(body): JsonBody<Body>,
) -> Result<Tagged<Document>, Problem> {
    let made = registry.apply_for(&caller.trail, |catalog| {
        let mut faults = Vec::new();
        let name = body.name.clone().unwrap_or_default().trim().to_owned();
        faults.extend(bad_name(&name));
        if catalog.groups.contains_key(&name) {
            return Err(Refusal::Exists { kind: "group", name });
        }
        catalog.check_readable(&Place::Group(name.clone()))?;
        let base = Group { name: name.clone(), description: String::new(), scopes: Vec::new(), revision: 1 };
        let group = body.build(base, faults)?;
        let put = Edit::PutGroup(Arc::new(group.clone()));
        Ok((Change::new(vec![put]).expecting(Expect::Group(name, None)), group))
    });
    Ok(Tagged { status: StatusCode::CREATED, ..tagged(&made.await?) })
}

/// Lists groups
#[utoipa::path(get, path = "/api/groups", tag = "groups",
    params(("limit" = Option<usize>, Query, description = "Most entries, 1 to 1000; 100 by default"),
        ("offset" = Option<usize>, Query, description = "Entries to skip")),
    responses((status = 200, description = "A page of them, by name", body = Page)))]
async fn list_groups(State(registry): State<Arc<Registry>>, _: Admin, paging: Paging) -> Json<Page> {
    let catalog = registry.catalog();
    let (page, total_count, has_next) = paging.cut(catalog.groups.values().collect());
    let groups = page.into_iter().map(|group| Document::of(group)).collect();
    Json(Page { groups, total_count, limit: paging.limit, offset: paging.offset, has_next })
}

/// Shows a group
#[utoipa::path(get, path = "/api/groups/{name}", tag = "groups",
    params(("name" = String, Path, description = "Its name")),
    responses((status = 200, description = "It", body = Document)))]
async fn show_group(
    State(registry): State<Arc<Registry>>,
    _: Admin,
    Named(name): Named,
) -> Result<Tagged<Document>, Problem> {
    Ok(tagged(require(&registry.catalog(), &name)?))
}

/// Replaces a group
///
/// What is left out gets its default. Holds for the next request of its members.
#[utoipa::path(put, path = "/api/groups/{name}", tag = "groups", request_body = Body,
    params(("name" = String, Path, description = "Its name"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that was read")),
    responses((status = 200, description = "It, as it is now", body = Document)))]
async fn replace_group(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    Named(name): Named,
    if_match: IfMatch,
    JsonBody(body): JsonBody<Body>,
) -> Result<Tagged<Document>, Problem> {
    let blank = |current: &Group| Group { description: String::new(), scopes: Vec::new(), ..current.clone() };
    write(&registry, &caller.trail, &name, if_match, body, blank).await
}

/// Edits members of a group
///
/// What is left out stays as it is. Holds for the next request of its members.
#[utoipa::path(patch, path = "/api/groups/{name}", tag = "groups", request_body = Body,
    params(("name" = String, Path, description = "Its name"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that was read")),
    responses((status = 200, description = "It, as it is now", body = Document)))]
async fn edit_group(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    Named(name): Named,
    if_match: IfMatch,
    JsonBody(body): JsonBody<Body>,
) -> Result<Tagged<Document>, Problem> {
    write(&registry, &caller.trail, &name, if_match, body, Group::clone).await
}

/// Deletes a group
///
/// Tokens that name it lose what it granted.
#[utoipa::path(delete, path = "/api/groups/{name}", tag = "groups",
    params(("name" = String, Path, description = "Its name"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that was read")),
    responses((status = 204, description = "It is gone")))]
async fn delete_group(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    Named(name): Named,
    if_match: IfMatch,
) -> Result<StatusCode, Problem> {
    let gone = registry.apply_for(&caller.trail, |catalog| {
        if catalog.unreadable.contains_key(&Place::Group(name.clone())) {
            return Ok((Change::new(vec![Edit::DeleteGroup(name.clone())]), ()));
        }
        let current = require(catalog, &name)?;
        if_match.check(&format!("group {name}"), current.revision)?;
        let expect = Expect::Group(name.clone(), Some(current.revision));
        Ok((Change::new(vec![Edit::DeleteGroup(name.clone())]).expecting(expect), ()))
    });
    gone.await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn write(
    registry: &Arc<Registry>,
    trail: &Trail,
    name: &str,
    if_match: IfMatch,
    body: Body,
    base: fn(&Group) -> Group,
) -> Result<Tagged<Document>, Problem> {
    let written = registry.apply_for(trail, |catalog| {
        let current = require(catalog, name)?;
        if_match.check(&format!("group {name}"), current.revision)?;
        let mut faults = Vec::new();
        if body.name.as_ref().is_some_and(|other| other.trim() != name) {
            faults.push(Invalid::new("name", format!("this is the group {name}, and it keeps its name")));
        }
        let group = body.build(Group { revision: current.revision + 1, ..base(current) }, faults)?;
        let expect = Expect::Group(name.to_owned(), Some(current.revision));
        Ok((Change::new(vec![Edit::PutGroup(Arc::new(group.clone()))]).expecting(expect), group))
    });
    Ok(tagged(&written.await?))
}

impl Body {
    fn build(self, base: Group, mut faults: Vec<Invalid>) -> Result<Group, Refusal> {
        let mut group = base;
        faults.extend(self.description.as_ref().and_then(|text| check_prose("description", text).err()));
        group.description = self.description.unwrap_or(group.description);
        if let Some(scopes) = self.scopes {
            group.scopes = read_scopes("scopes", &scopes, MAX_SCOPES, &mut faults);
        }
        if faults.is_empty() { Ok(group) } else { Err(Refusal::Invalid(faults)) }
    }
}

/// Checks a list of scopes, at most `most`; says of each bad one why.
pub(super) fn read_scopes(
    field: &str,
    texts: &[String],
    most: usize,
    faults: &mut Vec<Invalid>,
) -> Vec<Scope> {
    if texts.len() > most {
        faults.push(Invalid::new(field, format!("has more than {most} scopes")));
        return Vec::new();
    }
    let (mut scopes, mut seen) = (Vec::new(), HashSet::new());
    for (index, text) in texts.iter().enumerate() {
        match Scope::parse(&format!("{field}[{index}]"), text.trim()) {
            Ok(scope) if seen.insert(scope.clone()) => scopes.push(scope),
            Ok(_) => {}
            Err(fault) => faults.push(fault),
        }
    }
    scopes
}

/// Says what is wrong with the name of a group. Identity providers send slashes, blanks and any script.
fn bad_name(name: &str) -> Option<Invalid> {
    if name.is_empty() {
        return Some(Invalid::new("name", "is required"));
    }
    if matches!(name, "." | "..") {
        return Some(Invalid::new("name", format!("{name:?} has a meaning of its own in URLs")));
    }
    let is_bad = name.len() > MAX_SCOPE_BYTES || name.chars().any(|c| c.is_control() || c == ',');
    let reason =
        || format!("{name:?} must be at most {MAX_SCOPE_BYTES} bytes, without commas or control characters");
    is_bad.then(|| Invalid::new("name", reason()))
}

/// Checks the names of groups that a token is to name.
pub(super) fn read_names(field: &str, names: &[String], faults: &mut Vec<Invalid>) -> Vec<String> {
    if names.len() > MAX_LISTED {
        faults.push(Invalid::new(field, format!("has more than {MAX_LISTED} groups")));
        return Vec::new();
    }
    let (mut kept, mut seen) = (Vec::new(), HashSet::new());
    for (index, name) in names.iter().map(|name| name.trim()).enumerate() {
        match bad_name(name) {
            Some(fault) => faults.push(Invalid::new(format!("{field}[{index}]"), fault.reason)),
            None if seen.insert(name) => kept.push(name.to_owned()),
            None => {}
        }
    }
    kept
}

fn require<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Arc<Group>, Refusal> {
    let known = || catalog.groups.keys().take(20).cloned().collect();
    let no_such = || Refusal::NoSuch { kind: "group", name: name.into(), known: known() };
    catalog.groups.get(name).ok_or_else(no_such)
}

fn tagged(group: &Group) -> Tagged<Document> {
    Tagged::ok(group.revision, Document::of(group))
}

impl Document {
    fn of(group: &Group) -> Self {
        Self {
            name: group.name.clone(),
            description: group.description.clone(),
            scopes: group.scopes.iter().map(ToString::to_string).collect(),
            revision: group.revision,
        }
    }
}

#[cfg(test)]
mod tests;
