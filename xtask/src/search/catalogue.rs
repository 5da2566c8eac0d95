//! Catalogs to search in, made in memory.

use std::sync::Arc;

use anyhow::Context as _;
use catalog::Catalog;
use catalog::VersionKey;
use catalog::endpoint::{AddressRule, Endpoint, Era};
use catalog::inventory::{Inventory, Item};
use catalog::name::{ServerPath, VersionLabel};
use catalog::server::{Server, Version};
use catalog::time::Timestamp;

/// Adds an enabled server without tools.
pub(super) fn add(catalog: &mut Catalog, path: &str, name: &str, description: &str) -> anyhow::Result<()> {
    let rule = AddressRule { allow_private: true };
    let url = Endpoint::parse_url("url", "http://127.0.0.1:1/mcp", rule).ok().context("a loopback URL")?;
    let now = Timestamp(0);
    let version =
        Version { description: description.to_owned(), ..Version::new(label()?, Endpoint::at(url), now) };
    let path = ServerPath::parse("path", path).ok().with_context(|| format!("path {path:?}"))?;
    let mut server = Server::new(path, name.to_owned(), version, now);
    server.is_enabled = true;
    Arc::make_mut(&mut catalog.servers).insert(server.path.clone(), Arc::new(server));
    Ok(())
}

/// Gives a server tools, by name and description.
pub(super) fn offer(catalog: &mut Catalog, path: &str, tools: Vec<(String, String)>) -> anyhow::Result<()> {
    let item = |(name, description): (String, String)| {
        let json = serde_json::json!({ "name": name, "description": description, "inputSchema": {} });
        Item { name: name.into(), json: json.to_string().into() }
    };
    let inventory = Inventory {
        tools: tools.into_iter().map(item).collect(),
        ..Inventory::empty(Era::Legacy, "2025-11-25", Timestamp(0))
    };
    let path = ServerPath::parse("path", path).ok().with_context(|| format!("path {path:?}"))?;
    let key = VersionKey::new(&path, &label()?);
    Arc::make_mut(&mut catalog.inventories).insert(key, Arc::new(inventory));
    Ok(())
}

fn label() -> anyhow::Result<VersionLabel> {
    VersionLabel::parse("version", "v1.0.0").ok().context("a label")
}
