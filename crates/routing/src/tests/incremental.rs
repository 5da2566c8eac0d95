//! One edit costs what it touches: the rest is taken over, and lists say exactly what changed.

use std::time::{Duration, Instant};

use mcp::list::ListKind::{self, Prompts, Resources, Templates, Tools};

use super::*;

fn world() -> World {
    let mut world = World::default();
    world.server("/a", &["v1", "v2"]).server("/b", &["v1"]).server("/c", &["v1"]);
    for (at, label) in [("/a", "v1"), ("/a", "v2"), ("/b", "v1"), ("/c", "v1")] {
        world.read(at, label, |inventory| {
            inventory.tools = items("name", &["tool", "other"]);
            inventory.prompts = items("name", &["prompt"]);
            inventory.resources = items("uri", &["doc://one"]);
            inventory.templates = items("uriTemplate", &["doc://{x}"]);
        });
    }
    world.compose("of-a", vec![row("tool", "/a")]);
    world.compose("of-both", vec![aliased("tool", "/a", "ta"), aliased("tool", "/b", "tb")]);
    world
}

#[test]
fn what_an_edit_does_not_touch_is_the_very_same() {
    let mut world = world();
    let before = world.table();
    let check = |after: &Table, servers: &[&str], virtual_servers: &[&str]| {
        for at in ["/a", "/b", "/c"] {
            let is_same = Arc::ptr_eq(before.server(at).unwrap(), after.server(at).unwrap());
            assert_eq!(is_same, !servers.contains(&at), "{at}");
        }
        for slug in ["of-a", "of-both"] {
            let same = Arc::ptr_eq(before.virtual_server(slug).unwrap(), after.virtual_server(slug).unwrap());
            assert_eq!(same, !virtual_servers.contains(&slug), "{slug}");
        }
    };
    check(&world.after(&before), &[], &[]);
    let mut edited = world.clone();
    edited.edit("/c", |server| server.written(NOW, |next| next.name = "C".into()));
    check(&edited.after(&before), &["/c"], &[]);
    let mut edited = world.clone();
    edited.edit("/a", |server| server.written(NOW, |next| next.tags = vec!["x".into()]));
    let after = edited.after(&before);
    // The server is another, but its versions are not, and only they are in virtual servers.
    check(&after, &["/a"], &[]);
    for label in ["v1", "v2"] {
        let version = |table: &Table| table.server("/a").unwrap().version(label).unwrap().clone();
        assert!(Arc::ptr_eq(&version(&before), &version(&after)), "{label}");
    }
    let mut edited = world.clone();
    edited.offers("/b", "v1", &["tool"]);
    check(&edited.after(&before), &["/b"], &["of-both"]);
    let mut edited = world.clone();
    edited.offers("/a", "v2", &["tool"]);
    check(&edited.after(&before), &["/a"], &[]);
    let mut edited = world.clone();
    edited.recompose("of-a", |one| one.description = "x".into());
    check(&edited.after(&before), &[], &["of-a"]);
    world.edit("/a", |server| server.activate("v2", NOW).unwrap());
    check(&world.after(&before), &["/a"], &["of-a", "of-both"]);
}

#[test]
fn exactly_the_lists_that_differ_are_told() {
    let check = |what: &str, edit: &dyn Fn(&mut World), expected: &[ListKind]| {
        let mut world = world();
        let before = world.table();
        edit(&mut world);
        let after = world.after(&before);
        let (old, new) =
            (before.virtual_server("of-both").unwrap(), after.virtual_server("of-both").unwrap());
        assert_eq!(new.changed_lists(old), expected, "{what}");
        // Where nothing differs for clients, nothing is told by the way back either.
        assert_eq!(old.changed_lists(new), expected, "{what}, backwards");
    };
    let read = |change: fn(&mut Inventory)| {
        move |world: &mut World| {
            world.read("/b", "v1", change);
        }
    };
    let compose = |change: fn(&mut VirtualServer)| {
        move |world: &mut World| {
            world.recompose("of-both", change);
        }
    };
    check("nothing", &|_| {}, &[]);
    check("read again", &read(|_| {}), &[]);
    check("other software", &read(|i| i.reported.version = Some("2".into())), &[]);
    check("instructions", &compose(|v| v.instructions = Some("x".into())), &[]);
    check("an unmapped tool", &read(|i| i.tools.retain(|tool| &*tool.name == "tool")), &[]);
    check("a tool gone", &read(|i| i.tools.clear()), &[Tools]);
    check("a definition", &read(|i| i.tools[0].json = r#"{"name":"tool","title":"T"}"#.into()), &[Tools]);
    check("an alias", &compose(|v| v.mappings[0].alias = None), &[Tools]);
    check("the order", &compose(|v| v.mappings.reverse()), &[Tools]);
    check("a scope of a tool", &compose(|v| v.overrides = vec![guarded("ta", &["x"])]), &[Tools]);
    check("a scope of all", &compose(|v| v.required_scopes = vec![scope("x")]), &[Tools]);
    check("a prompt", &read(|i| i.prompts = items("name", &["new"])), &[Prompts]);
    check("a prompt that another owns", &read(|i| i.prompts.clear()), &[]);
    check("no prompts", &compose(|v| v.exposes_prompts = false), &[Prompts]);
    check("a resource", &read(|i| i.resources = items("uri", &["doc://two"])), &[Resources]);
    check("a template", &read(|i| i.templates = items("uriTemplate", &["d://{x}"])), &[Templates]);
    check("no resources", &compose(|v| v.exposes_resources = false), &[Resources, Templates]);
    check(
        "another version of the same tools",
        &|world| {
            world.edit("/a", |server| server.activate("v2", NOW).unwrap());
        },
        &[Tools],
    );
    check(
        "a server gone",
        &|world| {
            world.remove("/b");
        },
        &[Tools],
    );
}

#[test]
fn ten_thousand_servers_compile_quickly() {
    let mut world = World::default();
    for number in 0..10_000 {
        let at = format!("/team-{}/server-{number}", number % 100);
        world.server(&at, &["v1"]).offers(&at, "v1", &["search", "create", "delete"]);
    }
    for number in 0..200 {
        let servers = (0..20).map(|step| number * 50 + step);
        let rows = servers.map(|at| {
            let server = format!("/team-{}/server-{at}", at % 100);
            aliased("search", &server, &format!("search_{at}"))
        });
        world.compose(&format!("virtual-{number}"), rows.collect());
    }
    let started = Instant::now();
    let before = world.table();
    let whole = started.elapsed();
    assert_eq!(before.sizes(), (10_000, 200));
    world.edit("/team-7/server-7", |server| server.written(NOW, |next| next.is_enabled = false));
    let started = Instant::now();
    let after = world.after(&before);
    let one_edit = started.elapsed();
    // Bounds for a busy machine without optimisation; both stay far below.
    assert!(whole < Duration::from_secs(2), "{whole:?}");
    assert!(one_edit < Duration::from_millis(500), "{one_edit:?}");
    assert!(!after.server("/team-7/server-7").unwrap().is_enabled);
    assert_eq!(after.virtual_server("virtual-0").unwrap().missing, ["search_7"]);
}
