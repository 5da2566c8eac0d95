//! Ratings of servers and virtual servers: one to five stars, one rating a user.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use catalog::Catalog;
use catalog::error::{Invalid, Refusal};
use catalog::rating::{MAX_RATINGS, Rated, Stars};
use serde::{Deserialize, Serialize};
use store::change::{Change, Edit};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::error::Problem;
use super::extract::{AtServer, Caller, JsonBody, Named};
use super::virtual_servers::require;
use crate::Registry;

/// Makes the routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new()
        .routes(routes!(rate_server))
        .routes(routes!(server_rating))
        .routes(routes!(rate_virtual_server))
        .routes(routes!(virtual_server_rating))
}

/// What the caller thinks of it.
#[derive(Deserialize, ToSchema)]
#[schema(as = RatingBody)]
struct Body {
    /// Stars, a whole number from 1 to 5.
    #[schema(minimum = 1, maximum = 5)]
    rating: i64,
}

/// The outcome of a rating.
#[derive(Serialize, ToSchema)]
struct RatingTaken {
    /// What happened, in words.
    message: String,
    /// The average of all ratings now.
    average_rating: f64,
    /// The same as `average_rating`.
    num_stars: f64,
}

/// What users think of it.
#[derive(Serialize, ToSchema)]
struct Rating {
    /// The average; 0 without ratings.
    num_stars: f64,
    /// Each user's rating, by user.
    rating_details: Vec<OneRating>,
}

/// What one user thinks of it.
#[derive(Serialize, ToSchema)]
struct OneRating {
    /// The subject of the user's token.
    user: String,
    /// Stars, 1 to 5.
    rating: u8,
}

/// Rates a server
///
/// With any valid token. A second rating of the same user replaces the first. The server's revision stays.
#[utoipa::path(post, path = "/api/servers/{path}/rate", tag = "servers", request_body = Body,
    params(("path" = String, Path, description = "Path of the server; may hold slashes")),
    responses((status = 200, description = "It is taken", body = RatingTaken)))]
async fn rate_server(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    AtServer(path): AtServer,
    JsonBody(body): JsonBody<Body>,
) -> Result<Json<RatingTaken>, Problem> {
    let rated = Rated::Server(path.clone());
    rate(&registry, &caller, body, |catalog| caller.server(catalog, &path).map(|_| rated)).await
}

/// Shows what users think of a server
#[utoipa::path(get, path = "/api/servers/{path}/rating", tag = "servers",
    params(("path" = String, Path, description = "Path of the server; may hold slashes")),
    responses((status = 200, description = "The average, and each rating", body = Rating)))]
async fn server_rating(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    AtServer(path): AtServer,
) -> Result<Json<Rating>, Problem> {
    let catalog = registry.catalog();
    caller.server(&catalog, &path)?;
    Ok(Json(Rating::of(&catalog, &Rated::Server(path))))
}

/// Rates a virtual server
///
/// With any valid token. A second rating of the same user replaces the first. Its revision stays.
#[utoipa::path(post, path = "/api/virtual-servers/{slug}/rate", tag = "virtual servers", request_body = Body,
    params(("slug" = String, Path, description = "`dev-tools` of `/virtual/dev-tools`")),
    responses((status = 200, description = "It is taken", body = RatingTaken)))]
async fn rate_virtual_server(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    Named(slug): Named,
    JsonBody(body): JsonBody<Body>,
) -> Result<Json<RatingTaken>, Problem> {
    let find = |catalog: &Catalog| Ok(Rated::VirtualServer(require(catalog, &slug)?.slug.clone()));
    rate(&registry, &caller, body, find).await
}

/// Shows what users think of a virtual server
#[utoipa::path(get, path = "/api/virtual-servers/{slug}/rating", tag = "virtual servers",
    params(("slug" = String, Path, description = "`dev-tools` of `/virtual/dev-tools`")),
    responses((status = 200, description = "The average, and each rating", body = Rating)))]
async fn virtual_server_rating(
    State(registry): State<Arc<Registry>>,
    _: Caller,
    Named(slug): Named,
) -> Result<Json<Rating>, Problem> {
    let catalog = registry.catalog();
    let slug = require(&catalog, &slug)?.slug.clone();
    Ok(Json(Rating::of(&catalog, &Rated::VirtualServer(slug))))
}

async fn rate(
    registry: &Arc<Registry>,
    caller: &Caller,
    body: Body,
    find: impl FnOnce(&Catalog) -> Result<Rated, Refusal>,
) -> Result<Json<RatingTaken>, Problem> {
    let stars = Stars::parse("rating", body.rating)?;
    let user = &caller.principal.subject;
    caller.trail.detail(format!("{} of 5 stars", stars.count()));
    let taken = registry.apply_for(&caller.trail, |catalog| {
        let rated = find(catalog)?;
        let ratings = catalog.ratings.get(&rated);
        if ratings.and_then(|ratings| ratings.0.get(user)) == Some(&stars) {
            return Ok((Change::default(), rated));
        }
        if ratings.is_some_and(|ratings| !ratings.has_room_for(user)) {
            let reason = format!("there are {MAX_RATINGS} ratings of it, and no more are taken");
            return Err(Refusal::Invalid(vec![Invalid::new("rating", reason)]));
        }
        let put = Edit::PutRating { rated: rated.clone(), user: user.clone(), stars };
        Ok((Change::new(vec![put]), rated))
    });
    let rated = taken.await?;
    let average = registry.catalog().stars(&rated);
    let message = format!("{user} gives it {} of 5 stars", stars.count());
    Ok(Json(RatingTaken { message, average_rating: average, num_stars: average }))
}

impl Rating {
    fn of(catalog: &Catalog, rated: &Rated) -> Self {
        let each = catalog.ratings.get(rated).into_iter().flat_map(|ratings| &ratings.0);
        let one =
            |(user, stars): (&Arc<str>, &Stars)| OneRating { user: user.to_string(), rating: stars.count() };
        Self { num_stars: catalog.stars(rated), rating_details: each.map(one).collect() }
    }
}

#[cfg(test)]
mod tests;
