//! Routes of resources as they come in and go out.

use std::collections::HashSet;

use catalog::error::Invalid;
use catalog::name::ServerPath;
use catalog::virtual_server::resource_route::ResourceRoute;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where resources are asked for whose URI begins so, and which no server lists.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = ResourceRoute)]
pub(super) struct Row {
    /// How the URI begins: scheme and colon at least. Of several that fit the longest counts.
    #[serde(default)]
    #[schema(examples("jira://"))]
    prefix: String,
    /// Path of a server of which a tool is mapped.
    #[serde(default)]
    #[schema(examples("/jira"))]
    backend_server_path: String,
}

impl Row {
    /// Writes a route out.
    pub(super) fn of(route: &ResourceRoute) -> Self {
        Self { prefix: route.prefix.clone(), backend_server_path: route.server.to_string() }
    }

    /// Reads a route. An unreadable server becomes a fault, and a placeholder keeps the other rows' indices.
    pub(super) fn read(
        self,
        index: usize,
        faults: &mut Vec<Invalid>,
        unread: &mut HashSet<usize>,
    ) -> ResourceRoute {
        let field = format!("resource_routes[{index}].backend_server_path");
        let server = ServerPath::parse(&field, &self.backend_server_path).unwrap_or_else(|fault| {
            faults.push(fault);
            unread.insert(index);
            ServerPath::parse("", "/unreadable").expect("a path")
        });
        ResourceRoute { prefix: self.prefix.trim().to_owned(), server }
    }
}
