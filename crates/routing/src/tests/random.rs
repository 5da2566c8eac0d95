//! Whatever the edits: a table made from the one before equals a table made from nothing.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const PATHS: [&str; 3] = ["/a", "/a/b", "/c"];
const LABELS: [&str; 3] = ["v1", "v2", "v3"];
const SLUGS: [&str; 2] = ["one", "two"];
const TOOLS: [&str; 3] = ["t1", "t2", "t3"];

/// One edit of a catalog; one that cannot be made changes nothing.
#[derive(Clone, Debug)]
enum Edit {
    Server(usize, Vec<usize>),
    Remove(usize),
    Activate(usize, usize),
    RemoveVersion(usize, usize),
    Toggle(usize),
    Touch(usize),
    Read { at: usize, label: usize, tools: Vec<usize>, prompts: Vec<usize> },
    Forget(usize, usize),
    Compose(usize, Vec<(usize, usize, Option<usize>)>),
    Decompose(usize),
    Hide(usize),
    Guard(usize),
    Group,
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let (path, label, slug) = (0..PATHS.len(), 0..LABELS.len(), 0..SLUGS.len());
    let some = || prop::collection::vec(0..3_usize, 0..4);
    let row = (0..PATHS.len(), 0..TOOLS.len(), prop::option::of(0..LABELS.len()));
    let edit = prop_oneof![
        2 => (path.clone(), prop::collection::vec(0..3_usize, 1..4)).prop_map(|(at, v)| Edit::Server(at, v)),
        1 => path.clone().prop_map(Edit::Remove),
        4 => (path.clone(), label.clone()).prop_map(|(at, label)| Edit::Activate(at, label)),
        1 => (path.clone(), label.clone()).prop_map(|(at, label)| Edit::RemoveVersion(at, label)),
        1 => path.clone().prop_map(Edit::Toggle),
        1 => path.clone().prop_map(Edit::Touch),
        4 => (path.clone(), label.clone(), some(), some())
            .prop_map(|(at, label, tools, prompts)| Edit::Read { at, label, tools, prompts }),
        1 => (path, label).prop_map(|(at, label)| Edit::Forget(at, label)),
        3 => (slug.clone(), prop::collection::vec(row, 0..5)).prop_map(|(slug, rows)| Edit::Compose(slug, rows)),
        1 => slug.clone().prop_map(Edit::Decompose),
        1 => slug.clone().prop_map(Edit::Hide),
        1 => slug.prop_map(Edit::Guard),
        1 => Just(Edit::Group),
    ];
    prop::collection::vec(edit, 1..14)
}

/// A world in which most edits can be made.
fn begun() -> World {
    let mut world = World::default();
    world.server("/a", &["v1", "v2"]).server("/c", &["v1"]);
    world.offers("/a", "v1", &["t1", "t2"]).offers("/a", "v2", &["t1", "t3"]).offers("/c", "v1", &["t1"]);
    let pins = [pinned("t1", "/a", "n0", "v1"), pinned("t1", "/a", "n1", "v2"), aliased("t1", "/a", "n2")];
    world.compose("one", pins.into());
    world
}

fn make(world: &mut World, edit: &Edit) {
    let has = |world: &World, at: usize| world.0.servers.contains_key(PATHS[at]);
    let composed = |world: &World, slug: usize| world.0.virtual_servers.contains_key(SLUGS[slug]);
    match edit {
        Edit::Server(at, labels) => {
            let labels: BTreeSet<_> = labels.iter().map(|&label| LABELS[label]).collect();
            world.server(PATHS[*at], &Vec::from_iter(labels));
        }
        Edit::Remove(at) => {
            world.remove(PATHS[*at]);
        }
        Edit::Activate(at, label) if has(world, *at) => {
            world.edit(PATHS[*at], |s| s.activate(LABELS[*label], NOW).unwrap_or_else(|_| s.clone()));
        }
        Edit::RemoveVersion(at, label) if has(world, *at) => {
            world.edit(PATHS[*at], |s| s.remove(LABELS[*label], NOW).unwrap_or_else(|_| s.clone()));
        }
        Edit::Toggle(at) if has(world, *at) => {
            world.edit(PATHS[*at], |s| s.written(NOW, |next| next.is_enabled = !next.is_enabled));
        }
        Edit::Touch(at) if has(world, *at) => {
            world.edit(PATHS[*at], |s| s.written(NOW, |_| {}));
        }
        Edit::Read { at, label, tools, prompts } => {
            let some = |chosen: &[usize]| -> Vec<Item> {
                let names: BTreeSet<_> = chosen.iter().map(|&index| TOOLS[index]).collect();
                items("name", &Vec::from_iter(names))
            };
            world.read(PATHS[*at], LABELS[*label], |inventory| {
                inventory.tools = some(tools);
                inventory.prompts = some(prompts);
                inventory.capabilities = r#"{"tools":{},"prompts":{}}"#.into();
            });
        }
        Edit::Forget(at, label) => {
            Arc::make_mut(&mut world.0.inventories).remove(&key(PATHS[*at], LABELS[*label]));
        }
        Edit::Compose(slug, rows) => {
            let row = |(index, (at, tool, pin)): (usize, &(usize, usize, Option<usize>))| Mapping {
                pin: pin.map(|pin| label(LABELS[pin])),
                ..aliased(TOOLS[*tool], PATHS[*at], &format!("n{index}"))
            };
            world.compose(SLUGS[*slug], rows.iter().enumerate().map(row).collect());
        }
        Edit::Decompose(slug) => {
            Arc::make_mut(&mut world.0.virtual_servers).remove(SLUGS[*slug]);
        }
        Edit::Hide(slug) if composed(world, *slug) => {
            world.recompose(SLUGS[*slug], |one| one.exposes_prompts = !one.exposes_prompts);
        }
        Edit::Guard(slug) if composed(world, *slug) => {
            world.recompose(SLUGS[*slug], |one| one.overrides = vec![guarded("n0", &["x"])]);
        }
        Edit::Group => {
            world.group("staff", &["x"]);
        }
        _ => {}
    }
}

/// All that a table answers from, in an order of its own.
fn summary(compiled: &Compiled) -> String {
    let Compiled { table, left_out } = compiled;
    let servers: BTreeMap<_, _> = table.servers.iter().collect();
    let virtual_servers: BTreeMap<_, _> = table.virtual_servers.iter().collect();
    let mut lines = vec![format!("{} {:?} {:?} {left_out:?}", table.revision, table.groups, table.revoked)];
    lines.extend(servers.values().map(|server| format!("{server:?}")));
    for one in virtual_servers.values() {
        lines.push(format!("{} {:?} {} {:?}", one.path, one.required_scopes, one.is_enabled, one.backends));
        lines.push(format!("{} {:?} {:?}", one.server_info, one.missing, one.source));
        for face in [&one.legacy, &one.modern] {
            let by_tool: BTreeMap<_, _> = face.by_tool.iter().collect();
            let by_prompt: BTreeMap<_, _> = face.by_prompt.iter().collect();
            let by_uri: BTreeMap<_, _> = face.by_uri.iter().collect();
            lines.push(format!("{:?} {} {:?}", face.tools, face.capabilities, face.instructions));
            lines.push(format!("{by_tool:?} {by_prompt:?} {by_uri:?} {:?}", face.with_resources));
            lines.push(format!("{:?} {:?}", face.templates, face.lists));
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn edits_one_by_one_make_the_same_table_as_all_at_once(edits in edits()) {
        let mut world = begun();
        let mut previous = world.compile();
        for edit in &edits {
            make(&mut world, edit);
            let next = compile(&world.0, Some(&previous.table));
            prop_assert_eq!(summary(&next), summary(&world.compile()), "after {:?}", edit);
            previous = next;
        }
    }
}
