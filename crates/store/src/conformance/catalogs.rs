//! Cases about the catalog as a whole: what is kept, deleted, refused, and counted.

use std::sync::Arc;

use catalog::inventory::Item;
use catalog::rights::ScopeDocument;

use super::samples::*;
use super::{Twin, assert_same};
use crate::change::{Change, Edit, Expect};
use crate::{Error, Store};

pub(super) async fn begins_empty(open: &impl AsyncFn() -> Box<dyn Store>) {
    let twin = Twin::open(open).await;
    twin.check().await;
    twin.reopen(open).await;
}

pub(super) async fn keeps_everything(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    let mut watcher = twin.store.changes();
    twin.apply(everything()).await;
    assert!(watcher.has_changed().expect("the store is open"), "watchers hear of a change");
    assert_eq!(*watcher.borrow_and_update(), 1);
    twin.reopen(open).await;
}

pub(super) async fn keeps_bytes_as_they_are(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut odd = inventory(&["search", "search", "schön", "a\"b\\c\n"]);
    odd.tools.push(Item {
        name: "deep".into(),
        json: "{\"name\":\"deep\",\"s\":{\"\\ud83d\\ude00\":[ ]\t}}".into(),
    });
    odd.tools.push(Item {
        name: "other than inside".into(),
        json: "{\"name\":\"x\",\"n\":1e400,\"n\":0.10}".into(),
    });
    odd.server_info = "{\"name\" :\"a\\u0062\",  \"version\":\"\"}".into();
    let mut twin = Twin::open(open).await;
    twin.put_server(server("/context7")).await;
    twin.apply(vec![Edit::PutInventory(key("/context7", "v1.5.0"), Arc::new(odd))]).await;
    twin.reopen(open).await;
}

pub(super) async fn keeps_large_inventories(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut large = bare_inventory();
    let text = "lorem ipsum ".repeat(400);
    for index in 0..1000 {
        let json = format!("{{\"name\":\"tool-{index}\",\"description\":\"{text}\"}}");
        large.tools.push(Item { name: format!("tool-{index}").into(), json: json.into() });
    }
    let mut twin = Twin::open(open).await;
    twin.put_server(server("/context7")).await;
    twin.apply(vec![Edit::PutInventory(key("/context7", "v2.0.0"), Arc::new(large))]).await;
    twin.reopen(open).await;
}

pub(super) async fn overwrites(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    twin.apply(everything()).await;
    let mut renamed = virtual_server("dev-tools");
    renamed.mappings.truncate(1);
    renamed.revision += 1;
    let mut revoked = token("0f");
    revoked.revoked_at = None;
    twin.apply(vec![
        Edit::PutInventory(key("/context7", "v1.5.0"), Arc::new(bare_inventory())),
        Edit::PutVirtualServer(Arc::new(renamed)),
        Edit::PutGroup(Arc::new(group("staff", 2))),
        Edit::PutScope(scope("docs-read"), Arc::new(ScopeDocument::described("other words"))),
        Edit::PutToken(Arc::new(revoked)),
    ])
    .await;
    let changed = server("/context7").written(NOW.plus_seconds(99), |server| server.tags.clear());
    twin.put_server(changed).await;
    twin.reopen(open).await;
}

pub(super) async fn deletes_what_was_named_and_nothing_else(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    twin.apply(everything()).await;
    // Paths that merely begin alike, or would match it as a pattern.
    for other in ["/context7/a", "/context77", "/context", "/context.", "/context_"] {
        twin.put_server(server(other)).await;
        twin.apply(vec![Edit::PutInventory(key(other, "v1.5.0"), Arc::new(inventory(&["search"])))]).await;
    }
    twin.apply(vec![Edit::DeleteServer(path("/context7"))]).await;
    twin.apply(vec![Edit::DeleteServer(path("/context."))]).await;
    assert_eq!(twin.catalog.servers.len(), 5, "the samples' other server, and four");
    twin.apply(vec![
        Edit::DeleteVirtualServer(slug("dev-tools")),
        Edit::DeleteGroup("staff".into()),
        Edit::DeleteScope(scope("docs-read")),
        Edit::DeleteToken("0f".into()),
    ])
    .await;
    // Again: deleting what is gone is no fault.
    twin.apply(vec![Edit::DeleteServer(path("/context7")), Edit::DeleteToken("0f".into())]).await;
    twin.reopen(open).await;
}

pub(super) async fn stores_nothing_of_a_change_that_is_refused(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    twin.apply(everything()).await;
    let edits = vec![
        Edit::DeleteServer(path("/context7")),
        Edit::DeleteVirtualServer(slug("dev-tools")),
        Edit::PutGroup(Arc::new(group("new", 1))),
    ];
    let holds = Expect::VirtualServer(slug("dev-tools"), Some(7));
    let fails = Expect::Group("staff".into(), Some(41));
    let refused = twin.store.apply(Change::new(edits).expecting(holds).expecting(fails)).await;
    let error = refused.expect_err("the second expectation fails");
    assert!(matches!(error, Error::Moved { current: Some(1), .. }), "{error}");
    twin.check().await;
    twin.reopen(open).await;
}

pub(super) async fn checks_expectations_of_every_kind(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    twin.apply(everything()).await;
    let at = twin.catalog.servers[&path("/context7")].revision;
    let cases = [
        (Expect::Server(path("/context7"), Some(at)), Ok(())),
        (Expect::Server(path("/context7"), Some(at + 1)), Err(Some(at))),
        (Expect::Server(path("/context7"), None), Err(Some(at))),
        (Expect::Server(path("/context"), None), Ok(())),
        (Expect::Server(path("/context"), Some(1)), Err(None)),
        (Expect::VirtualServer(slug("dev-tools"), Some(7)), Ok(())),
        (Expect::VirtualServer(slug("dev-tools"), Some(6)), Err(Some(7))),
        (Expect::VirtualServer(slug("dev-tools"), None), Err(Some(7))),
        (Expect::VirtualServer(slug("dev"), None), Ok(())),
        (Expect::VirtualServer(slug("dev"), Some(7)), Err(None)),
        (Expect::Group("staff".into(), Some(1)), Ok(())),
        (Expect::Group("staff".into(), Some(2)), Err(Some(1))),
        (Expect::Group("staff".into(), None), Err(Some(1))),
        (Expect::Group("Staff".into(), None), Ok(())),
        (Expect::Group("Staff".into(), Some(1)), Err(None)),
    ];
    for (expect, expected) in cases {
        let found = twin.store.apply(Change::default().expecting(expect.clone())).await;
        match (found, expected) {
            (Ok(revision), Ok(())) => twin.catalog.revision = revision,
            (Err(Error::Moved { current, .. }), Err(expected)) => assert_eq!(current, expected, "{expect:?}"),
            (found, expected) => panic!("{expect:?}: {found:?} instead of {expected:?}"),
        }
    }
    twin.check().await;
}

pub(super) async fn lets_one_of_two_writers_win(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    for round in 0..20 {
        let before = group("staff", round);
        twin.apply(vec![Edit::PutGroup(Arc::new(before.clone()))]).await;
        let write = |description: &str| {
            let mut next = before.clone();
            next.description = description.into();
            next.revision += 1;
            let expect = Expect::Group("staff".into(), Some(round));
            Change::new(vec![Edit::PutGroup(Arc::new(next))]).expecting(expect)
        };
        let (one, other) = (write("one"), write("other"));
        let (first, second) = tokio::join!(twin.store.apply(one.clone()), twin.store.apply(other.clone()));
        let (winner, loser) = if first.is_ok() { (one, second) } else { (other, first) };
        let error = loser.expect_err("one of the two loses");
        assert!(matches!(error, Error::Moved { current, .. } if current == Some(round + 1)), "{error}");
        winner.apply_to(&mut twin.catalog);
        twin.catalog.revision += 1;
        twin.check().await;
    }
}

pub(super) async fn counts_every_change_once(open: &impl AsyncFn() -> Box<dyn Store>) {
    let store: Arc<dyn Store> = Arc::from(open().await);
    let write = |index: u64| {
        let store = store.clone();
        async move { store.apply(Change::new(vec![Edit::PutGroup(Arc::new(group("staff", index)))])).await }
    };
    let tasks: Vec<_> = (0..40).map(|index| tokio::spawn(write(index))).collect();
    let mut revisions = Vec::new();
    for task in tasks {
        revisions.push(task.await.expect("the task ends").expect("the change is stored"));
        // A reader beside the writers sees a whole catalog, at a revision that was given out.
        let seen = store.load().await.expect("the catalog loads");
        assert!(seen.groups.contains_key("staff") && seen.revision <= 40);
    }
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=40).collect::<Vec<_>>());
    let expected = store.load().await.expect("the catalog loads");
    assert_eq!(*store.changes().borrow(), 40);
    drop(store);
    assert_same(&open().await.load().await.expect("the catalog loads"), &expected);
}

/// Something of every kind: the samples, and a second server with little in it.
fn everything() -> Vec<Edit> {
    let bare = catalog::server::Server::new(path("/team/github"), String::new(), bare_version("main"), NOW);
    let mut bare_virtual = virtual_server("bare");
    bare_virtual.mappings.clear();
    bare_virtual.overrides.clear();
    bare_virtual.instructions = None;
    bare_virtual.owner = None;
    vec![
        Edit::put_server(None, Arc::new(server("/context7"))),
        Edit::put_server(None, Arc::new(bare)),
        Edit::PutInventory(key("/context7", "v1.5.0"), Arc::new(inventory(&["search", "resolve"]))),
        Edit::PutInventory(key("/team/github", "main"), Arc::new(inventory_of_both())),
        Edit::PutVirtualServer(Arc::new(virtual_server("dev-tools"))),
        Edit::PutVirtualServer(Arc::new(bare_virtual)),
        Edit::PutGroup(Arc::new(group("staff", 1))),
        Edit::PutGroup(Arc::new(group("Gäste & Freunde", 3))),
        Edit::PutScope(scope("docs-read"), Arc::new(scope_document())),
        Edit::PutScope(scope("bare"), Arc::default()),
        Edit::PutToken(Arc::new(token("0f"))),
        Edit::PutToken(Arc::new(token("ff"))),
    ]
}
