//! Prompts, resources and templates that a virtual server does not show, since a server mapped before theirs has one of
//! the same name.

use std::collections::{HashMap, HashSet};

use catalog::Catalog;
use catalog::inventory::{Inventory, Item};
use catalog::name::ServerPath;
use catalog::virtual_server::VirtualServer;

/// Most collisions that are named one by one. Two servers of one kind share hundreds.
const MOST_NAMED: usize = 20;

/// Names what is hidden, in mapping order.
pub(super) fn hidden(catalog: &Catalog, server: &VirtualServer) -> Vec<String> {
    type Kind = (&'static str, fn(&Inventory) -> &[Item], bool);
    let kinds: [Kind; 3] = [
        ("prompt", |one| &one.prompts, server.exposes_prompts),
        ("resource", |one| &one.resources, server.exposes_resources),
        ("resource template", |one| &one.templates, server.exposes_resources),
    ];
    let backends = backends(catalog, server);
    let mut hidden = Vec::new();
    for (kind, items, _) in kinds.into_iter().filter(|(.., is_exposed)| *is_exposed) {
        let mut owners: HashMap<&str, &ServerPath> = HashMap::new();
        for (path, inventory) in &backends {
            for item in items(inventory) {
                let owner = *owners.entry(&item.name).or_insert(path);
                if !std::ptr::eq(owner, *path) {
                    hidden.push(format!(
                        "the {kind} {} of {path} is not shown: {owner}, mapped before it, has one",
                        item.name
                    ));
                }
            }
        }
    }
    let more = hidden.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        hidden.truncate(MOST_NAMED);
        hidden
            .push(format!("{more} more prompts, resources and templates are not shown for the same reason"));
    }
    hidden
}

/// The versions behind a virtual server that were read, each once, in mapping order.
fn backends<'a>(catalog: &'a Catalog, server: &'a VirtualServer) -> Vec<(&'a ServerPath, &'a Inventory)> {
    let mut seen = HashSet::new();
    let sources = server.mappings.iter().filter_map(|row| {
        let backend = catalog.servers.get(&row.server)?;
        let version = row.pin.as_ref().map_or(Some(backend.active()), |pin| backend.version(pin.as_str()))?;
        let is_new = seen.insert((&row.server, &version.label));
        is_new.then_some((&row.server, &**catalog.inventory(&row.server, &version.label)?))
    });
    sources.collect()
}
