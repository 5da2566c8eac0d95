//! Cases about a server's versions and their inventories.

use std::sync::Arc;

use super::Twin;
use super::samples::*;
use crate::Store;
use crate::change::Edit;

pub(super) async fn switch_and_back_restores_exactly(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    let before = server("/context7");
    twin.put_server(before.clone()).await;
    twin.apply(vec![Edit::PutInventory(key("/context7", "v1.5.0"), Arc::new(inventory(&["search"])))]).await;
    let switched = before.activate("v1.5.0", NOW.plus_seconds(10)).expect("a known label");
    let edit = Edit::put_server(Some(&before), Arc::new(switched.clone()));
    let Edit::PutServer { versions, removed, .. } = &edit else { panic!("it writes a server") };
    assert!(versions.is_empty() && removed.is_empty(), "a switch writes the pointer and nothing else");
    twin.apply(vec![edit]).await;
    assert_eq!(twin.catalog.servers[&path("/context7")].active().label, label("v1.5.0"));
    let back = switched.activate("v2.0.0", NOW.plus_seconds(20)).expect("a known label");
    twin.put_server(back).await;
    let twin = twin.reopen(open).await;
    let after = &twin.catalog.servers[&path("/context7")];
    assert_eq!(after.active(), before.active());
    assert!(after.versions().eq(before.versions()), "every version is as it was");
}

pub(super) async fn removal_takes_the_inventory_along(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    let before = server("/context7");
    twin.put_server(before.clone()).await;
    for version in ["v1.5.0", "v2.0.0"] {
        twin.apply(vec![Edit::PutInventory(key("/context7", version), Arc::new(inventory(&["search"])))])
            .await;
    }
    let without = before.remove("v1.5.0", NOW).expect("an inactive version");
    twin.put_server(without.clone()).await;
    assert_eq!(twin.catalog.inventories.len(), 1);
    // The same label again is another version, which nobody has read yet.
    twin.put_server(without.add(version("v1.5.0"), NOW).expect("a free label")).await;
    assert_eq!(twin.catalog.inventories.len(), 1);
    twin.reopen(open).await;
}

pub(super) async fn inventory_of_an_absent_version_is_ignored(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    twin.put_server(server("/context7")).await;
    let late = |server: &str, version: &str| {
        Edit::PutInventory(key(server, version), Arc::new(inventory(&["search"])))
    };
    twin.apply(vec![late("/context7", "v3.0.0"), late("/context", "v1.5.0")]).await;
    assert!(twin.catalog.inventories.is_empty());
    // Within one change, what the earlier edits did counts.
    let other = Edit::put_server(None, Arc::new(server("/other")));
    twin.apply(vec![other, late("/other", "v1.5.0")]).await;
    assert_eq!(twin.catalog.inventories.len(), 1);
    twin.reopen(open).await;
}

pub(super) async fn a_server_made_anew_inherits_nothing(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    twin.put_server(server("/context7")).await;
    twin.apply(vec![Edit::PutInventory(key("/context7", "v1.5.0"), Arc::new(inventory(&["search"])))]).await;
    let anew = catalog::server::Server::new(path("/context7"), "anew".into(), version("v1.5.0"), NOW);
    let edits = vec![Edit::DeleteServer(path("/context7")), Edit::put_server(None, Arc::new(anew))];
    twin.apply(edits).await;
    assert_eq!(twin.catalog.servers[&path("/context7")].versions().len(), 1);
    assert!(twin.catalog.inventories.is_empty());
    twin.reopen(open).await;
}
