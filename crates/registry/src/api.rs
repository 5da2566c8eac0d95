//! Every route on one page, and what holds for all of them.

pub(crate) mod error;
pub(crate) mod extract;
mod tail;

mod audit;
pub(crate) mod base;
mod catalog_tools;
mod connect;
mod connections;
pub(crate) mod cookie;
mod docs;
pub(crate) mod document;
mod edit;
mod fields;
mod groups;
mod health;
mod me;
mod permitted;
mod place;
mod preview;
mod ratings;
mod search;
mod servers;
pub(crate) mod tagged;
pub(crate) mod tokens;
mod unique;
mod v0;
mod versions;
mod virtual_servers;

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{DefaultBodyLimit, MatchedPath, Request};
use axum::middleware::{self, Next};
use axum::response::Response;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;

use crate::{Registry, metrics};
use error::Problem;

/// Longest request body. A virtual server of two thousand mappings with long descriptions fits.
pub(crate) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// All routes with their documentation.
pub(crate) fn documented() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::default()
        .merge(servers::routes())
        .merge(versions::routes())
        .merge(catalog_tools::routes())
        .merge(health::routes())
        .merge(virtual_servers::routes())
        .merge(groups::routes())
        .merge(tokens::routes())
        .merge(me::routes())
        .merge(search::routes())
        .merge(v0::routes())
        .merge(connections::routes())
        .merge(connect::routes())
        .merge(ratings::routes())
        .merge(audit::routes())
        .merge(docs::routes())
}

/// The router of everything under `/api` and `/v0`.
///
/// Server paths hold slashes, and routes know only single segments. So the path of a server is folded into one
/// segment before routing, by [`tail::fold`].
pub(crate) fn router(registry: Arc<Registry>) -> axum::Router {
    let (routes, _) = documented().split_for_parts();
    let routes = routes
        .fallback(no_such_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(registry.clone(), audit::follow))
        .layer(middleware::from_fn(count))
        .with_state(registry);
    let folded = tower::util::MapRequest::new(routes, tail::fold_request);
    axum::Router::new()
        .route_service("/api", folded.clone())
        .route_service("/api/{*rest}", folded.clone())
        .route_service("/v0/{*rest}", folded)
}

async fn no_such_route(request: Request) -> Problem {
    let detail = format!("there is no {}; see /api/docs", tail::unfold(request.uri().path()));
    Problem::new(StatusCode::NOT_FOUND, detail)
}

async fn wrong_method(request: Request) -> Problem {
    let detail =
        format!("{} does not take {}; see Allow", tail::unfold(request.uri().path()), request.method());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}

/// Returns the route that a request was matched to.
fn route_of(request: &Request) -> &str {
    let matched = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    // The route around all of them stands before the route itself.
    matched.strip_prefix("/api/{*rest}").or(matched.strip_prefix("/v0/{*rest}")).unwrap_or(matched)
}

async fn count(request: Request, next: Next) -> Response {
    let (method, began) = (request.method().clone(), Instant::now());
    let route = route_of(&request).to_owned();
    let response = next.run(request).await;
    metrics::answered(&method, route, response.status().as_u16(), began.elapsed());
    response
}
