//! Where a call goes: an immutable table compiled from the catalog, swapped as a whole.
//!
//! Knows no network, no clock and no store. A request loads one [`Table`] and finds all it needs in it.
#![warn(missing_docs)]

pub mod compile;
pub mod face;
pub mod live;
pub mod names;
pub mod params;
pub mod target;
pub mod version;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use catalog::Catalog;
use catalog::access::{Grants, Group, Principal, Scope};
use catalog::name::{ServerPath, Slug};
use catalog::rights::{Guard, Rights};
use catalog::token::TokenId;

pub use live::Live;
use target::{ServerTarget, Target, VirtualTarget};

/// The routing table of one catalog revision.
#[derive(Debug, Default)]
pub struct Table {
    /// The catalog revision it was compiled from.
    pub revision: u64,
    servers: Arc<HashMap<ServerPath, Arc<ServerTarget>>>,
    virtual_servers: HashMap<Slug, Arc<VirtualTarget>>,
    groups: Arc<BTreeMap<String, Arc<Group>>>,
    revoked: Arc<HashSet<TokenId>>,
    rights: Arc<Rights>,
    /// What it was compiled from: the next compilation takes over what did not change.
    source: Catalog,
}

impl Table {
    /// Finds what a request path leads to. Accepts `/x`, `/x/`, `/x/mcp` and `/x/mcp/`; nothing else below
    /// a path is its endpoint.
    pub fn target(&self, path: &str) -> Option<Target<'_>> {
        let path = path.strip_suffix('/').unwrap_or(path);
        self.exact(path).or_else(|| self.exact(path.strip_suffix("/mcp")?))
    }

    fn exact(&self, path: &str) -> Option<Target<'_>> {
        match path.strip_prefix("/virtual/") {
            Some(slug) => self.virtual_servers.get(slug).map(Target::Virtual),
            None => self.servers.get(path).map(Target::Server),
        }
    }

    /// Finds a virtual server by its slug, enabled or not.
    pub fn virtual_server(&self, slug: &str) -> Option<&Arc<VirtualTarget>> {
        self.virtual_servers.get(slug)
    }

    /// Finds a server by its exact path, enabled or not.
    pub fn server(&self, path: &str) -> Option<&Arc<ServerTarget>> {
        self.servers.get(path)
    }

    /// Adds up what a principal may do under this table.
    pub fn grants(&self, principal: &Principal) -> Grants {
        Grants::of(principal, &self.groups)
    }

    /// Returns the guard of an endpoint, by its short path; `None` where no scope document names it.
    pub fn guard(&self, path: &str) -> Option<&Guard> {
        self.rights.guard(path)
    }

    /// Says whether a principal's scopes allow an action of the registry on the endpoint of a path.
    pub fn permits(&self, principal: &Principal, action: &str, path: &str) -> bool {
        principal.is_admin || self.rights.permits(|scope| self.holds(principal, scope), action, path)
    }

    /// Says whether a principal holds a scope, itself or by a group.
    pub fn holds(&self, principal: &Principal, scope: &Scope) -> bool {
        let grants = |group: &String| self.groups.get(group).is_some_and(|g| g.scopes.contains(scope));
        principal.is_admin || principal.scopes.contains(scope) || principal.groups.iter().any(grants)
    }

    /// Returns the first required scope the principal does not hold; `None` means they may. Asks the same
    /// as [`Grants::missing`] without adding anything up first, since every call asks it.
    pub fn missing<'a>(&self, principal: &Principal, required: &'a [Scope]) -> Option<&'a Scope> {
        required.iter().find(|scope| !self.holds(principal, scope))
    }

    /// Says whether a token was revoked.
    pub fn is_revoked(&self, token: &str) -> bool {
        self.revoked.contains(token)
    }

    /// Returns how many servers and virtual servers it routes.
    pub fn sizes(&self) -> (usize, usize) {
        (self.servers.len(), self.virtual_servers.len())
    }
}

#[cfg(test)]
mod tests;
