//! Tools of virtual servers: names, versions, scopes, and what had to be left out.

use mcp::list::ListKind;

use super::*;
use crate::compile::LeftOut;
use crate::target::VirtualTarget;

fn github_and_jira() -> World {
    let mut world = World::default();
    world.server("/github", &["v1", "v2"]).server("/jira", &["v1"]);
    world.offers("/github", "v1", &["search", "create"]).offers("/github", "v2", &["search", "find"]);
    world.offers("/jira", "v1", &["search"]);
    world
}

/// Exposed name, original name and owning version of each tool.
fn tools(target: &VirtualTarget) -> Vec<String> {
    let backend = |index: usize| &target.backends[index].key;
    let line = |tool: &crate::names::Tool| {
        let key = backend(tool.backend);
        format!("{} = {} of {} {}", tool.exposed, tool.original, key.path, key.label)
    };
    target.face(Era::Legacy).tools.iter().map(line).collect()
}

#[test]
fn aliases_and_pins_lead_to_the_mapped_version() {
    let mut world = github_and_jira();
    world.compose(
        "dev",
        vec![
            row("search", "/github"),
            pinned("search", "/github", "old_search", "v1"),
            pinned("search", "/github", "new_search", "v2"),
            aliased("search", "/jira", "jira_search"),
            aliased("search", "/jira", "issues"),
        ],
    );
    let table = world.table();
    let target = table.virtual_server("dev").unwrap();
    let expected = [
        "search = search of /github v1",
        "old_search = search of /github v1",
        "new_search = search of /github v2",
        "jira_search = search of /jira v1",
        "issues = search of /jira v1",
    ];
    assert_eq!(tools(target), expected);
    assert_eq!(target.backends.len(), 3, "each version once");
    for (index, tool) in target.face(Era::Legacy).tools.iter().enumerate() {
        assert!(std::ptr::eq(
            target.face(Era::Legacy).tool(&tool.exposed).unwrap(),
            &raw const target.face(Era::Legacy).tools[index]
        ));
        assert_eq!(tool.original_json, "\"search\"");
    }
    assert!(target.face(Era::Legacy).tool("create").is_none(), "not mapped");
    assert!(target.missing.is_empty());

    world.edit("/github", |server| server.activate("v2", NOW).unwrap());
    let next = world.after(&table);
    let target = next.virtual_server("dev").unwrap();
    assert_eq!(tools(target)[0], "search = search of /github v2", "follows the switch");
    assert_eq!(tools(target)[1..3], expected[1..3], "pins stay");
}

#[test]
fn a_switch_moves_a_tool_even_where_the_backends_stay_the_same() {
    let mut world = github_and_jira();
    let pins = [pinned("search", "/github", "one", "v1"), pinned("search", "/github", "two", "v2")];
    world.compose("dev", pins.into_iter().chain([row("search", "/github")]).collect());
    let before = world.table();
    world.edit("/github", |server| server.activate("v2", NOW).unwrap());
    let after = world.after(&before);
    let (before, after) = (before.virtual_server("dev").unwrap(), after.virtual_server("dev").unwrap());
    assert_eq!(tools(before)[2], "search = search of /github v1");
    assert_eq!(tools(after)[2], "search = search of /github v2");
    assert_eq!(after.changed_lists(before), [ListKind::Tools]);
}

#[test]
fn definitions_change_only_where_the_mapping_says_so() {
    let mut world = github_and_jira();
    let described =
        Mapping { description: Some("Finds \"it\"".into()), ..aliased("search", "/jira", "find") };
    world.compose("dev", vec![row("create", "/github"), aliased("search", "/github", "look"), described]);
    let table = world.table();
    let list = table.virtual_server("dev").unwrap().face(Era::Legacy).list(ListKind::Tools);
    let expected = [
        r#"{"name":"create","x-kept":true}"#,
        r#"{"name":"look","x-kept":true}"#,
        r#"{"description":"Finds \"it\"","name":"find","x-kept":true}"#,
    ];
    assert_eq!(list.items, expected);
    assert_eq!(list.all, expected.join(","));
}

#[test]
fn what_is_gone_is_named_and_the_rest_is_served() {
    let mut world = github_and_jira();
    world.server("/new", &["v1"]);
    world.compose(
        "dev",
        vec![
            row("search", "/github"),
            aliased("find", "/github", "finder"),
            row("any", "/gone"),
            pinned("search", "/github", "pinned", "v9"),
            row("unread", "/new"),
        ],
    );
    let Compiled { table, left_out } = world.compile();
    let target = table.virtual_server("dev").unwrap();
    assert_eq!(tools(target), ["search = search of /github v1", "unread = unread of /new v1"]);
    assert_eq!(target.missing, ["finder", "any", "pinned"]);
    let left = |what: &str, reason: &str| LeftOut { what: what.into(), reason: reason.into() };
    let gone = "its server or version is gone or disabled";
    let expected = [
        left("/virtual/dev: finder of /github", "its server no longer offers it"),
        left("/virtual/dev: any of /gone", gone),
        left("/virtual/dev: pinned of /github", gone),
    ];
    assert_eq!(left_out, expected);
    assert_eq!(compile(&world.0, Some(&table)).left_out, expected, "also where all is taken over");
    assert!(target.face(Era::Legacy).tool("finder").is_none());
    assert!(target.face(Era::Legacy).tool("unread").unwrap().json.is_none(), "callable, and nothing to list");
    assert_eq!(target.face(Era::Legacy).list(ListKind::Tools).items.len(), 1);

    world.edit("/github", |server| server.written(NOW, |next| next.is_enabled = false));
    let next = world.after(&table);
    let target = next.virtual_server("dev").unwrap();
    assert_eq!(tools(target), ["unread = unread of /new v1"]);
    assert_eq!(target.missing, ["search", "finder", "any", "pinned"]);
}

#[test]
fn scopes_of_a_tool_come_from_both_its_names() {
    let mut world = github_and_jira();
    world.compose(
        "dev",
        vec![
            aliased("search", "/github", "look"),
            aliased("search", "/jira", "issues"),
            row("create", "/github"),
        ],
    );
    world.recompose("dev", |one| {
        one.required_scopes = vec![scope("enter")];
        one.overrides = vec![guarded("search", &["read"]), guarded("look", &["github", "read"])];
    });
    let table = world.table();
    let target = table.virtual_server("dev").unwrap();
    let needs = |name: &str| {
        target.face(Era::Legacy).tool(name).unwrap().needs.iter().map(Scope::as_str).collect::<Vec<_>>()
    };
    assert_eq!(needs("look"), ["read", "github"]);
    assert_eq!(needs("issues"), ["read"]);
    assert!(needs("create").is_empty());
    assert!(target.face(Era::Legacy).has_guarded_tools());
    assert_eq!(table.target("/virtual/dev").unwrap().required_scopes(), [scope("enter")]);
}
