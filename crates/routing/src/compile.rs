//! Catalog to table. What did not change is taken over from the table before, so that one edit among
//! ten thousand servers costs little more than the edit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use catalog::Catalog;
use catalog::VersionKey;
use catalog::rights::Rights;
use catalog::server::Server;
use catalog::token::TokenId;

use crate::Table;
use crate::target::ServerTarget;
use crate::version::VersionTarget;

mod virtual_server;

/// A compiled table and what had to be left out of it.
#[derive(Debug)]
pub struct Compiled {
    /// The table; it serves all that compiled.
    pub table: Table,
    /// What did not compile.
    pub left_out: Vec<LeftOut>,
}

/// Something the table had to leave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// What: `/virtual/dev-tools: github_search`.
    pub what: String,
    /// Why.
    pub reason: String,
}

/// Compiles a catalog. Never fails as a whole: an entry that does not compile is left out and named.
pub fn compile(catalog: &Catalog, previous: Option<&Table>) -> Compiled {
    let mut left_out = Vec::new();
    let servers = compile_servers(catalog, previous);
    let mut virtual_servers = HashMap::with_capacity(catalog.virtual_servers.len());
    for (slug, source) in catalog.virtual_servers.iter() {
        let old = previous.and_then(|table| table.virtual_servers.get(slug));
        let target = virtual_server::compile(source, &servers, old, &mut left_out);
        virtual_servers.insert(slug.clone(), target);
    }
    let table = Table {
        revision: catalog.revision,
        servers,
        virtual_servers,
        groups: catalog.groups.clone(),
        revoked: revoked(catalog, previous),
        rights: rights(catalog, previous),
        source: catalog.clone(),
    };
    Compiled { table, left_out }
}

fn compile_servers(
    catalog: &Catalog,
    previous: Option<&Table>,
) -> Arc<HashMap<catalog::name::ServerPath, Arc<ServerTarget>>> {
    if let Some(old) = previous
        && Arc::ptr_eq(&old.source.servers, &catalog.servers)
        && Arc::ptr_eq(&old.source.inventories, &catalog.inventories)
    {
        return old.servers.clone();
    }
    let inventories_are_old =
        previous.is_some_and(|old| Arc::ptr_eq(&old.source.inventories, &catalog.inventories));
    let mut servers = HashMap::with_capacity(catalog.servers.len());
    for (path, source) in catalog.servers.iter() {
        let old = previous.and_then(|table| table.servers.get(path));
        let kept = old.filter(|old| {
            Arc::ptr_eq(&old.source, source) && (inventories_are_old || has_same_inventories(old, catalog))
        });
        let target = kept.cloned().unwrap_or_else(|| Arc::new(compile_server(source, catalog, old)));
        servers.insert(path.clone(), target);
    }
    Arc::new(servers)
}

fn has_same_inventories(target: &ServerTarget, catalog: &Catalog) -> bool {
    target
        .versions
        .iter()
        .all(|version| is_same(version.inventory.as_ref(), catalog.inventories.get(&version.key)))
}

fn is_same<T>(old: Option<&Arc<T>>, new: Option<&Arc<T>>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => Arc::ptr_eq(old, new),
        (None, None) => true,
        _ => false,
    }
}

fn compile_server(source: &Arc<Server>, catalog: &Catalog, old: Option<&Arc<ServerTarget>>) -> ServerTarget {
    let active_label = &source.active().label;
    let versions: Vec<_> = source
        .versions()
        .map(|version| {
            let key = VersionKey::new(&source.path, &version.label);
            let inventory = catalog.inventories.get(&key);
            let kept = old.and_then(|target| target.version(version.label.as_str())).filter(|old| {
                Arc::ptr_eq(&old.source, version) && is_same(old.inventory.as_ref(), inventory)
            });
            kept.cloned().unwrap_or_else(|| Arc::new(VersionTarget::new(key, version, inventory.cloned())))
        })
        .collect();
    let active = versions.iter().position(|version| version.key.label == *active_label);
    ServerTarget {
        path: source.path.clone(),
        required_scopes: source.required_scopes.clone(),
        is_enabled: source.is_enabled,
        strict_versions: source.strict_versions,
        wants_caller: versions.iter().any(|version| version.wants_caller()),
        versions,
        active: active.expect("a server holds its active version"),
        source: source.clone(),
    }
}

fn rights(catalog: &Catalog, previous: Option<&Table>) -> Arc<Rights> {
    match previous {
        Some(old) if Arc::ptr_eq(&old.source.scopes, &catalog.scopes) => old.rights.clone(),
        _ => Arc::new(Rights::of(&catalog.scopes)),
    }
}

fn revoked(catalog: &Catalog, previous: Option<&Table>) -> Arc<HashSet<TokenId>> {
    if let Some(old) = previous
        && Arc::ptr_eq(&old.source.tokens, &catalog.tokens)
    {
        return old.revoked.clone();
    }
    let revoked = catalog.tokens.values().filter(|token| token.revoked_at.is_some());
    Arc::new(revoked.map(|token| token.id.clone()).collect())
}
