//! What a given caller would see of a server.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use catalog::error::Refusal;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Registry;
use crate::api::error::Problem;
use crate::api::extract::{AtServer, Caller, Params};
use crate::api::preview::{Endpoint, For, Preview, Shown};

/// Which version is looked at.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OfVersion {
    /// Its label; the active version where absent.
    version: Option<String>,
}

/// Shows what a caller would see
///
/// Stands in for the subject `as` with the given groups and scopes, else with those of the newest live token
/// issued to it. Says whether they may enter, and which rules hide what. Only an administrator may stand in for others.
#[utoipa::path(get, path = "/api/servers/{path}/preview", tag = "servers",
    params(("path" = String, Path, description = "`context7` of `/context7`"), For, OfVersion),
    responses((status = 200, description = "What they would see, and why", body = Preview)))]
pub(super) async fn preview(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    AtServer(path): AtServer,
    Params(wanted): Params<For>,
    Params(of_version): Params<OfVersion>,
) -> Result<Json<Preview>, Problem> {
    let catalog = registry.catalog();
    let server = caller.server(&catalog, &path)?;
    let version = match &of_version.version {
        None => server.active(),
        Some(label) => server.version(label).ok_or_else(|| Refusal::NoSuch {
            kind: "version",
            name: label.clone(),
            known: server.versions().map(|version| version.label.to_string()).collect(),
        })?,
    };
    let inventory = catalog.inventory(&path, &version.label);
    let tools = inventory.into_iter().flat_map(|read| read.all_tools()).map(|item| Shown {
        name: item.name.to_string(),
        tool: item.name.to_string(),
        server: path.to_string(),
        needs: Vec::new(),
        gone: None,
    });
    let endpoint = Endpoint {
        path: path.to_string(),
        version: Some(version.label.to_string()),
        required_scopes: &server.required_scopes,
        is_enabled: server.is_enabled,
        tools: tools.collect(),
    };
    Ok(Json(Preview::of(&catalog, endpoint, wanted.viewer(&catalog, &caller)?)))
}
