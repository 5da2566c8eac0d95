//! Arguments that headers repeat, and tools that say so in a way nobody can follow.

use super::*;
use crate::compile::LeftOut;

/// A tool whose argument `a` has this mark.
fn marked(name: &str, mark: &str) -> Item {
    let schema = format!(r#"{{"properties":{{"a":{{"type":"string","x-mcp-header":{mark}}}}}}}"#);
    Item { name: name.into(), json: format!(r#"{{"name":"{name}","inputSchema":{schema}}}"#).into() }
}

fn world() -> World {
    let mut world = World::default();
    world.server("/a", &["v1", "v2"]).offers("/a", "v1", &["plain"]);
    world.read("/a", "v1", |inventory| {
        inventory.tools.extend([marked("here", "\"Region\""), marked("bad", "\"\""), marked("here", "\"\"")]);
    });
    world.read("/a", "v2", |inventory| inventory.tools.push(marked("here", "\"Zone\"")));
    world
}

#[test]
fn marks_follow_aliases_and_pins() {
    let mut world = world();
    let rows = [row("plain", "/a"), aliased("here", "/a", "there"), pinned("here", "/a", "then", "v2")];
    world.compose("dev", rows.into());
    let table = world.table();
    let target = table.virtual_server("dev").unwrap();
    let header = |name: &str| {
        target.face(Era::Legacy).tool(name).unwrap().marks.as_ref().map(|marks| marks[0].header.as_str())
    };
    assert_eq!(header("plain"), None);
    assert_eq!(header("there"), Some("mcp-param-region"));
    assert_eq!(header("then"), Some("mcp-param-zone"));
    let params = table.server("/a").unwrap().active().params.as_ref().unwrap();
    assert!(
        params.marks("plain").is_none() && params.marks("here").is_some() && params.unfit("here").is_none()
    );
}

#[test]
fn versions_whose_tools_say_nothing_keep_nothing() {
    let mut world = World::default();
    world.server("/a", &["v1", "v2"]).offers("/a", "v1", &["plain"]);
    let table = world.table();
    let server = table.server("/a").unwrap();
    assert!(server.versions.iter().all(|version| version.params.is_none()));
}

#[test]
fn tools_nobody_may_use_are_left_out_with_the_reason() {
    let mut world = world();
    world.compose("dev", vec![row("plain", "/a"), aliased("bad", "/a", "worse")]);
    let Compiled { table, left_out } = world.compile();
    let target = table.virtual_server("dev").unwrap();
    assert!(
        target.face(Era::Legacy).tool("worse").is_none() && target.face(Era::Legacy).tool("plain").is_some()
    );
    assert_eq!(target.missing, ["worse"]);
    let reason = r#"x-mcp-header of "a" is "", which cannot name a header"#.to_owned();
    assert_eq!(left_out, [LeftOut { what: "/virtual/dev: worse of /a".into(), reason }]);
}
