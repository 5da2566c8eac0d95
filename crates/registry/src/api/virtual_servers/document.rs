//! The shape in which a virtual server goes out.

use catalog::Catalog;
use catalog::access::Scope;
use catalog::rating::Rated;
use catalog::virtual_server::{VirtualServer, suggest};
use serde::Serialize;
use utoipa::ToSchema;

use super::resource_routes;
use crate::api::document::rfc3339;

/// A virtual server.
#[derive(Serialize, ToSchema)]
#[schema(as = VirtualServer)]
pub(super) struct Document {
    /// Where clients reach it.
    #[schema(examples("/virtual/dev-tools"))]
    path: String,
    /// The last segment of `path`.
    #[schema(examples("dev-tools"))]
    slug: String,
    /// What people call it.
    server_name: String,
    /// What it is for.
    description: String,
    /// Words to find it by.
    tags: Vec<String>,
    /// The rows, in the order clients see.
    tool_mappings: Vec<Row>,
    /// Scopes a caller needs to use it, all of them.
    required_scopes: Vec<String>,
    /// More scopes for single tools.
    tool_scope_overrides: Vec<Override>,
    /// Whether it is routed.
    is_enabled: bool,
    /// Its own instructions; those of the servers are joined where absent.
    instructions: Option<String>,
    /// Whether prompts of the mapped servers are exposed.
    exposes_prompts: bool,
    /// Whether resources of the mapped servers are exposed.
    exposes_resources: bool,
    /// Where resources that no server lists are asked for.
    resource_routes: Vec<resource_routes::Row>,
    /// How clients may connect; always streamable HTTP.
    supported_transports: [&'static str; 1],
    /// How many tools are mapped.
    num_tools: usize,
    /// Average of the ratings; 0 without any.
    num_stars: f64,
    /// The servers it maps tools of.
    backend_server_paths: Vec<String>,
    /// Who made it.
    created_by: Option<String>,
    /// When it was made.
    created_at: String,
    /// When it was last written.
    updated_at: String,
    /// Moves with every write; what `If-Match` compares.
    revision: u64,
    /// What is allowed and may still cause trouble; only in the answer to a write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// Aliases for rows whose exposed name several clients refuse; the same whenever they are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggested_aliases: Vec<Suggested>,
}

/// An alias that would do for a row.
#[derive(Serialize, ToSchema)]
#[schema(as = SuggestedAlias)]
struct Suggested {
    /// Index of the row in `tool_mappings`.
    row: usize,
    /// The name clients see at present.
    name: String,
    /// A name of its own that every client takes.
    alias: String,
}

/// One mapped tool.
#[derive(Serialize, ToSchema)]
#[schema(as = ToolMapping)]
struct Row {
    /// The tool's name on its server.
    tool_name: String,
    /// The name clients see; the same where absent.
    alias: Option<String>,
    /// Path of the server.
    backend_server_path: String,
    /// Label of the version it is pinned to; the active one where absent.
    backend_version: Option<String>,
    /// A description that replaces the server's.
    description_override: Option<String>,
}

/// Scopes for one tool.
#[derive(Serialize, ToSchema)]
#[schema(as = ToolScopeOverride)]
struct Override {
    /// The name clients see, or the original one.
    tool_alias: String,
    /// Scopes a caller needs to see and call it, all of them, beside those of the virtual server.
    required_scopes: Vec<String>,
}

/// A page of virtual servers.
#[derive(Serialize, ToSchema)]
#[schema(as = VirtualServerPage)]
pub(super) struct Page {
    /// The entries, by path.
    pub(super) virtual_servers: Vec<Document>,
    /// Entries on all pages.
    pub(super) total_count: usize,
    /// Most entries of this page.
    pub(super) limit: usize,
    /// Entries before this page.
    pub(super) offset: usize,
    /// Whether there are entries behind this page.
    pub(super) has_next: bool,
}

impl Document {
    /// Writes a virtual server out.
    pub(super) fn of(catalog: &Catalog, server: &VirtualServer, warnings: Vec<String>) -> Self {
        let row = |row: &catalog::virtual_server::Mapping| Row {
            tool_name: row.tool.clone(),
            alias: row.alias.as_ref().map(ToString::to_string),
            backend_server_path: row.server.to_string(),
            backend_version: row.pin.as_ref().map(ToString::to_string),
            description_override: row.description.clone(),
        };
        let one_override = |one: &catalog::virtual_server::ScopeOverride| Override {
            tool_alias: one.name.clone(),
            required_scopes: words(&one.required_scopes),
        };
        let suggested = suggest::aliases(&server.mappings).into_iter().map(|one| Suggested {
            row: one.row,
            name: server.mappings[one.row].exposed().to_owned(),
            alias: one.alias.to_string(),
        });
        let mut backends: Vec<String> = server.mappings.iter().map(|row| row.server.to_string()).collect();
        backends.sort();
        backends.dedup();
        Self {
            path: server.slug.path(),
            slug: server.slug.to_string(),
            server_name: server.name.clone(),
            description: server.description.clone(),
            tags: server.tags.clone(),
            tool_mappings: server.mappings.iter().map(row).collect(),
            required_scopes: words(&server.required_scopes),
            tool_scope_overrides: server.overrides.iter().map(one_override).collect(),
            is_enabled: server.is_enabled,
            instructions: server.instructions.clone(),
            exposes_prompts: server.exposes_prompts,
            exposes_resources: server.exposes_resources,
            resource_routes: server.resource_routes.iter().map(resource_routes::Row::of).collect(),
            supported_transports: ["streamable-http"],
            num_tools: server.mappings.len(),
            num_stars: catalog.stars(&Rated::VirtualServer(server.slug.clone())),
            backend_server_paths: backends,
            created_by: server.owner.clone(),
            created_at: rfc3339(server.created_at),
            updated_at: rfc3339(server.updated_at),
            revision: server.revision,
            warnings,
            suggested_aliases: suggested.collect(),
        }
    }
}

/// Writes scopes out.
pub(super) fn words(scopes: &[Scope]) -> Vec<String> {
    scopes.iter().map(ToString::to_string).collect()
}
