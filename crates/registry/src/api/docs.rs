//! The API's description: as an OpenAPI document, and as a page for people. Neither needs a token.

mod page;

use std::sync::{Arc, LazyLock};

use axum::response::{IntoResponse, Response};
use http::header;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::Registry;

/// Nothing but our own style sheet is loaded, whatever a description may hold.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Makes the routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(document)).routes(routes!(docs)).routes(routes!(style))
}

/// The OpenAPI document
#[utoipa::path(get, path = "/api/openapi.json", tag = "documents", security(()),
    responses((status = 200, description = "OpenAPI 3.1", content_type = "application/json", body = serde_json::Value)))]
async fn document() -> Response {
    answer("application/json", crate::openapi())
}

/// The API as a page for people
#[utoipa::path(get, path = "/api/docs", tag = "documents", security(()),
    responses((status = 200, description = "A page", content_type = "text/html", body = String)))]
async fn docs() -> Response {
    static PAGE: LazyLock<String> = LazyLock::new(|| {
        let document = serde_json::to_value(crate::openapi::document());
        page::render(&document.expect("a document of our own structs can be written"))
    });
    answer("text/html; charset=utf-8", PAGE.clone())
}

/// The style sheet of the page
#[utoipa::path(get, path = "/api/docs/docs.css", tag = "documents", security(()),
    responses((status = 200, description = "A style sheet", content_type = "text/css", body = String)))]
async fn style() -> Response {
    answer("text/css; charset=utf-8", include_str!("docs/docs.css").to_owned())
}

fn answer(kind: &'static str, text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}

#[cfg(test)]
mod tests;
