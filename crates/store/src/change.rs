//! What can be written: every edit there is, and what must hold for it to be written.

use std::sync::Arc;

use catalog::access::{Group, Scope};
use catalog::connection::{Connection, ConnectionKey};
use catalog::inventory::Inventory;
use catalog::name::{ServerPath, Slug, VersionLabel};
use catalog::rating::{Rated, Stars};
use catalog::rights::ScopeDocument;
use catalog::server::Server;
use catalog::token::{IssuedToken, TokenId};
use catalog::unreadable::Place;
use catalog::virtual_server::VirtualServer;
use catalog::{Catalog, VersionKey};

use crate::audit::Entry;

/// Edits that are stored together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Carried out in this order.
    pub edits: Vec<Edit>,
    /// Must all hold before the first edit, else nothing is stored.
    pub expects: Vec<Expect>,
    /// Goes into the audit trail, if the change is stored.
    pub entry: Option<Entry>,
}

/// One edit of the catalog.
#[derive(Clone, Debug)]
pub enum Edit {
    /// Writes what all versions of a server share, and the records of some versions.
    ///
    /// [`Edit::put_server`] finds out which.
    PutServer {
        /// The server as it will be, with all its versions.
        server: Arc<Server>,
        /// Versions whose records are new or changed.
        versions: Vec<VersionLabel>,
        /// Versions that are gone; their inventories go with them.
        removed: Vec<VersionLabel>,
    },
    /// Deletes a server with all its versions, inventories and ratings, and what users allowed at it.
    DeleteServer(ServerPath),
    /// Writes what a version was seen to offer. Does nothing where the version is gone meanwhile.
    PutInventory(VersionKey, Arc<Inventory>),
    /// Writes a virtual server.
    PutVirtualServer(Arc<VirtualServer>),
    /// Deletes a virtual server and its ratings.
    DeleteVirtualServer(Slug),
    /// Writes a group.
    PutGroup(Arc<Group>),
    /// Deletes a group.
    DeleteGroup(String),
    /// Writes a scope with its document.
    PutScope(Scope, Arc<ScopeDocument>),
    /// Deletes a scope's document.
    DeleteScope(Scope),
    /// Writes the record of a token.
    PutToken(Arc<IssuedToken>),
    /// Deletes the record of a token. Only sound once the token has expired.
    DeleteToken(TokenId),
    /// Writes what a user allowed at a server. Does nothing where the server is gone meanwhile.
    PutConnection(Arc<Connection>),
    /// Deletes what a user allowed at a server.
    DeleteConnection(ConnectionKey),
    /// Writes what a user thinks of something, in place of what they thought before. Moves no revision of the
    /// object, and does nothing where it is gone meanwhile.
    PutRating {
        /// The object.
        rated: Rated,
        /// The user's subject.
        user: Arc<str>,
        /// What they give it.
        stars: Stars,
    },
}

/// What must hold when a change is stored: the revision of an object, `None` for "must not exist".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Of a server.
    Server(ServerPath, Option<u64>),
    /// Of a virtual server.
    VirtualServer(Slug, Option<u64>),
    /// Of a group.
    Group(String, Option<u64>),
}

impl Change {
    /// Makes a change of its edits, without expectations.
    pub fn new(edits: Vec<Edit>) -> Self {
        Self { edits, ..Self::default() }
    }

    /// Adds an expectation.
    pub fn expecting(mut self, expect: Expect) -> Self {
        self.expects.push(expect);
        self
    }

    /// Adds the entry of the audit trail.
    pub fn with_entry(mut self, entry: Entry) -> Self {
        self.entry = Some(entry);
        self
    }

    /// Does to a catalog in memory what a store does to its rows. Leaves the catalog's revision alone, which
    /// the store gives.
    pub fn apply_to(&self, catalog: &mut Catalog) {
        for edit in &self.edits {
            edit.apply_to(catalog);
        }
    }
}

impl Edit {
    /// Writes a server, with those version records that differ from `old`.
    pub fn put_server(old: Option<&Server>, server: Arc<Server>) -> Self {
        let kept = |label: &VersionLabel| old.and_then(|old| old.version(label.as_str()));
        let differs = server.versions().filter(|version| kept(&version.label) != Some(*version));
        let versions = differs.map(|version| version.label.clone()).collect();
        let before = old.into_iter().flat_map(Server::versions).map(|version| &version.label);
        let removed = before.filter(|label| server.version(label.as_str()).is_none()).cloned().collect();
        Self::PutServer { server, versions, removed }
    }

    fn apply_to(&self, catalog: &mut Catalog) {
        match self {
            Self::PutServer { server, versions, removed } => {
                clear(catalog, &Place::Server(server.path.clone()));
                if !catalog.servers.contains_key(&server.path) {
                    clear_versions(catalog, &server.path);
                }
                for label in versions.iter().chain(removed) {
                    clear(catalog, &Place::Version(VersionKey::new(&server.path, label)));
                }
                Arc::make_mut(&mut catalog.servers).insert(server.path.clone(), server.clone());
                for label in removed {
                    drop_inventory(catalog, &VersionKey::new(&server.path, label));
                }
            }
            Self::DeleteServer(path) => {
                clear(catalog, &Place::Server(path.clone()));
                clear_versions(catalog, path);
                let Some(server) = Arc::make_mut(&mut catalog.servers).remove(path) else { return };
                drop_ratings(catalog, &Rated::Server(path.clone()));
                if catalog.connections.keys().any(|key| key.server == *path) {
                    Arc::make_mut(&mut catalog.connections).retain(|key, _| key.server != *path);
                }
                for version in server.versions() {
                    drop_inventory(catalog, &VersionKey::new(path, &version.label));
                }
            }
            Self::PutInventory(key, inventory) => {
                let server = catalog.servers.get(&key.path);
                if server.is_some_and(|server| server.version(key.label.as_str()).is_some()) {
                    Arc::make_mut(&mut catalog.inventories).insert(key.clone(), inventory.clone());
                }
            }
            Self::PutVirtualServer(one) => {
                clear(catalog, &Place::VirtualServer(one.slug.clone()));
                Arc::make_mut(&mut catalog.virtual_servers).insert(one.slug.clone(), one.clone());
            }
            Self::DeleteVirtualServer(slug) => {
                clear(catalog, &Place::VirtualServer(slug.clone()));
                Arc::make_mut(&mut catalog.virtual_servers).remove(slug);
                drop_ratings(catalog, &Rated::VirtualServer(slug.clone()));
            }
            Self::PutGroup(group) => {
                clear(catalog, &Place::Group(group.name.clone()));
                Arc::make_mut(&mut catalog.groups).insert(group.name.clone(), group.clone());
            }
            Self::DeleteGroup(name) => {
                clear(catalog, &Place::Group(name.clone()));
                Arc::make_mut(&mut catalog.groups).remove(name);
            }
            Self::PutScope(scope, document) => {
                Arc::make_mut(&mut catalog.scopes).insert(scope.clone(), document.clone());
            }
            Self::DeleteScope(scope) => {
                Arc::make_mut(&mut catalog.scopes).remove(scope);
            }
            Self::PutToken(token) => {
                clear(catalog, &Place::Token(token.id.clone()));
                Arc::make_mut(&mut catalog.tokens).insert(token.id.clone(), token.clone());
            }
            Self::DeleteToken(id) => {
                clear(catalog, &Place::Token(id.clone()));
                Arc::make_mut(&mut catalog.tokens).remove(id);
            }
            Self::PutConnection(one) => {
                if catalog.servers.contains_key(&one.key.server) {
                    Arc::make_mut(&mut catalog.connections).insert(one.key.clone(), one.clone());
                }
            }
            Self::DeleteConnection(key) => {
                Arc::make_mut(&mut catalog.connections).remove(key);
            }
            Self::PutRating { rated, user, stars } => {
                let is_there = match rated {
                    Rated::Server(path) => catalog.servers.contains_key(path),
                    Rated::VirtualServer(slug) => catalog.virtual_servers.contains_key(slug),
                };
                if is_there {
                    let ratings = Arc::make_mut(&mut catalog.ratings).entry(rated.clone()).or_default();
                    Arc::make_mut(ratings).0.insert(user.clone(), *stars);
                }
            }
        }
    }
}

/// Forgets a record that could not be read and is written over or deleted.
fn clear(catalog: &mut Catalog, place: &Place) {
    if catalog.unreadable.contains_key(place) {
        Arc::make_mut(&mut catalog.unreadable).remove(place);
    }
}

fn clear_versions(catalog: &mut Catalog, path: &ServerPath) {
    let is_of_it = |place: &Place| matches!(place, Place::Version(key) if key.path == *path);
    if catalog.unreadable.keys().any(is_of_it) {
        Arc::make_mut(&mut catalog.unreadable).retain(|place, _| !is_of_it(place));
    }
}

fn drop_inventory(catalog: &mut Catalog, key: &VersionKey) {
    if catalog.inventories.contains_key(key) {
        Arc::make_mut(&mut catalog.inventories).remove(key);
    }
}

fn drop_ratings(catalog: &mut Catalog, rated: &Rated) {
    if catalog.ratings.contains_key(rated) {
        Arc::make_mut(&mut catalog.ratings).remove(rated);
    }
}
