//! Any catalog survives being written and read back; the shapes are the ones other programs rely on.

mod any;

use std::sync::Arc;

use catalog::Catalog;
use catalog::inventory::Inventory;
use catalog::server::{Status, Version, Visibility};
use catalog::time::Timestamp;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;
use crate::Store;
use crate::change::{Change, Edit};
use crate::conformance::{assert_same, samples};
use crate::embedded::EmbeddedStore;

/// Seals by doing nothing, so that shapes can be compared.
struct Plain;

impl Sealer for Plain {
    fn seal(&self, plain: &str) -> String {
        plain.into()
    }

    fn open(&self, sealed: &str) -> Option<String> {
        Some(sealed.into())
    }
}

proptest! {
    #[test]
    fn any_server_survives(server in any::servers()) {
        let head: ServerRecord = through_json(&ServerRecord::of(&server));
        let version = |version: &Arc<Version>| {
            through_json(&VersionRecord::of(&server.path, version, &Plain)).into_version(&Plain).unwrap()
        };
        prop_assert_eq!(head.into_server(server.versions().map(version).collect()).unwrap(), server);
    }

    #[test]
    fn any_virtual_server_survives(one in any::virtual_servers()) {
        let record: VirtualServerRecord = through_json(&VirtualServerRecord::of(&one));
        prop_assert_eq!(record.into_virtual_server().unwrap(), one);
    }

    #[test]
    fn any_inventory_survives(inventory in any::inventories()) {
        let key = samples::key("/context7", "v1.0.0");
        let record: InventoryRecord = through_json(&InventoryRecord::of(&key, &inventory));
        let lists = InventoryLists::of(&inventory);
        prop_assert_eq!(record.into_inventory(lists.as_str()).unwrap(), inventory);
    }

    #[test]
    fn any_group_and_token_survive(group in any::groups(), token in any::tokens()) {
        prop_assert_eq!(through_json(&GroupRecord::of(&group)).into_group().unwrap(), group);
        prop_assert_eq!(through_json(&TokenRecord::of(&token)).into_token().unwrap(), token);
    }

    #[test]
    fn nonsense_is_an_error_and_no_panic(text in ".*") {
        let lists = InventoryLists { tools: text.as_str(), ..InventoryLists::default() };
        let inventory = samples::bare_inventory();
        let record = InventoryRecord::of(&samples::key("/context7", "v1.0.0"), &inventory);
        let _ = record.into_inventory(lists);
        let _ = serde_json::from_str::<ServerRecord>(&text);
        let _ = serde_json::from_str::<VersionRecord>(&text);
    }
}

proptest! {
    // Each case makes a database.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_catalog_survives(expected in any::catalogs()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let found = runtime.block_on(async {
            let place = tempfile::tempdir().unwrap();
            let store = EmbeddedStore::open(place.path(), Arc::new(Plain)).await.unwrap();
            store.apply(Change::new(edits(&expected))).await.unwrap();
            store.load().await.unwrap()
        });
        assert_same(&found, &expected);
    }
}

#[test]
fn shapes_keep_the_names_of_the_original() {
    let server = samples::server("/context7");
    check(
        &ServerRecord::of(&server),
        r#"{"path":"/context7","server_name":"Context7 📚","version_group":"context7","active_version":"v2.0.0",
        "tags":["documentation","search"],"registered_by":"ada","license":"MIT","visibility":"group-restricted",
        "allowed_groups":["staff","guests"],"required_scopes":["docs-read","docs/all"],"is_enabled":true,
        "strict_versions":true,"revision":4,"registered_at":"2026-01-10T00:00:00.123Z",
        "updated_at":"2026-01-10T00:00:05.123Z"}"#,
    );
    check(
        &VersionRecord::of(&server.path, server.version("v1.5.0").unwrap(), &Plain),
        r#"{"path":"/context7","version":"v1.5.0",
        "proxy_pass_url":"https://v1.5.0.mcp.example.com:8443/mcp?tenant=a%20b",
        "headers":[{"name":"authorization","sealed_value":"Bearer s3cret-token"},
        {"name":"x-team","sealed_value":"Größe \"1\""}],"era":"modern","description":"Up-to-date docs, v1.5.0",
        "status":"deprecated","release_date":"2025-11-15","deprecated_at":"2026-01-09T23:59:00.123Z",
        "sunset_date":"2026-06-01","registered_at":"2026-01-09T23:00:00.123Z",
        "updated_at":"2026-01-10T00:00:00.123Z"}"#,
    );
    check(
        &InventoryRecord::of(&samples::key("/context7", "v1.5.0"), &samples::inventory(&["a", "b"])),
        r#"{"path":"/context7","version":"v1.5.0","era":"legacy","protocol_version":"2025-11-25",
        "server_info":"{\"name\":\"context7\", \"version\":\"2.14.5\"}",
        "capabilities":"{\"tools\":{\"listChanged\":true}}","instructions":"Ask for\nlibraries first.",
        "mcp_server_version":"2.14.5","mcp_server_version_previous":"2.14.4",
        "mcp_server_version_updated_at":"2026-01-10T00:00:00.123Z","num_tools":2,
        "read_at":"2026-01-10T00:00:01.123Z"}"#,
    );
    let mut both = samples::bare_inventory();
    let legacy = Inventory { tools: samples::inventory(&["a"]).tools, ..both.clone() };
    both = Inventory::of_both(both, legacy);
    check(
        &InventoryRecord::of(&samples::key("/context7", "v1.5.0"), &both),
        r#"{"path":"/context7","version":"v1.5.0","era":"both","protocol_version":"2026-07-28","server_info":"{}",
        "capabilities":"{}","instructions":null,"mcp_server_version":null,"mcp_server_version_previous":null,
        "mcp_server_version_updated_at":null,"num_tools":1,"read_at":"2026-01-10T00:00:00.123Z",
        "legacy":{"protocol_version":"2026-07-28","server_info":"{}","capabilities":"{}","instructions":null,
        "tools":"[[\"a\",{ \"description\":\"\\u00e9 \\\"\",\n \"name\" : \"a\",\"inputSchema\":{}, \"x\":1.50}]]"}}"#,
    );
    check(
        &VirtualServerRecord::of(&samples::virtual_server("dev-tools")),
        r#"{"path":"/virtual/dev-tools","server_name":"Dev Tools","description":"Tools for developers","tags":["dev"],
        "tool_mappings":[{"tool_name":"search","backend_server_path":"/team/github","alias":"github_search",
        "backend_version":"v1.5.0","description_override":"Search GitHub …"},{"tool_name":"search",
        "backend_server_path":"/context7","alias":null,"backend_version":null,"description_override":null}],
        "required_scopes":["dev-tools"],
        "tool_scope_overrides":[{"tool_alias":"github_search","required_scopes":["github-read"]}],
        "instructions":"Be kind.","exposes_prompts":true,"exposes_resources":false,
        "resource_routes":[{"prefix":"git://","backend_server_path":"/team/github"}],"is_enabled":true,
        "created_by":"ada","revision":7,"created_at":"2026-01-10T00:00:00.123Z",
        "updated_at":"2026-01-10T00:00:09.123Z"}"#,
    );
}

#[test]
fn rows_need_only_what_has_no_default() {
    let version = r#"{"path":"/a","version":"v1","proxy_pass_url":"http://127.0.0.1:1/","registered_at":0,
        "updated_at":"2026-01-14T00:00:00Z"}"#;
    let version = serde_json::from_str::<VersionRecord>(version).unwrap().into_version(&Plain).unwrap();
    assert_eq!(version.updated_at, Timestamp(1_768_348_800_000));
    assert_eq!(version.status, Status::Stable);
    let head = r#"{"path":"/a","server_name":"A","version_group":"a","active_version":"v1","is_enabled":true,
        "revision":3,"registered_at":0,"updated_at":0}"#;
    let head: ServerRecord = serde_json::from_str(head).unwrap();
    let server = head.clone().into_server(vec![version]).unwrap();
    assert_eq!((server.revision, &server.visibility), (3, &Visibility::Public));
    let missing = head.into_server(Vec::new()).expect_err("it has no version");
    assert_eq!(missing.to_string(), "the record of its active version v1 is missing");
}

fn check(record: &impl Serialize, expected: &str) {
    let unfolded: String = expected.lines().map(str::trim_start).collect();
    assert_eq!(serde_json::to_string(record).unwrap(), unfolded);
}

fn through_json<Record: Serialize + DeserializeOwned>(record: &Record) -> Record {
    serde_json::from_str(&serde_json::to_string(record).unwrap()).unwrap()
}

fn edits(catalog: &Catalog) -> Vec<Edit> {
    let servers = catalog.servers.values().map(|server| Edit::put_server(None, server.clone()));
    let inventories =
        catalog.inventories.iter().map(|(key, one)| Edit::PutInventory(key.clone(), one.clone()));
    let virtual_servers = catalog.virtual_servers.values().map(|one| Edit::PutVirtualServer(one.clone()));
    let groups = catalog.groups.values().map(|group| Edit::PutGroup(group.clone()));
    let scopes = catalog.scopes.iter().map(|(scope, text)| Edit::PutScope(scope.clone(), text.clone()));
    let tokens = catalog.tokens.values().map(|token| Edit::PutToken(token.clone()));
    servers.chain(inventories).chain(virtual_servers).chain(groups).chain(scopes).chain(tokens).collect()
}
