//! Who calls, as the gateway sees it.

use std::sync::Arc;

use axum::Json;
use http::{HeaderName, header};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::document::rfc3339;
use super::extract::Caller;
use crate::Registry;

/// Makes the routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(show_me))
}

/// Who calls.
#[derive(Serialize, ToSchema)]
#[schema(as = Me)]
struct Document {
    /// Who it is.
    subject: String,
    /// The identity provider that vouches for them; absent for callers with a token of ours.
    issuer: Option<String>,
    /// The groups they are in.
    groups: Vec<String>,
    /// Everything they may, what their groups grant included.
    scopes: Vec<String>,
    /// Whether they are an administrator, who may do everything.
    admin: bool,
    /// When what they showed ends.
    expires_at: Option<String>,
    /// What a page sends along with each write, in `X-CSRF-Token`; present where a browser's session calls.
    csrf_token: Option<String>,
}

/// Shows who calls
///
/// For a token as for a browser's session. A page gets here what it needs to write.
#[utoipa::path(get, path = "/api/me", tag = "tokens",
    responses((status = 200, description = "The caller", body = Document)))]
async fn show_me(caller: Caller) -> ([(HeaderName, &'static str); 1], Json<Document>) {
    let Caller { principal, grants, session, .. } = caller;
    let mut scopes: Vec<String> = grants.scopes().map(ToString::to_string).collect();
    scopes.sort_unstable();
    let issuer = Some(&*principal.issuer).filter(|issuer| !issuer.is_empty()).map(str::to_owned);
    let document = Document {
        subject: principal.subject.to_string(),
        issuer,
        groups: principal.groups.clone(),
        scopes,
        admin: principal.is_admin,
        expires_at: principal.expires_at.map(rfc3339),
        csrf_token: session.map(|session| session.proof),
    };
    ([(header::CACHE_CONTROL, "no-store")], Json(document))
}
