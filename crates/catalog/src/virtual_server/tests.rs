//! Checks of virtual servers: every fault, all at once, each at its field.

use std::sync::Arc;

use url::Url;

use super::*;
use crate::VersionKey;
use crate::endpoint::{Endpoint, Era};
use crate::inventory::{Inventory, Item};
use crate::server::{Server, Version};

const NOW: Timestamp = Timestamp(1_768_003_200_000);

/// `/github`: `v1` active with `search` and `create_issue`, `v2` with `search` and `find`, `v3` never read.
/// `/jira`: `v1.0.0` with `search` and a tool no client could call by its own name.
fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let offers: [(&str, &str, Option<&[&str]>); 4] = [
        ("/github", "v1", Some(&["search", "create_issue"])),
        ("/github", "v2", Some(&["search", "find"])),
        ("/github", "v3", None),
        ("/jira", "v1.0.0", Some(&["search", "suche nach"])),
    ];
    for (path, label, tools) in offers {
        let (path, version) = (ServerPath::parse("path", path).unwrap(), version(label));
        if let Some(tools) = tools {
            let key = VersionKey::new(&path, &version.label);
            Arc::make_mut(&mut catalog.inventories).insert(key, Arc::new(inventory(tools)));
        }
        let server = match catalog.servers.get(&path) {
            None => Server::new(path.clone(), path.to_string(), version, NOW),
            Some(server) => server.add(version, NOW).unwrap(),
        };
        Arc::make_mut(&mut catalog.servers).insert(path, Arc::new(server));
    }
    catalog
}

fn version(label: &str) -> Version {
    let url = Url::parse("http://127.0.0.1:9000/mcp").unwrap();
    Version::new(VersionLabel::parse("version", label).unwrap(), Endpoint::at(url), NOW)
}

fn inventory(tools: &[&str]) -> Inventory {
    Inventory {
        tools: tools.iter().map(|name| Item { name: (*name).into(), json: "{}".into() }).collect(),
        ..Inventory::empty(Era::Legacy, "2025-11-25", NOW)
    }
}

/// A row, written `tool@server:pin=alias` with pin and alias where wanted.
fn mapping(text: &str) -> Mapping {
    let (rest, alias) = text.split_once('=').map_or((text, None), |(rest, alias)| (rest, Some(alias)));
    let (tool, rest) = rest.split_once('@').unwrap();
    let (server, pin) = rest.split_once(':').map_or((rest, None), |(server, pin)| (server, Some(pin)));
    Mapping {
        tool: tool.into(),
        server: ServerPath::parse("server", server).unwrap(),
        alias: alias.map(|alias| ToolName::parse("alias", alias).unwrap()),
        pin: pin.map(|pin| VersionLabel::parse("pin", pin).unwrap()),
        description: None,
    }
}

fn scope(text: &str) -> Scope {
    Scope::parse("scope", text).unwrap()
}

fn virtual_server(mappings: &[&str], overrides: &[(&str, &[&str])]) -> VirtualServer {
    let scope_override = |(name, scopes): &(&str, &[&str])| ScopeOverride {
        name: (*name).into(),
        required_scopes: scopes.iter().map(|text| scope(text)).collect(),
    };
    VirtualServer {
        slug: Slug::parse("path", "dev-tools").unwrap(),
        name: "Dev Tools".into(),
        description: String::new(),
        tags: Vec::new(),
        mappings: mappings.iter().map(|text| mapping(text)).collect(),
        required_scopes: Vec::new(),
        overrides: overrides.iter().map(scope_override).collect(),
        instructions: None,
        exposes_prompts: true,
        exposes_resources: true,
        resource_routes: Vec::new(),
        is_enabled: true,
        owner: None,
        revision: 1,
        created_at: NOW,
        updated_at: NOW,
    }
}

/// Checks rows and overrides; `expected` lists the fault's field and a part of its reason.
fn check(mappings: &[&str], overrides: &[(&str, &[&str])], expected: &[(&str, &str)]) {
    let faults = virtual_server(mappings, overrides).check(&catalog(), None).err().unwrap_or_default();
    let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(
        fields,
        expected.iter().map(|(field, _)| *field).collect::<Vec<_>>(),
        "{mappings:?}: {faults:?}"
    );
    for (fault, (_, part)) in faults.iter().zip(expected) {
        assert!(fault.reason.contains(part), "{:?} lacks {part:?}", fault.reason);
    }
}

#[test]
fn sound_ones_pass() {
    check(&[], &[], &[]);
    check(&["search@/github=github_search", "search@/jira=jira_search", "create_issue@/github"], &[], &[]);
    // One tool under two names, and two versions of it side by side.
    check(&["search@/github", "search@/github=find_it", "search@/github:v2=search_v2"], &[], &[]);
    check(&["suche nach@/jira=suche"], &[("suche", &["a"]), ("suche nach", &["b"])], &[]);
}

#[test]
fn each_fault_has_its_field() {
    check(&["search@/gitlab"], &[], &[("tool_mappings[0].backend_server_path", "no server /gitlab")]);
    check(&["search@/git"], &[], &[("tool_mappings[0].backend_server_path", "no server /git ")]);
    check(&["find@/github"], &[], &[("tool_mappings[0].tool_name", "/github v1 offers no tool \"find\"")]);
    check(&["find@/github:v2"], &[], &[]);
    check(
        &["create_issue@/github:v2"],
        &[],
        &[("tool_mappings[0].tool_name", "/github v2 offers no tool \"create_issue\"")],
    );
    check(
        &["search@/github:v9"],
        &[],
        &[("tool_mappings[0].backend_version", "no version v9; it has v1, v2, v3")],
    );
    check(&["search@/github:v3"], &[], &[("tool_mappings[0].tool_name", "not known yet")]);
    check(
        &["suche nach@/jira"],
        &[],
        &[("tool_mappings[0].alias", "give the tool an alias, for example suche_nach")],
    );
    check(
        &["search@/github", "search@/jira"],
        &[],
        &[("tool_mappings[1].alias", "\"search\" is the exposed name of row 0 too")],
    );
    check(
        &["search@/github=x", "create_issue@/github=x"],
        &[],
        &[("tool_mappings[1].alias", "\"x\" is the exposed name of row 0 too")],
    );
    check(
        &["search@/github=x"],
        &[("search", &["a"]), ("x", &["a"]), ("y", &["a"])],
        &[("tool_scope_overrides[2].tool_alias", "\"y\" is no exposed or original name")],
    );
}

#[test]
fn all_faults_are_reported_at_once() {
    check(
        &["search@/gitlab", "nothing@/github", "search@/github:v9", "suche nach@/jira", "search@/github"],
        &[("unknown", &["a"])],
        &[
            ("tool_mappings[0].backend_server_path", ""),
            ("tool_mappings[1].tool_name", ""),
            ("tool_mappings[2].alias", "row 0"),
            ("tool_mappings[2].backend_version", ""),
            ("tool_mappings[3].alias", ""),
            ("tool_mappings[4].alias", "row 2"),
            ("tool_scope_overrides[0].tool_alias", ""),
        ],
    );
}

#[test]
fn each_fault_of_a_route_of_resources_has_its_field() {
    let check = |routes: &[(&str, &str)], expected: &[(&str, &str)]| {
        let mut one = virtual_server(&["search@/github", "find@/github:v2"], &[]);
        let server = |server: &str| ServerPath::parse("server", server).unwrap();
        let route =
            |(prefix, to): &(&str, &str)| ResourceRoute { prefix: (*prefix).into(), server: server(to) };
        one.resource_routes = routes.iter().map(route).collect();
        let faults = one.check(&catalog(), None).err().unwrap_or_default();
        let found: Vec<_> = faults.iter().map(|fault| (fault.field.as_str(), &*fault.reason)).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((field, reason), (expected_field, part)) in found.into_iter().zip(expected) {
            assert_eq!(field, *expected_field, "{reason}");
            assert!(reason.contains(part), "{reason:?} lacks {part:?}");
        }
    };
    check(&[("git:", "/github"), ("git+x.y-z://a/", "/github"), ("file:///srv/größe/", "/github")], &[]);
    check(
        &[
            ("", "/github"),
            ("git", "/jira"),
            ("4:", "/github"),
            ("a b:", "/github"),
            ("git:", "/github"),
            ("git:", "/github"),
            (":", "/github"),
            (&format!("git://{}", "x".repeat(251)), "/github"),
        ],
        &[
            ("resource_routes[0].prefix", "is required"),
            ("resource_routes[1].prefix", "scheme and a colon"),
            ("resource_routes[1].backend_server_path", "no tool of /jira is mapped"),
            ("resource_routes[2].prefix", "scheme and a colon"),
            ("resource_routes[3].prefix", "blanks"),
            ("resource_routes[5].prefix", "of row 4 too"),
            ("resource_routes[6].prefix", "scheme and a colon"),
            ("resource_routes[7].prefix", "longer than 256"),
        ],
    );
    let many: Vec<_> = (0..257).map(|number| format!("s{number}:")).collect();
    let many: Vec<_> = many.iter().map(|prefix| (prefix.as_str(), "/github")).collect();
    check(&many, &[("resource_routes", "more than 256")]);
}

#[test]
fn too_many_rows_are_a_fault() {
    let mut one = virtual_server(&[], &[]);
    one.mappings = (0..=MAX_MAPPINGS).map(|index| mapping(&format!("search@/github=s{index}"))).collect();
    let faults = one.check(&catalog(), None).unwrap_err();
    assert_eq!(faults, [Invalid::new("tool_mappings", "has more than 2000 rows")]);
    one.mappings.pop();
    assert_eq!(one.check(&catalog(), None), Ok(Vec::new()));
}

#[test]
fn long_names_are_a_warning() {
    let fits = format!("search@/github={}", "a".repeat(WARN_NAME_BYTES));
    assert_eq!(virtual_server(&[&fits], &[]).check(&catalog(), None), Ok(Vec::new()));
    let long = format!("{fits}a");
    let warnings = virtual_server(&[&long], &[]).check(&catalog(), None).unwrap();
    assert!(matches!(&warnings[..], [one] if one.contains("longer than 64")), "{warnings:?}");
}

#[test]
fn rows_kept_from_before_may_have_lost_their_tool() {
    let old = virtual_server(&["gone@/github", "gone@/gitlab=other", "search@/github:v9=pinned"], &[]);
    assert!(old.check(&catalog(), None).is_err());
    let mut kept = old.clone();
    kept.description = "other words".into();
    kept.mappings.reverse();
    assert_eq!(kept.check(&catalog(), Some(&old)), Ok(Vec::new()));
    kept.mappings.push(mapping("lost@/github"));
    let faults = kept.check(&catalog(), Some(&old)).unwrap_err();
    assert_eq!(faults.len(), 1, "the new row alone: {faults:?}");
    // What is wrong in itself stays wrong.
    kept.mappings = vec![mapping("gone@/github"), mapping("gone@/github")];
    assert!(kept.check(&catalog(), Some(&old)).is_err());
}

#[test]
fn overrides_add_up_without_duplicates() {
    let one = virtual_server(
        &["search@/github=github_search", "search@/jira=jira_search", "create_issue@/github"],
        &[("search", &["read", "read"]), ("github_search", &["github", "read"]), ("create_issue", &[])],
    );
    let scopes = |index: usize| one.tool_scopes(&one.mappings[index]);
    assert_eq!(scopes(0), [scope("read"), scope("github")]);
    assert_eq!(scopes(1), [scope("read")]);
    assert_eq!(scopes(2), []);
}

#[test]
fn a_catalog_knows_who_maps_a_server() {
    let mut catalog = catalog();
    for (slug, rows) in [
        ("all", &["search@/github", "search@/jira"][..]),
        ("pinned", &["search@/github:v2=s"]),
        ("alike", &["search@/github/b"]),
    ] {
        let mut one = virtual_server(rows, &[]);
        one.slug = Slug::parse("path", slug).unwrap();
        Arc::make_mut(&mut catalog.virtual_servers).insert(one.slug.clone(), Arc::new(one));
    }
    let mapped_by = |path: &str, label: Option<&str>| {
        let path = ServerPath::parse("path", path).unwrap();
        let label = label.map(|label| VersionLabel::parse("label", label).unwrap());
        let found = catalog.mapped_by(&path, label.as_ref());
        found.iter().map(Slug::to_string).collect::<Vec<_>>()
    };
    assert_eq!(mapped_by("/github", None), ["all", "pinned"]);
    assert_eq!(mapped_by("/github", Some("v2")), ["pinned"]);
    assert_eq!(mapped_by("/github", Some("v1")), [""; 0]);
    assert_eq!(mapped_by("/jira", None), ["all"]);
    assert_eq!(mapped_by("/git", None), [""; 0]);
}
