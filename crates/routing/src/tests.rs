//! The table against catalogs: a small world that tests change and compile again.

use std::sync::Arc;

use catalog::access::{Group, Scope};
use catalog::endpoint::{AddressRule, Endpoint, Era, Eras};
use catalog::inventory::{Inventory, Item};
use catalog::name::{ServerPath, Slug, ToolName, VersionLabel};
use catalog::server::{Server, Status, Version};
use catalog::time::Timestamp;
use catalog::virtual_server::{Mapping, ScopeOverride, VirtualServer};
use catalog::{Catalog, VersionKey};
use mcp::message::quote;

use crate::Table;
use crate::compile::{Compiled, compile};

mod faces;
mod incremental;
mod lists;
mod lookup;
mod params;
mod random;
mod virtual_servers;

const NOW: Timestamp = Timestamp(1_768_003_200_000);

/// A catalog and the ways tests change it.
#[derive(Clone, Default)]
struct World(Catalog);

impl World {
    fn compile(&self) -> Compiled {
        compile(&self.0, None)
    }

    fn table(&self) -> Table {
        self.compile().table
    }

    /// The table after `self`, made from the one before it.
    fn after(&self, previous: &Table) -> Table {
        compile(&self.0, Some(previous)).table
    }

    /// Registers an enabled server; the first label is active.
    fn server(&mut self, at: &str, labels: &[&str]) -> &mut Self {
        let first = Server::new(path(at), at.into(), version(labels[0]), NOW);
        let all = labels[1..].iter().fold(first, |server, label| server.add(version(label), NOW).unwrap());
        self.put(all.written(NOW, |server| server.is_enabled = true))
    }

    fn put(&mut self, server: Server) -> &mut Self {
        self.0.revision += 1;
        Arc::make_mut(&mut self.0.servers).insert(server.path.clone(), Arc::new(server));
        self
    }

    fn edit(&mut self, at: &str, edit: impl FnOnce(&Server) -> Server) -> &mut Self {
        let server = edit(&self.0.servers[at]);
        self.put(server)
    }

    fn remove(&mut self, at: &str) -> &mut Self {
        self.0.revision += 1;
        Arc::make_mut(&mut self.0.servers).remove(at);
        self
    }

    /// Has a version read: it offers these tools.
    fn offers(&mut self, at: &str, label: &str, tools: &[&str]) -> &mut Self {
        self.read(at, label, |inventory| inventory.tools = items("name", tools))
    }

    /// Has a version read, from an empty inventory or the one it had.
    fn read(&mut self, at: &str, label: &str, change: impl FnOnce(&mut Inventory)) -> &mut Self {
        self.0.revision += 1;
        let key = key(at, label);
        let old = self.0.inventories.get(&key).map(|old| (**old).clone());
        let mut inventory = old.unwrap_or_else(empty_inventory);
        change(&mut inventory);
        Arc::make_mut(&mut self.0.inventories).insert(key, Arc::new(inventory));
        self
    }

    /// Composes an enabled virtual server.
    fn compose(&mut self, slug: &str, mappings: Vec<Mapping>) -> &mut Self {
        self.put_virtual(VirtualServer {
            slug: Slug::parse("slug", slug).unwrap(),
            name: slug.into(),
            description: String::new(),
            tags: Vec::new(),
            mappings,
            required_scopes: Vec::new(),
            overrides: Vec::new(),
            instructions: None,
            exposes_prompts: true,
            exposes_resources: true,
            resource_routes: Vec::new(),
            is_enabled: true,
            owner: None,
            revision: 1,
            created_at: NOW,
            updated_at: NOW,
        })
    }

    fn put_virtual(&mut self, one: VirtualServer) -> &mut Self {
        self.0.revision += 1;
        Arc::make_mut(&mut self.0.virtual_servers).insert(one.slug.clone(), Arc::new(one));
        self
    }

    fn recompose(&mut self, slug: &str, edit: impl FnOnce(&mut VirtualServer)) -> &mut Self {
        let mut one = (*self.0.virtual_servers[slug]).clone();
        edit(&mut one);
        self.put_virtual(one)
    }

    fn group(&mut self, name: &str, scopes: &[&str]) -> &mut Self {
        self.0.revision += 1;
        let scopes = scopes.iter().map(|text| scope(text)).collect();
        let group = Group { name: name.into(), description: String::new(), scopes, revision: 1 };
        Arc::make_mut(&mut self.0.groups).insert(name.into(), Arc::new(group));
        self
    }
}

fn path(text: &str) -> ServerPath {
    ServerPath::parse("path", text).unwrap()
}

fn label(text: &str) -> VersionLabel {
    VersionLabel::parse("version", text).unwrap()
}

fn key(at: &str, version: &str) -> VersionKey {
    VersionKey::new(&path(at), &label(version))
}

fn scope(text: &str) -> Scope {
    Scope::parse("scopes", text).unwrap()
}

fn version(text: &str) -> Version {
    let rule = AddressRule { allow_private: true };
    let url = Endpoint::parse_url("url", &format!("http://127.0.0.1:9000/{text}"), rule).unwrap();
    Version::new(label(text), Endpoint::at(url), NOW)
}

fn empty_inventory() -> Inventory {
    Inventory { capabilities: r#"{"tools":{}}"#.into(), ..Inventory::empty(Era::Legacy, "2025-11-25", NOW) }
}

/// The inventory of a backend that says the same in both eras.
fn both(one: &Inventory) -> Inventory {
    let modern = Inventory { era: Era::Modern, protocol_version: "2026-07-28".into(), ..one.clone() };
    Inventory::of_both(modern, one.clone())
}

/// Items called by `member`, each with a member that only its backend knows of.
fn items(member: &str, names: &[&str]) -> Vec<Item> {
    let item = |name: &&str| {
        let json = format!(r#"{{"{member}":{},"x-kept":true}}"#, quote(name));
        Item { name: (*name).into(), json: json.into() }
    };
    names.iter().map(item).collect()
}

fn row(tool: &str, server: &str) -> Mapping {
    Mapping { tool: tool.into(), server: path(server), alias: None, pin: None, description: None }
}

fn aliased(tool: &str, server: &str, alias: &str) -> Mapping {
    Mapping { alias: Some(ToolName::parse("alias", alias).unwrap()), ..row(tool, server) }
}

fn pinned(tool: &str, server: &str, alias: &str, pin: &str) -> Mapping {
    Mapping { pin: Some(label(pin)), ..aliased(tool, server, alias) }
}

fn guarded(name: &str, scopes: &[&str]) -> ScopeOverride {
    ScopeOverride { name: name.into(), required_scopes: scopes.iter().map(|text| scope(text)).collect() }
}
