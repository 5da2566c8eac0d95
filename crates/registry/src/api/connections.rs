//! What users allowed the gateway to do for them at backends: listed, and taken back.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use catalog::Catalog;
use catalog::connection::{Connection, User};
use catalog::error::Refusal;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::change::{Change, Edit};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::document::rfc3339;
use super::error::Problem;
use super::extract::{Caller, Named, Paging, Params};
use crate::Registry;

/// Makes the routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(list_connections)).routes(routes!(delete_connection))
}

/// Which connections are wanted.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// Those of everybody, for administrators; else the caller's own.
    #[serde(default)]
    everybody: bool,
}

/// A connection. Its tokens are never shown.
#[derive(Serialize, ToSchema)]
#[schema(as = Connection)]
struct Document {
    /// Names it.
    id: String,
    /// The server it is with.
    server: String,
    /// Who allowed it.
    subject: String,
    /// Who vouches for them; empty where the gateway does.
    issuer: String,
    /// The scopes that were granted, as far as they are known.
    scope: String,
    /// Whether it goes on without the user when its token ends.
    is_renewable: bool,
    /// When it was allowed.
    created_at: String,
    /// When its tokens were last renewed.
    updated_at: String,
    /// When the token at hand ends.
    expires_at: String,
}

/// A page of connections.
#[derive(Serialize, ToSchema)]
#[schema(as = Connections)]
struct Page {
    connections: Vec<Document>,
    total_count: usize,
    limit: usize,
    offset: usize,
    has_next: bool,
}

/// Lists what the caller allowed the gateway to do for them at backends
#[utoipa::path(get, path = "/api/connections", tag = "connections", params(Filter),
    responses((status = 200, description = "The caller's, or everybody's", body = Page)))]
async fn list_connections(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    Params(filter): Params<Filter>,
    paging: Paging,
) -> Result<Json<Page>, Problem> {
    let is_admin = caller.principal.is_admin;
    if filter.everybody && !is_admin {
        let detail = "only administrators see the connections of others";
        return Err(Problem::new(StatusCode::FORBIDDEN, detail));
    }
    let (catalog, user) = (registry.catalog(), User::of(&caller.principal));
    let wanted = |one: &&Arc<Connection>| filter.everybody || one.key.user == user;
    let (page, total_count, has_next) = paging.cut(catalog.connections.values().filter(wanted).collect());
    let connections = page.into_iter().map(|one| Document::of(one)).collect();
    Ok(Json(Page { connections, total_count, limit: paging.limit, offset: paging.offset, has_next }))
}

/// Takes back what was allowed
///
/// The caller's own, of administrators anybody's. The next call that needs it asks the user again. At the authorization
/// server it may go on standing there, until it is taken back there too.
#[utoipa::path(delete, path = "/api/connections/{id}", tag = "connections",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 204, description = "It is gone, with its tokens")))]
async fn delete_connection(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    Named(id): Named,
) -> Result<StatusCode, Problem> {
    registry
        .apply_for(&caller.trail, |catalog| {
            let one = require(catalog, &id, &caller)?;
            caller.trail.detail(format!("with {}", one.key.server));
            Ok((Change::new(vec![Edit::DeleteConnection(one.key.clone())]), ()))
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Finds a connection that is the caller's, or anybody's for an administrator.
fn require<'a>(catalog: &'a Catalog, id: &str, caller: &Caller) -> Result<&'a Arc<Connection>, Refusal> {
    let user = User::of(&caller.principal);
    let may = |one: &Connection| caller.principal.is_admin || one.key.user == user;
    let found = catalog.connections.values().find(|one| *one.id == *id && may(one));
    found.ok_or_else(|| Refusal::NoSuch { kind: "connection", name: id.into(), known: Vec::new() })
}

impl Document {
    fn of(one: &Connection) -> Self {
        Self {
            id: one.id.to_string(),
            server: one.key.server.to_string(),
            subject: one.key.user.subject.to_string(),
            issuer: one.key.user.issuer.to_string(),
            scope: one.scope.clone(),
            is_renewable: one.refresh_token.is_some(),
            created_at: rfc3339(one.created_at),
            updated_at: rfc3339(one.updated_at),
            expires_at: rfc3339(one.expires_at),
        }
    }
}
