//! Virtual servers: compose, show, edit, switch on and off, delete; the tools behind them, and what a caller
//! would see.

mod body;
mod collisions;
mod document;
mod learn;
mod preview;
mod resolved;
mod resource_routes;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use catalog::Catalog;
use catalog::error::Refusal;
use catalog::name::Slug;
use catalog::time::Timestamp;
use catalog::unreadable::Place;
use catalog::virtual_server::VirtualServer;
use http::StatusCode;
use serde::Deserialize;
use store::change::{Change, Edit, Expect};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::error::Problem;
use super::extract::{Admin, Caller, IfMatch, JsonBody, Named, Paging, Params};
use super::preview::{For, Preview};
use super::tagged::Tagged;
use crate::Registry;
use crate::trail::Trail;
use body::Body;
use document::{Document, Page};
use resolved::Tools;

/// Makes the routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new()
        .routes(routes!(create_virtual_server, list_virtual_servers))
        .routes(routes!(
            show_virtual_server,
            replace_virtual_server,
            edit_virtual_server,
            delete_virtual_server
        ))
        .routes(routes!(toggle_virtual_server))
        .routes(routes!(virtual_server_tools))
        .routes(routes!(preview_virtual_server))
}

/// What narrows the list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// Only those whose path, name, description or tool names contain this text.
    query: Option<String>,
    /// Only those with this tag.
    tag: Option<String>,
    /// Whether disabled ones are listed too.
    #[serde(default)]
    include_disabled: bool,
}

/// Whether a virtual server is routed.
#[derive(Deserialize, ToSchema)]
struct Toggle {
    /// On or off.
    #[serde(alias = "is_enabled")]
    enabled: bool,
}

/// Composes a virtual server
///
/// Every fault is reported at once. It is disabled unless `is_enabled` is true.
#[utoipa::path(post, path = "/api/virtual-servers", tag = "virtual servers", request_body = Body,
    responses((status = 201, description = "It is made", body = Document),
        (status = 409, description = "There is one at this path", body = super::error::ProblemDocument,
            content_type = "application/problem+json")))]
async fn create_virtual_server(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    JsonBody(body): JsonBody<Body>,
) -> Result<Tagged<Document>, Problem> {
    learn::sources(&registry, body.rows()).await;
    let owner = caller.principal.subject.to_string();
    let made = registry.apply_for(&caller.trail, |catalog| {
        let built = body.create(catalog, owner, Timestamp::now())?;
        let slug = built.server.slug.clone();
        let put = Edit::PutVirtualServer(Arc::new(built.server.clone()));
        Ok((Change::new(vec![put]).expecting(Expect::VirtualServer(slug, None)), built))
    });
    let built = made.await?;
    Ok(Tagged { status: StatusCode::CREATED, ..tagged(&registry.catalog(), &built.server, built.warnings) })
}

/// Lists virtual servers
#[utoipa::path(get, path = "/api/virtual-servers", tag = "virtual servers",
    params(Filter, ("limit" = Option<usize>, Query, description = "Most entries, 1 to 1000; 100 by default"),
        ("offset" = Option<usize>, Query, description = "Entries to skip")),
    responses((status = 200, description = "A page of them, by path", body = Page)))]
async fn list_virtual_servers(
    State(registry): State<Arc<Registry>>,
    _: Caller,
    paging: Paging,
    Params(filter): Params<Filter>,
) -> Json<Page> {
    let catalog = registry.catalog();
    let query = filter.query.map(|text| text.trim().to_lowercase());
    let wanted = |one: &&Arc<VirtualServer>| {
        (one.is_enabled || filter.include_disabled)
            && filter.tag.as_ref().is_none_or(|tag| one.tags.contains(tag))
            && query.as_ref().is_none_or(|text| speaks_of(one, text))
    };
    let (page, total_count, has_next) = paging.cut(catalog.virtual_servers.values().filter(wanted).collect());
    let virtual_servers = page.into_iter().map(|one| Document::of(&catalog, one, Vec::new())).collect();
    let (limit, offset) = (paging.limit, paging.offset);
    Json(Page { virtual_servers, total_count, limit, offset, has_next })
}

/// Shows a virtual server
#[utoipa::path(get, path = "/api/virtual-servers/{slug}", tag = "virtual servers",
    params(("slug" = String, Path, description = "`dev-tools` of `/virtual/dev-tools`")),
    responses((status = 200, description = "It", body = Document)))]
async fn show_virtual_server(
    State(registry): State<Arc<Registry>>,
    _: Caller,
    Named(slug): Named,
) -> Result<Tagged<Document>, Problem> {
    let catalog = registry.catalog();
    Ok(tagged(&catalog, require(&catalog, &slug)?, Vec::new()))
}

/// Replaces a virtual server
///
/// Takes the whole document; what is left out gets its default, but `is_enabled` stays as it is. A row that was
/// there before may stay though its tool is gone meanwhile.
#[utoipa::path(put, path = "/api/virtual-servers/{slug}", tag = "virtual servers", request_body = Body,
    params(("slug" = String, Path, description = "`dev-tools` of `/virtual/dev-tools`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that was read")),
    responses((status = 200, description = "It, as it is now", body = Document)))]
async fn replace_virtual_server(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    Named(slug): Named,
    if_match: IfMatch,
    JsonBody(body): JsonBody<Body>,
) -> Result<Tagged<Document>, Problem> {
    learn::sources(&registry, body.rows()).await;
    write(&registry, &caller.trail, &slug, if_match, |catalog, current| {
        body.replace(catalog, current, Timestamp::now())
    })
    .await
}

/// Edits members of a virtual server
///
/// What is left out stays as it is; a list is replaced as a whole.
#[utoipa::path(patch, path = "/api/virtual-servers/{slug}", tag = "virtual servers", request_body = Body,
    params(("slug" = String, Path, description = "`dev-tools` of `/virtual/dev-tools`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that was read")),
    responses((status = 200, description = "It, as it is now", body = Document)))]
async fn edit_virtual_server(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    Named(slug): Named,
    if_match: IfMatch,
    JsonBody(body): JsonBody<Body>,
) -> Result<Tagged<Document>, Problem> {
    learn::sources(&registry, body.rows()).await;
    write(&registry, &caller.trail, &slug, if_match, |catalog, current| {
        body.edit(catalog, current, Timestamp::now())
    })
    .await
}

/// Enables or disables a virtual server
///
/// Enabling checks every row against the servers as they are.
#[utoipa::path(post, path = "/api/virtual-servers/{slug}/toggle", tag = "virtual servers", request_body = Toggle,
    params(("slug" = String, Path, description = "`dev-tools` of `/virtual/dev-tools`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that was read")),
    responses((status = 200, description = "It, as it is now", body = Document)))]
async fn toggle_virtual_server(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    Named(slug): Named,
    if_match: IfMatch,
    JsonBody(toggle): JsonBody<Toggle>,
) -> Result<Tagged<Document>, Problem> {
    if toggle.enabled {
        learn::sources(&registry, require(&registry.catalog(), &slug)?.mappings.clone()).await;
    }
    caller.trail.detail(if toggle.enabled { "enabled" } else { "disabled" });
    let body = Body { is_enabled: Some(toggle.enabled), ..Body::default() };
    write(&registry, &caller.trail, &slug, if_match, |catalog, current| {
        body.edit(catalog, current, Timestamp::now())
    })
    .await
}

/// Deletes a virtual server
///
/// Also one whose stored record cannot be read.
#[utoipa::path(delete, path = "/api/virtual-servers/{slug}", tag = "virtual servers",
    params(("slug" = String, Path, description = "`dev-tools` of `/virtual/dev-tools`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that was read")),
    responses((status = 204, description = "It is gone")))]
async fn delete_virtual_server(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    Named(slug): Named,
    if_match: IfMatch,
) -> Result<StatusCode, Problem> {
    let gone = registry.apply_for(&caller.trail, |catalog| {
        if let Some(damaged) = Slug::parse("slug", &slug)
            .ok()
            .filter(|slug| catalog.unreadable.contains_key(&Place::VirtualServer(slug.clone())))
        {
            return Ok((Change::new(vec![Edit::DeleteVirtualServer(damaged)]), ()));
        }
        let current = require(catalog, &slug)?;
        if_match.check(&current.slug.path(), current.revision)?;
        let expect = Expect::VirtualServer(current.slug.clone(), Some(current.revision));
        Ok((Change::new(vec![Edit::DeleteVirtualServer(current.slug.clone())]).expecting(expect), ()))
    });
    gone.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists the tools behind a virtual server
///
/// In the order clients see, each with the server and version that answers and the scopes it needs. A tool that
/// is gone is `missing`, with the reason. Tools the caller may not use are left out, as they are for clients.
#[utoipa::path(get, path = "/api/virtual-servers/{slug}/tools", tag = "virtual servers",
    params(("slug" = String, Path, description = "`dev-tools` of `/virtual/dev-tools`")),
    responses((status = 200, description = "All of them", body = Tools)))]
async fn virtual_server_tools(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    Named(slug): Named,
) -> Result<Json<Tools>, Problem> {
    let catalog = registry.catalog();
    Ok(Json(Tools::of(&catalog, require(&catalog, &slug)?, &caller.grants)))
}

/// Shows what a caller would see
///
/// Stands in for the subject `as` with the given groups and scopes, else with those of the newest live token
/// issued to it. Says whether they may enter, which tools they see, and which rules hide the others. Only an
/// administrator may stand in for others.
#[utoipa::path(get, path = "/api/virtual-servers/{slug}/preview", tag = "virtual servers",
    params(("slug" = String, Path, description = "`dev-tools` of `/virtual/dev-tools`"), For),
    responses((status = 200, description = "What they would see, and why", body = Preview)))]
async fn preview_virtual_server(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    Named(slug): Named,
    Params(wanted): Params<For>,
) -> Result<Json<Preview>, Problem> {
    let catalog = registry.catalog();
    let server = require(&catalog, &slug)?;
    let viewer = wanted.viewer(&catalog, &caller)?;
    Ok(Json(Preview::of(&catalog, preview::endpoint(&catalog, server), viewer)))
}

/// Makes an edit of one virtual server: finds it, compares revisions, checks, writes, answers with it.
async fn write(
    registry: &Arc<Registry>,
    trail: &Trail,
    slug: &str,
    if_match: IfMatch,
    build: impl FnOnce(&Catalog, &VirtualServer) -> Result<body::Built, Refusal>,
) -> Result<Tagged<Document>, Problem> {
    let written = registry.apply_for(trail, |catalog| {
        let current = require(catalog, slug)?;
        if_match.check(&current.slug.path(), current.revision)?;
        let built = build(catalog, current)?;
        let expect = Expect::VirtualServer(current.slug.clone(), Some(current.revision));
        let put = Edit::PutVirtualServer(Arc::new(built.server.clone()));
        Ok((Change::new(vec![put]).expecting(expect), built))
    });
    let built = written.await?;
    Ok(tagged(&registry.catalog(), &built.server, built.warnings))
}

pub(super) fn require<'a>(catalog: &'a Catalog, slug: &str) -> Result<&'a Arc<VirtualServer>, Refusal> {
    let no_such = || Refusal::NoSuch { kind: "virtual server", name: slug.into(), known: Vec::new() };
    let slug = Slug::parse("slug", slug).map_err(|_| no_such())?;
    catalog.virtual_servers.get(&slug).ok_or_else(no_such)
}

/// Answers with a virtual server as it is.
fn tagged(catalog: &Catalog, server: &VirtualServer, warnings: Vec<String>) -> Tagged<Document> {
    Tagged::ok(server.revision, Document::of(catalog, server, warnings))
}

fn speaks_of(server: &VirtualServer, text: &str) -> bool {
    let words = [server.slug.as_str(), &server.name, &server.description];
    let tools = server.mappings.iter().flat_map(|row| [row.exposed(), &row.tool]);
    server.slug.path() == text
        || words.into_iter().chain(tools).any(|word| word.to_lowercase().contains(text))
}

#[cfg(test)]
mod tests;
