//! The tools behind a virtual server: for each row, which version of which server answers, or why none does.

use std::sync::Arc;

use catalog::Catalog;
use catalog::access::{Grants, Scope};
use catalog::inventory::Item;
use catalog::name::VersionLabel;
use catalog::virtual_server::{Mapping, VirtualServer};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::document::words;
use crate::unfit::unfit;

/// Every tool of a virtual server that the caller may use.
#[derive(Serialize, ToSchema)]
#[schema(as = VirtualServerTools)]
pub(super) struct Tools {
    /// The virtual server.
    path: String,
    /// In the order clients see.
    tools: Vec<Tool>,
    /// How many there are.
    total_count: usize,
    /// Names of those that are gone.
    missing: Vec<String>,
}

/// One row, resolved.
#[derive(Serialize, ToSchema)]
#[schema(as = ResolvedTool)]
struct Tool {
    /// The name clients see.
    name: String,
    /// The tool's name on its server.
    tool_name: String,
    /// Path of the server.
    backend_server_path: String,
    /// Label of the version that answers.
    backend_version: Option<String>,
    /// Whether the row is pinned to that version.
    pinned: bool,
    /// The description clients see.
    description: Option<String>,
    /// Scopes a caller needs, those of the virtual server among them.
    required_scopes: Vec<String>,
    /// Whether the tool is gone, so that clients do not see it.
    missing: bool,
    /// Why it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The whole tool as clients see it.
    #[schema(value_type = Option<Object>)]
    tool: Option<Box<RawValue>>,
}

/// Where a row leads.
pub(super) struct Source {
    /// The version that answers, where there is one.
    pub(super) label: Option<VersionLabel>,
    /// The tool as its backend gave it, or why it is gone.
    pub(super) item: Result<Item, String>,
}

impl Tools {
    /// Resolves all rows that a caller with these grants may use.
    pub(super) fn of(catalog: &Catalog, server: &VirtualServer, grants: &Grants) -> Self {
        let allowed = |row: &&Mapping| grants.missing(&all_scopes(server, row)).is_none();
        let tools: Vec<Tool> =
            server.mappings.iter().filter(allowed).map(|row| tool(catalog, server, row)).collect();
        let missing = tools.iter().filter(|tool| tool.missing).map(|tool| tool.name.clone()).collect();
        Self { path: server.slug.path(), total_count: tools.len(), tools, missing }
    }
}

/// Returns what a caller needs for one row: the virtual server's scopes and the tool's own.
pub(super) fn all_scopes(server: &VirtualServer, row: &Mapping) -> Vec<Scope> {
    let mut scopes = server.required_scopes.clone();
    let own = server.tool_scopes(row);
    scopes.extend(own.into_iter().filter(|scope| !server.required_scopes.contains(scope)));
    scopes
}

/// Finds out where a row leads.
pub(super) fn source(catalog: &Catalog, row: &Mapping) -> Source {
    let gone =
        |label: Option<&VersionLabel>, reason: String| Source { label: label.cloned(), item: Err(reason) };
    let path = &row.server;
    let Some(server) = catalog.servers.get(path) else {
        return gone(None, format!("no server {path} is registered"));
    };
    let version = match &row.pin {
        None => server.active(),
        Some(pin) => match server.version(pin.as_str()) {
            Some(version) => version,
            None => return gone(None, format!("{path} has no version {pin}")),
        },
    };
    let label = &version.label;
    if !server.is_enabled {
        return gone(Some(label), format!("the server {path} is disabled"));
    }
    let Some(inventory) = catalog.inventory(path, label).map(Arc::as_ref) else {
        return gone(
            Some(label),
            format!("the tools of {path} {label} are not known yet; refresh the server"),
        );
    };
    match inventory.tool(&row.tool) {
        Some(item) => match unfit(item) {
            None => Source { label: Some(label.clone()), item: Ok(item.clone()) },
            Some(reason) => gone(Some(label), format!("no client may use {} of {path}: {reason}", row.tool)),
        },
        None => gone(Some(label), format!("{path} {label} no longer offers {}", row.tool)),
    }
}

fn tool(catalog: &Catalog, server: &VirtualServer, row: &Mapping) -> Tool {
    let source = source(catalog, row);
    let alias = row.alias.as_ref().map(|alias| alias.as_str());
    let whole = source
        .item
        .as_ref()
        .ok()
        .map(|item| mcp::list::renamed(&item.json, alias, row.description.as_deref()));
    let described = |json: &String| {
        let member = mcp::message::member(json.as_bytes(), "description")?;
        mcp::message::text(member.of(json.as_bytes())).map(|text| text.into_owned())
    };
    Tool {
        name: row.exposed().to_owned(),
        tool_name: row.tool.clone(),
        backend_server_path: row.server.to_string(),
        backend_version: source.label.as_ref().or(row.pin.as_ref()).map(ToString::to_string),
        pinned: row.pin.is_some(),
        description: row.description.clone().or_else(|| whole.as_ref().and_then(described)),
        required_scopes: words(&all_scopes(server, row)),
        missing: source.item.is_err(),
        reason: source.item.err(),
        tool: whole.and_then(|json| RawValue::from_string(json).ok()),
    }
}
