//! Prompts, resources and templates of several backends, and what a virtual server says of itself.

use catalog::virtual_server::resource_route::ResourceRoute;
use mcp::list::ListKind;
use mcp::method::Method;

use super::*;
use crate::target::VirtualTarget;

/// Two servers; `b` is mapped before `a`.
fn two() -> World {
    let mut world = World::default();
    world.server("/a", &["v1"]).server("/b", &["v1"]).server("/unmapped", &["v1"]);
    for at in ["/a", "/b", "/unmapped"] {
        world.read(at, "v1", |inventory| {
            inventory.capabilities =
                r#"{"tools":{},"prompts":{},"resources":{"subscribe":true},"completions":{}}"#.into();
            inventory.tools = items("name", &["tool"]);
            inventory.prompts = items("name", &["shared", at]);
            inventory.resources = items("uri", &["doc://shared", &format!("doc:/{at}")]);
            inventory.templates = items("uriTemplate", &["db://{shared}", &format!("{}://{{x}}", &at[1..])]);
            inventory.instructions = Some(format!("Use {at}."));
        });
    }
    world.compose("both", vec![aliased("tool", "/b", "of_b"), aliased("tool", "/a", "of_a")]);
    world
}

fn names(target: &VirtualTarget, kind: ListKind) -> Vec<String> {
    let name = |json: &bytes::Bytes| {
        let span = mcp::message::member(json, kind.key()).unwrap();
        mcp::message::text(span.of(json)).unwrap().into_owned()
    };
    target.face(Era::Legacy).list(kind).items.iter().map(name).collect()
}

#[test]
fn of_two_with_one_name_the_first_in_mapping_order_stays() {
    let table = two().table();
    let target = table.virtual_server("both").unwrap();
    assert_eq!(names(target, ListKind::Prompts), ["shared", "/b", "/a"]);
    assert_eq!(names(target, ListKind::Resources), ["doc://shared", "doc://b", "doc://a"]);
    assert_eq!(names(target, ListKind::Templates), ["db://{shared}", "b://{x}", "a://{x}"]);
    let (b, a) = (0, 1);
    assert_eq!(target.backends[b].key, key("/b", "v1"));
    for (name, owner) in [("shared", Some(b)), ("/a", Some(a)), ("/b", Some(b)), ("/unmapped", None)] {
        assert_eq!(target.face(Era::Legacy).prompt_owner(name), owner, "{name}");
    }
    for (uri, owner) in [
        ("doc://shared", Some(b)),
        ("doc://a", Some(a)),
        ("db://table/7", Some(b)),
        ("a://7", Some(a)),
        ("unknown://7", None),
    ] {
        assert_eq!(target.face(Era::Legacy).resource_owner(uri), owner, "{uri}");
    }
    assert_eq!(target.face(Era::Legacy).with_resources, [b, a], "these may have what nobody lists");
    for (template, owner) in [("db://{shared}", Some(b)), ("a://{x}", Some(a)), ("a://7", None)] {
        assert_eq!(target.face(Era::Legacy).template_owner(template), owner, "{template}");
    }
}

#[test]
fn switches_hide_prompts_and_resources() {
    let mut world = two();
    world.recompose("both", |one| {
        one.exposes_prompts = false;
        one.exposes_resources = false;
    });
    let table = world.table();
    let target = table.virtual_server("both").unwrap();
    for kind in [ListKind::Prompts, ListKind::Resources, ListKind::Templates] {
        assert!(target.face(Era::Legacy).list(kind).items.is_empty(), "{kind:?}");
    }
    assert_eq!(target.face(Era::Legacy).prompt_owner("shared"), None);
    assert_eq!(target.face(Era::Legacy).capabilities, r#"{"tools":{"listChanged":true},"completions":{}}"#);
    for method in [Method::PromptsGet, Method::ResourcesRead, Method::Subscribe, Method::TemplatesList] {
        assert!(!target.face(Era::Legacy).answers(method), "{method:?}");
    }
    assert!(
        target.face(Era::Legacy).answers(Method::ToolsList)
            && target.face(Era::Legacy).answers(Method::Complete)
    );
    assert_eq!(names(target, ListKind::Tools), ["of_b", "of_a"]);
    let face = target.face(Era::Legacy);
    assert_eq!(face.resource_owner("doc://a"), None);
    assert!(face.with_resources.is_empty(), "nobody is asked for what is not exposed");
}

#[test]
fn a_resource_nobody_lists_is_told_by_how_its_uri_begins() {
    let mut world = two();
    let route = |prefix: &str, server: &str| ResourceRoute { prefix: prefix.into(), server: path(server) };
    world.recompose("both", |one| {
        one.resource_routes =
            vec![route("wiki:", "/b"), route("wiki://a/", "/a"), route("doc:", "/a"), route("gone:", "/c")];
    });
    let table = world.table();
    let target = table.virtual_server("both").unwrap();
    let (b, a) = (0, 1);
    for (uri, owner) in [
        ("wiki://b/1", Some(b)),
        ("wiki://a/1", Some(a)),
        ("wiki", None),
        ("WIKI://b/1", None),
        ("doc://b", Some(b)),
        ("doc://unlisted", Some(a)),
        ("gone://1", None),
    ] {
        for front in [Era::Legacy, Era::Modern] {
            assert_eq!(target.face(front).resource_owner(uri), owner, "{uri}");
        }
    }
    world.recompose("both", |one| one.exposes_resources = false);
    assert_eq!(
        world.table().virtual_server("both").unwrap().face(Era::Legacy).resource_owner("wiki://b/1"),
        None
    );
}

#[test]
fn capabilities_are_the_union_of_what_passes_through_us() {
    let check = |of_a: &str, of_b: &str, expected: &str| {
        let mut world = two();
        world.read("/a", "v1", |inventory| inventory.capabilities = of_a.into());
        world.read("/b", "v1", |inventory| inventory.capabilities = of_b.into());
        let table = world.table();
        assert_eq!(
            table.virtual_server("both").unwrap().face(Era::Legacy).capabilities,
            expected,
            "{of_a} {of_b}"
        );
    };
    let tools = r#"{"tools":{"listChanged":true}"#;
    check("{}", "{}", &format!("{tools}}}"));
    check(r#"{"tasks":{},"experimental":{"x":1}}"#, "{}", &format!("{tools}}}"));
    check(
        r#"{"prompts":{}}"#,
        r#"{"logging":{}}"#,
        &format!(r#"{tools},"prompts":{{"listChanged":true}},"logging":{{}}}}"#),
    );
    check(
        r#"{"resources":{}}"#,
        r#"{"resources":{"subscribe":false}}"#,
        &format!(r#"{tools},"resources":{{"subscribe":false,"listChanged":true}}}}"#),
    );
    check(
        r#"{"resources":{}}"#,
        r#"{"resources":{"subscribe":true},"completions":{}}"#,
        &format!(r#"{tools},"resources":{{"subscribe":true,"listChanged":true}},"completions":{{}}}}"#),
    );
}

#[test]
fn instructions_are_its_own_or_joined() {
    let mut world = two();
    let table = world.table();
    let joined = r###""## /b\n\nUse /b.\n\n## /a\n\nUse /a.""###;
    assert_eq!(table.virtual_server("both").unwrap().face(Era::Legacy).instructions.as_deref(), Some(joined));
    world.read("/b", "v1", |inventory| inventory.instructions = None);
    let table = world.table();
    assert_eq!(
        table.virtual_server("both").unwrap().face(Era::Legacy).instructions.as_deref(),
        Some(r###""## /a\n\nUse /a.""###)
    );
    world.recompose("both", |one| one.instructions = Some("Ask \"me\".".into()));
    let table = world.table();
    assert_eq!(
        table.virtual_server("both").unwrap().face(Era::Legacy).instructions.as_deref(),
        Some(r#""Ask \"me\".""#)
    );
    world.recompose("both", |one| one.instructions = None);
    world.read("/a", "v1", |inventory| inventory.instructions = None);
    assert_eq!(world.table().virtual_server("both").unwrap().face(Era::Legacy).instructions, None);
}

#[test]
fn tasks_are_offered_to_clients_of_the_era_that_has_them() {
    let check = |era: Era, of_a: &str, legacy: bool, modern: bool| {
        let mut world = two();
        world.read("/a", "v1", |inventory| {
            inventory.era = era;
            inventory.capabilities = of_a.into();
        });
        let table = world.table();
        let target = table.virtual_server("both").unwrap();
        for (front, expected) in [(Era::Legacy, legacy), (Era::Modern, modern)] {
            let offered = target.capabilities_for(front);
            let member = |name| mcp::message::member(offered.as_bytes(), name).is_some();
            assert!(member("tools"), "{offered}");
            assert_eq!(member("tasks"), expected && front == Era::Legacy, "{front:?}: {offered}");
            assert_eq!(member("extensions"), expected && front == Era::Modern, "{front:?}: {offered}");
            assert_eq!(target.has_tasks(front), expected, "{front:?}: {of_a}");
        }
    };
    check(Era::Legacy, r#"{"tasks":{"list":{}}}"#, true, false);
    check(Era::Modern, r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#, false, true);
    check(Era::Modern, r#"{"extensions":{"io.modelcontextprotocol/ui":{}}}"#, false, false);
    check(Era::Legacy, "{}", false, false);
}

#[test]
fn of_tasks_it_offers_what_any_of_its_backends_can_do() {
    let check = |of_a: &str, of_b: &str, expected: &str| {
        let mut world = two();
        world.read("/a", "v1", |inventory| inventory.capabilities = format!(r#"{{"tasks":{of_a}}}"#).into());
        world.read("/b", "v1", |inventory| inventory.capabilities = format!(r#"{{"tasks":{of_b}}}"#).into());
        let table = world.table();
        let target = table.virtual_server("both").unwrap();
        let offered = target.capabilities_for(Era::Legacy);
        let tasks = mcp::message::member(offered.as_bytes(), "tasks").unwrap().of(offered.as_bytes());
        assert_eq!(std::str::from_utf8(tasks), Ok(expected), "{of_a} {of_b}");
        assert_eq!(target.lists_tasks(), expected.contains("list"));
    };
    check("{}", "{}", "{}");
    check(r#"{"cancel":{}}"#, r#"{"requests":{"tools":{}}}"#, r#"{"cancel":{}}"#);
    check(
        r#"{"requests":{"tools":{"call":{}}}}"#,
        r#"{"list":{},"requests":{"sampling":{"createMessage":{}}}}"#,
        r#"{"list":{},"requests":{"tools":{"call":{}}}}"#,
    );
}
