//! What the registry knows: servers with their versions, virtual servers, inventories, groups and tokens,
//! and the rules they obey.
//!
//! Everything here is true without a network: no wire format, no clock, no database. Times come in as
//! arguments, JSON that backends wrote is kept as the text it was.
#![warn(missing_docs)]

pub mod access;
pub mod authorization;
pub mod connection;
pub mod endpoint;
pub mod error;
mod invalid;
pub mod inventory;
pub mod name;
pub mod prose;
pub mod rating;
pub mod rights;
mod scope;
mod secret;
pub mod server;
pub mod time;
pub mod token;
pub mod unreadable;
pub mod virtual_server;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use access::{Group, Scope};
use connection::{Connection, ConnectionKey};
use inventory::Inventory;
use name::{ServerPath, Slug, VersionLabel};
use rating::{Rated, Ratings};
use rights::ScopeDocument;
use server::Server;
use token::{IssuedToken, TokenId};
use unreadable::Place;
use virtual_server::VirtualServer;

/// Everything the registry knows at one revision.
///
/// Cheap to clone: each section is shared until one of the copies changes it.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Grows with every change that was stored.
    pub revision: u64,
    /// Servers by path, each with all its versions.
    pub servers: Arc<BTreeMap<ServerPath, Arc<Server>>>,
    /// What each version was last seen to offer.
    pub inventories: Arc<HashMap<VersionKey, Arc<Inventory>>>,
    /// Virtual servers by slug.
    pub virtual_servers: Arc<BTreeMap<Slug, Arc<VirtualServer>>>,
    /// Groups by name.
    pub groups: Arc<BTreeMap<String, Arc<Group>>>,
    /// Scopes that were described, by name, and what they allow. A scope need not be described to be used.
    pub scopes: Arc<BTreeMap<Scope, Arc<ScopeDocument>>>,
    /// Tokens we issued, by id. Revoked ones stay until they would have expired.
    pub tokens: Arc<BTreeMap<TokenId, Arc<IssuedToken>>>,
    /// What users allowed at backends.
    pub connections: Arc<BTreeMap<ConnectionKey, Arc<Connection>>>,
    /// Ratings of what was rated.
    pub ratings: Arc<BTreeMap<Rated, Arc<Ratings>>>,
    /// Where a stored record cannot be read, and why. Not part of any other section.
    pub unreadable: Arc<BTreeMap<Place, String>>,
}

/// Names one version of one server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VersionKey {
    /// The server's path.
    pub path: ServerPath,
    /// The version's label.
    pub label: VersionLabel,
}

impl VersionKey {
    /// Joins a path and a label.
    pub fn new(path: &ServerPath, label: &VersionLabel) -> Self {
        Self { path: path.clone(), label: label.clone() }
    }
}

impl Catalog {
    /// Returns the inventory of a version, if its backend was ever read.
    pub fn inventory(&self, path: &ServerPath, label: &VersionLabel) -> Option<&Arc<Inventory>> {
        self.inventories.get(&VersionKey::new(path, label))
    }

    /// Returns the average of an object's ratings; 0 without any.
    pub fn stars(&self, rated: &Rated) -> f64 {
        self.ratings.get(rated).map_or(0.0, |ratings| ratings.average())
    }

    /// Returns the virtual servers that map a tool of this server, with `label` only those that pin it.
    pub fn mapped_by(&self, path: &ServerPath, label: Option<&VersionLabel>) -> Vec<Slug> {
        let maps = |mapping: &virtual_server::Mapping| {
            mapping.server == *path && (label.is_none() || mapping.pin.as_ref() == label)
        };
        let found = self.virtual_servers.values().filter(|one| one.mappings.iter().any(maps));
        found.map(|one| one.slug.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
