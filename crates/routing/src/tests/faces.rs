//! What clients of each era see of a virtual server over backends that speak both.

use mcp::list::ListKind;

use super::*;
use crate::face::Face;
use crate::target::VirtualTarget;

/// `/dual` speaks both eras, `/old` the older one; each offers `shared`.
fn world() -> World {
    let mut world = World::default();
    world.server("/dual", &["v1"]).server("/old", &["v1"]);
    world.read("/old", "v1", |inventory| {
        inventory.tools = items("name", &["shared"]);
        inventory.prompts = items("name", &["review"]);
        inventory.capabilities = r#"{"tools":{},"prompts":{}}"#.into();
    });
    let rows = ["shared", "older", "newer"].map(|tool| row(tool, "/dual"));
    world.compose("dev", rows.into_iter().chain([aliased("shared", "/old", "of_old")]).collect());
    world
}

/// Has `/dual` read; the tools, prompts and capabilities of each of its sides.
fn read(world: &mut World, legacy: (&[&str], &[&str], &str), modern: (&[&str], &[&str], &str)) {
    let side = |(tools, prompts, capabilities): (&[&str], &[&str], &str)| Inventory {
        tools: items("name", tools),
        prompts: items("name", prompts),
        resources: items("uri", &["doc://a"]),
        capabilities: capabilities.into(),
        ..empty_inventory()
    };
    let modern = Inventory { era: Era::Modern, ..side(modern) };
    world.read("/dual", "v1", |inventory| *inventory = Inventory::of_both(modern, side(legacy)));
}

fn tools(face: &Face) -> Vec<&str> {
    face.tools.iter().map(|tool| &*tool.exposed).collect()
}

fn faces(target: &VirtualTarget) -> [&Arc<Face>; 2] {
    [target.face(Era::Legacy), target.face(Era::Modern)]
}

#[test]
fn each_era_sees_its_side_and_what_is_equal_is_shared() {
    let mut world = world();
    read(
        &mut world,
        (&["shared", "older"], &["explain"], r#"{"tools":{},"prompts":{},"resources":{"subscribe":true}}"#),
        (&["newer", "shared"], &[], r#"{"tools":{},"completions":{}}"#),
    );
    let table = world.table();
    let target = table.virtual_server("dev").unwrap();
    let [legacy, modern] = faces(target);
    assert_eq!(tools(legacy), ["shared", "older", "of_old"]);
    assert_eq!(tools(modern), ["shared", "newer", "of_old"]);
    assert!(target.missing.is_empty(), "each is there for some");
    assert!(legacy.tool("newer").is_none() && modern.tool("older").is_none());
    for name in ["shared", "of_old"] {
        let json = |face: &Face| face.tool(name).unwrap().json.clone().unwrap();
        assert_eq!(json(legacy).as_ptr(), json(modern).as_ptr(), "{name}");
    }
    assert_eq!((legacy.prompt_owner("explain"), modern.prompt_owner("explain")), (Some(0), None));
    assert_eq!(modern.prompt_owner("review"), Some(1), "of the other backend");
    assert_eq!((&legacy.with_resources[..], &modern.with_resources[..]), (&[0][..], &[][..]));
    let list = |face: &Face| face.list(ListKind::Resources).all.as_ptr();
    assert_eq!(list(legacy), list(modern));
    assert!(legacy.capabilities.contains("subscribe") && !modern.capabilities.contains("subscribe"));
    assert!(modern.capabilities.contains("completions") && !legacy.capabilities.contains("completions"));
    assert!(!target.has_tools_of_other_era(Era::Legacy), "both backends are spoken to in the older era");
    assert!(target.has_tools_of_other_era(Era::Modern), "one is not modern");
}

#[test]
fn equal_sides_and_pinned_ones_make_one_face() {
    let mut world = world();
    let said: (&[&str], &[&str], &str) = (&["shared"], &[], r#"{"tools":{}}"#);
    read(&mut world, said, said);
    let table = world.table();
    let [legacy, modern] = faces(table.virtual_server("dev").unwrap());
    assert!(Arc::ptr_eq(legacy, modern));
    read(&mut world, (&["older"], &[], r#"{"tools":{}}"#), said);
    for (era, expected) in [(Era::Legacy, ["older", "of_old"]), (Era::Modern, ["shared", "of_old"])] {
        world.edit("/dual", |server| {
            let endpoint = Endpoint { pinned_era: Some(era), ..(*version("v1").endpoint).clone() };
            server.replace(Version { endpoint: Arc::new(endpoint), ..version("v1") }, NOW).unwrap()
        });
        let table = world.table();
        let [legacy, modern] = faces(table.virtual_server("dev").unwrap());
        assert!(Arc::ptr_eq(legacy, modern), "{era:?}");
        assert_eq!(tools(legacy), expected, "{era:?}: also before it was read again");
    }
}

#[test]
fn a_change_that_one_era_sees_is_a_change() {
    let mut world = world();
    let said: (&[&str], &[&str], &str) = (&["shared"], &[], r#"{"tools":{}}"#);
    read(&mut world, said, said);
    let before = world.table();
    read(&mut world, said, (&["newer", "shared"], &[], r#"{"tools":{}}"#));
    let after = world.after(&before);
    let changed = |old: &Table, new: &Table| {
        new.virtual_server("dev").unwrap().changed_lists(old.virtual_server("dev").unwrap())
    };
    assert_eq!(changed(&before, &after), [ListKind::Tools]);
    assert_eq!(changed(&after, &before), [ListKind::Tools]);
    assert_eq!(tools(after.virtual_server("dev").unwrap().face(Era::Legacy)), ["shared", "of_old"]);
}
