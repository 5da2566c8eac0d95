//! Descriptions of scopes, so that people know what they grant. A scope works without one.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use catalog::access::Scope;
use catalog::error::Refusal;
use catalog::prose::check_prose;
use http::StatusCode;
use http::request::Parts;
use serde::{Deserialize, Serialize};
use store::change::{Change, Edit};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::Registry;
use crate::api::error::Problem;
use crate::api::extract::{Admin, Caller, JsonBody, Paging, part};

/// Makes the routes of this file.
pub(super) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(describe_scope, list_scopes)).routes(routes!(delete_scope))
}

/// A scope and what it allows.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Scope)]
#[schema(example = json!({"name": "github-write", "description": "Change repositories"}))]
struct Document {
    /// Its name.
    name: String,
    /// What it allows, for people.
    #[serde(default)]
    description: String,
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

/// What the path of the request names.
struct At(String);

impl FromRequestParts<Arc<Registry>> for At {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, registry: &Arc<Registry>) -> Result<Self, Problem> {
        part(parts, registry, "name").await.map(Self)
    }
}

/// Describes a scope
#[utoipa::path(post, path = "/api/scopes", tag = "groups", request_body = Document,
    responses((status = 201, description = "It is described", body = Document),
        (status = 409, description = "It was described before", body = crate::api::error::ProblemDocument,
            content_type = "application/problem+json")))]
async fn describe_scope(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    JsonBody(body): JsonBody<Document>,
) -> Result<(StatusCode, Json<Document>), Problem> {
    let scope = Scope::parse("name", body.name.trim())?;
    check_prose("description", &body.description)?;
    let made = registry.apply_for(&caller.trail, |catalog| {
        if catalog.scopes.contains_key(&scope) {
            return Err(Refusal::Exists { kind: "scope", name: scope.to_string() });
        }
        Ok((Change::new(vec![Edit::PutScope(scope.clone(), body.description.clone())]), ()))
    });
    made.await?;
    Ok((StatusCode::CREATED, Json(Document { name: scope.to_string(), description: body.description })))
}

/// Lists the scopes that are described
#[utoipa::path(get, path = "/api/scopes", tag = "groups",
    params(("limit" = Option<usize>, Query, description = "Most entries, 1 to 1000; 100 by default"),
        ("offset" = Option<usize>, Query, description = "Entries to skip")),
    responses((status = 200, description = "A page of them, by name", body = Page)))]
async fn list_scopes(State(registry): State<Arc<Registry>>, _: Caller, paging: Paging) -> Json<Page> {
    let catalog = registry.catalog();
    let (page, total_count, has_next) = paging.cut(catalog.scopes.iter().collect());
    let document =
        |(name, text): (&Scope, &String)| Document { name: name.to_string(), description: text.clone() };
    let scopes = page.into_iter().map(document).collect();
    Json(Page { scopes, total_count, limit: paging.limit, offset: paging.offset, has_next })
}

/// Deletes a scope's description
///
/// Whoever requires or grants the scope goes on doing so.
#[utoipa::path(delete, path = "/api/scopes/{name}", tag = "groups",
    params(("name" = String, Path, description = "Its name")),
    responses((status = 204, description = "It is gone")))]
async fn delete_scope(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    At(name): At,
) -> Result<StatusCode, Problem> {
    let gone = registry.apply_for(&caller.trail, |catalog| {
        let Some((scope, _)) = catalog.scopes.get_key_value(name.as_str()) else {
            return Err(Refusal::NoSuch { kind: "scope", name: name.clone(), known: Vec::new() });
        };
        Ok((Change::new(vec![Edit::DeleteScope(scope.clone())]), ()))
    });
    gone.await?;
    Ok(StatusCode::NO_CONTENT)
}
