//! The suite every store passes, whole. It only uses the trait, panics with the reason where a store fails,
//! and is part of the crate so that other crates' stores can run it.

mod audits;
mod catalogs;
mod connections;
mod ratings;
pub(crate) mod samples;
mod sessions;
mod versions;

use std::sync::Arc;

use catalog::Catalog;

use crate::Store;
use crate::change::{Change, Edit};

/// Runs every case.
///
/// `fresh` makes a new, empty place (a directory, a database); `open` opens the store that is kept there,
/// the first time and again. A case that opens a second time has dropped the store before.
pub async fn run<Place>(fresh: impl AsyncFn() -> Place, open: impl AsyncFn(&Place) -> Box<dyn Store>) {
    macro_rules! each {
        ($($case:path),* $(,)?) => {
            $({
                let place = fresh().await;
                $case(&async || open(&place).await).await;
            })*
        };
    }
    each!(
        catalogs::begins_empty,
        catalogs::keeps_everything,
        catalogs::keeps_bytes_as_they_are,
        catalogs::keeps_large_inventories,
        catalogs::overwrites,
        catalogs::deletes_what_was_named_and_nothing_else,
        catalogs::stores_nothing_of_a_change_that_is_refused,
        catalogs::checks_expectations_of_every_kind,
        catalogs::lets_one_of_two_writers_win,
        catalogs::counts_every_change_once,
        versions::switch_and_back_restores_exactly,
        versions::removal_takes_the_inventory_along,
        versions::inventory_of_an_absent_version_is_ignored,
        versions::a_server_made_anew_inherits_nothing,
        connections::are_kept_replaced_and_deleted,
        connections::go_with_their_server,
        ratings::are_kept_and_replaced,
        ratings::go_with_their_object,
        ratings::of_what_is_not_there_are_ignored,
        audits::are_kept_with_their_change,
        audits::are_found_by_what_was_asked,
        audits::are_swept,
        sessions::are_kept_and_overwritten,
        sessions::end_at_their_time,
        sessions::are_forgotten,
        sessions::are_swept,
        sessions::survive_a_restart,
    );
}

/// Panics where two catalogs differ in anything, and names the first thing that does.
pub fn assert_same(found: &Catalog, expected: &Catalog) {
    assert_eq!(found.revision, expected.revision, "the revision");
    same_entries("server", found.servers.iter(), expected.servers.iter());
    let mut inventories: Vec<_> = found.inventories.iter().collect();
    let mut expected_inventories: Vec<_> = expected.inventories.iter().collect();
    inventories.sort_by_key(|(key, _)| *key);
    expected_inventories.sort_by_key(|(key, _)| *key);
    same_entries("inventory", inventories.into_iter(), expected_inventories.into_iter());
    same_entries("virtual server", found.virtual_servers.iter(), expected.virtual_servers.iter());
    same_entries("group", found.groups.iter(), expected.groups.iter());
    same_entries("scope", found.scopes.iter(), expected.scopes.iter());
    same_entries("token", found.tokens.iter(), expected.tokens.iter());
    same_entries("connection", found.connections.iter(), expected.connections.iter());
    same_entries("rating", found.ratings.iter(), expected.ratings.iter());
}

fn same_entries<Entry: PartialEq + std::fmt::Debug>(
    kind: &str,
    found: impl ExactSizeIterator<Item = Entry>,
    expected: impl ExactSizeIterator<Item = Entry>,
) {
    let (found_count, expected_count) = (found.len(), expected.len());
    for (found, expected) in found.zip(expected) {
        assert_eq!(found, expected, "a {kind} differs");
    }
    assert_eq!(found_count, expected_count, "the number of entries of the kind {kind}");
}

/// A store beside the catalog it ought to hold.
struct Twin {
    store: Box<dyn Store>,
    catalog: Catalog,
}

impl Twin {
    /// Opens a store that is still empty.
    async fn open(open: &impl AsyncFn() -> Box<dyn Store>) -> Self {
        Self { store: open().await, catalog: Catalog::default() }
    }

    /// Applies a change to both and checks that they agree.
    async fn apply(&mut self, edits: Vec<Edit>) {
        let change = Change::new(edits);
        let revision = self.store.apply(change.clone()).await.expect("the change is stored");
        assert_eq!(revision, self.catalog.revision + 1, "each change adds one to the revision");
        change.apply_to(&mut self.catalog);
        self.catalog.revision = revision;
        self.check().await;
    }

    /// Checks that the store holds what it ought to.
    async fn check(&self) {
        assert_same(&self.store.load().await.expect("the catalog loads"), &self.catalog);
        assert_eq!(*self.store.changes().borrow(), self.catalog.revision, "the revision that watchers see");
    }

    /// Closes the store, opens it again, and checks it.
    async fn reopen(self, open: &impl AsyncFn() -> Box<dyn Store>) -> Self {
        let Self { store, catalog } = self;
        drop(store);
        let twin = Self { store: open().await, catalog };
        twin.check().await;
        twin
    }

    /// Writes a server, given how it was before.
    async fn put_server(&mut self, server: catalog::server::Server) {
        let old = self.catalog.servers.get(&server.path).cloned();
        self.apply(vec![Edit::put_server(old.as_deref(), Arc::new(server))]).await;
    }
}
