//! A virtual server as a preview looks at it.

use catalog::Catalog;
use catalog::virtual_server::VirtualServer;

use super::resolved::source;
use crate::api::preview::{Endpoint, Shown};

/// Returns what there is to see, and why some of it is not there.
pub(super) fn endpoint<'a>(catalog: &Catalog, server: &'a VirtualServer) -> Endpoint<'a> {
    let tools = server.mappings.iter().map(|row| Shown {
        name: row.exposed().to_owned(),
        tool: row.tool.clone(),
        server: row.server.to_string(),
        needs: server.tool_scopes(row),
        gone: source(catalog, row).item.err(),
    });
    Endpoint {
        path: server.slug.path(),
        version: None,
        required_scopes: &server.required_scopes,
        is_enabled: server.is_enabled,
        tools: tools.collect(),
    }
}
