//! Tools that no client may use for what their schemas say of headers.

use catalog::Catalog;
use catalog::inventory::Item;
use catalog::virtual_server::Mapping;

/// Says why clients must leave a tool alone, where they must.
///
/// Source: MCP 2026-07-28, server/tools, `x-mcp-header`.
pub(crate) fn unfit(tool: &Item) -> Option<String> {
    let json = tool.json.as_bytes();
    let schema = mcp::message::member(json, "inputSchema")?.of(json);
    mcp::param::marks(schema).err().map(|unfit| unfit.to_string())
}

/// Says so of the tool that a row of a virtual server maps, as far as it is known.
pub(crate) fn unfit_row(catalog: &Catalog, row: &Mapping) -> Option<String> {
    let server = catalog.servers.get(&row.server)?;
    let version = row.pin.as_ref().map_or(Some(server.active()), |pin| server.version(pin.as_str()))?;
    unfit(catalog.inventory(&row.server, &version.label)?.tool(&row.tool)?)
}
