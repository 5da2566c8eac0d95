//! What happens when the directory is taken, a row is nonsense, a file is damaged, or a key has changed.

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use catalog::rights::ScopeDocument;
use catalog::server::Server;
use rusqlite::Connection;

use super::{EmbeddedStore, Reversing, open};
use crate::change::{Change, Edit, Expect};
use crate::conformance::assert_same;
use crate::conformance::samples::*;
use crate::embedded::{CATALOG_FILE, SESSIONS_FILE};
use crate::{Error, Store};

#[tokio::test]
async fn a_taken_directory_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path()).await;
    let error = attempt(place.path()).await.expect_err("it is taken");
    assert!(matches!(error, Error::InUse(_)));
    let directory = place.path().display();
    let expected = format!("the data directory {directory} is in use by another switchyard process");
    assert_eq!(error.to_string(), expected);
    let clone = store.clone();
    drop(store);
    assert!(attempt(place.path()).await.is_err(), "a clone still has it");
    drop(clone);
    open(place.path()).await;
}

#[tokio::test]
async fn files_are_the_owners_alone() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("deep").join("data");
    let store = open(&directory).await;
    store.apply(Change::default()).await.unwrap();
    store.keep_session("a", vec![1], NOW).await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    for file in std::fs::read_dir(&directory).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[tokio::test]
async fn an_impossible_directory_is_named() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let error = attempt(&file.join("data")).await.expect_err("it lies below a file").to_string();
    assert!(error.contains("cannot make the data directory") && error.contains("file/data"), "{error}");
}

#[tokio::test]
async fn credentials_are_not_in_the_files() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path()).await;
    store.apply(put(server("/context7"))).await.unwrap();
    for file in std::fs::read_dir(place.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"s3cret"));
    }
}

#[tokio::test]
async fn a_row_that_cannot_be_read_costs_only_itself() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path()).await;
    let mut edits: Vec<Edit> = Vec::new();
    for at in ["/good", "/bad-head", "/bad-active", "/bad-inactive", "/bad-inventory"] {
        edits.push(Edit::put_server(None, Arc::new(server(at))));
        edits.push(Edit::PutInventory(key(at, "v2.0.0"), Arc::new(inventory(&["search"]))));
    }
    edits.push(Edit::PutVirtualServer(Arc::new(virtual_server("good"))));
    edits.push(Edit::PutVirtualServer(Arc::new(virtual_server("bad"))));
    edits.push(Edit::PutGroup(Arc::new(group("good", 1))));
    edits.push(Edit::PutGroup(Arc::new(group("bad", 1))));
    edits.push(Edit::PutToken(Arc::new(token("bad"))));
    edits.push(Edit::PutScope(scope("bad"), Arc::default()));
    edits.push(Edit::PutScope(scope("torn"), Arc::new(scope_document())));
    store.apply(Change::new(edits)).await.unwrap();
    tamper(
        place.path(),
        "UPDATE servers SET record = '{' WHERE path = '/bad-head';
         UPDATE versions SET record = json_set(record, '$.proxy_pass_url', 'nowhere')
            WHERE path = '/bad-active' AND label = 'v2.0.0';
         UPDATE versions SET record = json_remove(record, '$.registered_at')
            WHERE path = '/bad-inactive' AND label = 'v1.5.0';
         UPDATE inventories SET tools = '[[\"search\"]]' WHERE path = '/bad-inventory';
         UPDATE virtual_servers SET record = json_set(record, '$.tool_mappings[0].alias', 'a b')
            WHERE slug = 'bad';
         UPDATE groups SET record = '[]' WHERE name = 'bad';
         UPDATE tokens SET record = CAST(x'ff' AS TEXT);
         UPDATE scopes SET name = 'a b' WHERE name = 'bad';
         UPDATE scopes SET record = '{' WHERE name = 'torn';",
    );
    let found = store.load().await.unwrap();
    assert_eq!(found.revision, 1);
    let servers: Vec<_> = found.servers.keys().map(|path| path.as_str()).collect();
    assert_eq!(servers, ["/bad-inactive", "/bad-inventory", "/good"]);
    assert_eq!(found.servers["/bad-inactive"].versions().len(), 1);
    assert_eq!(*found.servers["/good"], server("/good"));
    assert_eq!(found.inventories.len(), 2, "of /good and /bad-inactive");
    assert!(found.virtual_servers.keys().map(|slug| slug.as_str()).eq(["good"]));
    assert!(found.groups.keys().eq(["good"]));
    assert_eq!(found.scopes.len(), 1);
    assert_eq!(*found.scopes["torn"], ScopeDocument::stand_in(), "what it guarded does not lie open");
    assert!(found.tokens["bad"].revoked_at.is_some(), "whether it was revoked nobody knows");
    let places: Vec<_> = found.unreadable.keys().map(ToString::to_string).collect();
    let servers = ["/bad-active", "/bad-head"];
    let versions = ["version v2.0.0 of /bad-active", "version v1.5.0 of /bad-inactive"];
    let others = [
        "/virtual/bad",
        "group bad",
        "token bad",
        "inventory /bad-inventory:v2.0.0",
        "scope a b",
        "scope torn",
    ];
    assert_eq!(places, [&servers[..], &versions[..], &others[..]].concat());
}

#[tokio::test]
async fn a_token_whose_row_is_of_another_or_unreadable_is_revoked() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path()).await;
    let mut revoked = token("0a");
    revoked.revoked_at = Some(NOW);
    let live = catalog::token::IssuedToken { revoked_at: None, ..token("0b") };
    let edits = vec![Edit::PutToken(Arc::new(revoked)), Edit::PutToken(Arc::new(live.clone()))];
    store.apply(Change::new(edits)).await.unwrap();
    for damage in ["json_set(record, '$.id', '0b', '$.revoked_at', NULL)", "'{'"] {
        tamper(place.path(), &format!("UPDATE tokens SET record = {damage} WHERE id = '0a'"));
        let found = store.load().await.unwrap();
        assert!(!found.tokens["0a"].is_live(NOW) && found.tokens["0a"].revoked_at.is_some(), "{damage}");
        assert_eq!(*found.tokens["0b"], live, "the other one is as it was");
    }
}

#[tokio::test]
async fn a_path_whose_server_cannot_be_read_is_free_once_it_is_deleted() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path()).await;
    store.apply(put(server("/context7"))).await.unwrap();
    tamper(place.path(), "UPDATE servers SET record = '{'");
    let anew = Server::new(path("/context7"), "anew".into(), bare_version("main"), NOW);
    let expect = Expect::Server(path("/context7"), None);
    let error =
        store.apply(put(anew.clone()).expecting(expect.clone())).await.expect_err("a record is there");
    assert!(matches!(error, Error::Moved { .. }));
    let mut seen = store.load().await.unwrap();
    let delete = Change::new(vec![Edit::DeleteServer(path("/context7"))]);
    delete.apply_to(&mut seen);
    store.apply(delete).await.unwrap();
    assert!(seen.unreadable.is_empty() && store.load().await.unwrap().unreadable.is_empty());
    store.apply(put(anew.clone()).expecting(expect.clone())).await.unwrap();
    let found = store.load().await.unwrap();
    assert_eq!(*found.servers["/context7"], anew, "with nothing of the old one");
    let error = store.apply(put(anew).expecting(expect)).await.expect_err("it can be read now");
    assert!(matches!(error, Error::Moved { current: Some(1), .. }));
}

#[tokio::test]
async fn members_of_a_newer_program_are_ignored() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path()).await;
    store.apply(put(server("/context7"))).await.unwrap();
    let key = key("/context7", "v1.5.0");
    let inventory = Edit::PutInventory(key, Arc::new(inventory(&["search"])));
    let one = Edit::PutVirtualServer(Arc::new(virtual_server("dev-tools")));
    store.apply(Change::new(vec![inventory, one])).await.unwrap();
    let before = store.load().await.unwrap();
    for table in ["servers", "versions", "inventories", "virtual_servers"] {
        tamper(
            place.path(),
            &format!("UPDATE {table} SET record = json_set(record, '$.later', json('[{{}}]'))"),
        );
    }
    assert_same(&store.load().await.unwrap(), &before);
}

#[tokio::test]
async fn another_key_leaves_out_what_it_cannot_open() {
    let place = tempfile::tempdir().unwrap();
    let bare = Server::new(path("/bare"), "Bare".into(), bare_version("main"), NOW);
    let sealed = Server::new(path("/sealed"), "Sealed".into(), version("main"), NOW);
    let store = open(place.path()).await;
    store.apply(put(bare.clone())).await.unwrap();
    store.apply(put(sealed.clone())).await.unwrap();
    drop(store);
    let other = EmbeddedStore::open(place.path(), Arc::new(Reversing("another"))).await.unwrap();
    let found = other.load().await.unwrap();
    assert!(found.servers.keys().map(|path| path.as_str()).eq(["/bare"]));
    drop(other);
    let found = open(place.path()).await.load().await.unwrap();
    assert_eq!(*found.servers["/sealed"], sealed, "under the right key nothing is lost");
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let place = tempfile::tempdir().unwrap();
    drop(open(place.path()).await);
    tamper(place.path(), "PRAGMA user_version = 99");
    let error = attempt(place.path()).await.expect_err("it is newer");
    assert!(matches!(error, Error::Newer { found: 99, .. }), "{error}");
    tamper(place.path(), "PRAGMA user_version = -1");
    assert!(attempt(place.path()).await.is_err());
}

#[tokio::test]
async fn a_damaged_catalog_is_refused() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(
        place.path().join(CATALOG_FILE),
        "this is no database, and long enough to be one".repeat(99),
    )
    .unwrap();
    let error = attempt(place.path()).await.expect_err("it is damaged");
    assert!(matches!(error, Error::Corrupt(_)), "{error}");
}

#[tokio::test]
async fn damaged_pages_are_found_on_loading() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path()).await;
    for index in 0..50 {
        store.apply(put(server(&format!("/server-{index}")))).await.unwrap();
    }
    drop(store);
    let file = std::fs::OpenOptions::new().write(true).open(place.path().join(CATALOG_FILE)).unwrap();
    let length = file.metadata().unwrap().len();
    for page in 1..length / 16_384 {
        file.write_all_at(&[0xaa; 64], page * 16_384).unwrap();
    }
    let error = match attempt(place.path()).await {
        Ok(store) => store.load().await.expect_err("pages are damaged"),
        Err(error) => error,
    };
    assert!(matches!(error, Error::Corrupt(_)), "{error}");
}

#[tokio::test]
async fn damaged_sessions_are_begun_anew() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path()).await;
    store.apply(put(server("/context7"))).await.unwrap();
    store.keep_session("a", vec![1], NOW.plus_seconds(60)).await.unwrap();
    drop(store);
    std::fs::write(place.path().join(SESSIONS_FILE), "nonsense ".repeat(999)).unwrap();
    let store = open(place.path()).await;
    assert_eq!(store.session("a", NOW).await.unwrap(), None);
    store.keep_session("a", vec![2], NOW.plus_seconds(60)).await.unwrap();
    assert_eq!(store.session("a", NOW).await.unwrap(), Some(vec![2]));
    assert_eq!(store.load().await.unwrap().servers.len(), 1);
}

#[tokio::test]
async fn other_tools_may_read_meanwhile() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path()).await;
    store.apply(put(server("/context7"))).await.unwrap();
    let other = Connection::open(place.path().join(CATALOG_FILE)).unwrap();
    let reading = other.unchecked_transaction().unwrap();
    let active = "SELECT record ->> 'active_version' FROM servers";
    let read = || reading.query_row(active, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(read(), "v2.0.0");
    let switched = server("/context7").activate("v1.5.0", NOW).unwrap();
    store.apply(put(switched)).await.expect("a reader holds up no writer");
    assert_eq!(read(), "v2.0.0", "and sees one moment");
    drop(reading);
    assert_eq!(other.query_row(active, [], |row| row.get::<_, String>(0)).unwrap(), "v1.5.0");
}

async fn attempt(directory: &Path) -> Result<EmbeddedStore, Error> {
    EmbeddedStore::open(directory, Arc::new(Reversing("key"))).await
}

fn put(server: Server) -> Change {
    Change::new(vec![Edit::put_server(None, Arc::new(server))])
}

fn tamper(directory: &Path, sql: &str) {
    Connection::open(directory.join(CATALOG_FILE)).unwrap().execute_batch(sql).unwrap();
}
