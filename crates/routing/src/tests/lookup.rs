//! What a path leads to, which version a label names, who holds which scope, which token is revoked.

use catalog::access::{Grants, Principal, Scope};
use catalog::token::IssuedToken;

use super::*;
use crate::target::Target;

#[test]
fn a_path_leads_to_its_whole_segments_only() {
    let mut world = World::default();
    world.server("/a", &["v1"]).server("/a/b", &["v1"]).server("/mcp", &["v1"]).server("/x.y_z-1", &["v1"]);
    world.compose("dev-tools", vec![row("t", "/a")]);
    let table = world.table();
    let check = |asked: &str, expected: Option<&str>| {
        assert_eq!(table.target(asked).as_ref().map(Target::path), expected, "{asked}");
    };
    for (base, path) in [("/a", "/a"), ("/a/b", "/a/b"), ("/x.y_z-1", "/x.y_z-1"), ("/mcp", "/mcp")] {
        for form in ["", "/", "/mcp", "/mcp/"] {
            check(&format!("{base}{form}"), Some(path));
        }
    }
    for form in ["", "/", "/mcp", "/mcp/"] {
        check(&format!("/virtual/dev-tools{form}"), Some("/virtual/dev-tools"));
    }
    for nothing in [
        "",
        "/",
        "a",
        "/ab",
        "/a/x",
        "/a/b/c",
        "/a//",
        "//a",
        "/a/mcp/mcp",
        "/a/mcp/x",
        "/A",
        "/virtual",
        "/virtual/",
        "/virtual/dev",
        "/virtual/dev-tools/x",
        "/virtual/a",
        "/dev-tools",
    ] {
        check(nothing, None);
    }
}

#[test]
fn disabled_entries_are_found_and_say_so() {
    let mut world = World::default();
    world.server("/on", &["v1"]).server("/off", &["v1"]);
    world.edit("/off", |server| server.written(NOW, |next| next.is_enabled = false));
    world.compose("on", Vec::new()).compose("off", Vec::new()).recompose("off", |one| one.is_enabled = false);
    let table = world.table();
    for (asked, expected) in [("/on", true), ("/off", false), ("/virtual/on", true), ("/virtual/off", false)]
    {
        assert_eq!(table.target(asked).unwrap().is_enabled(), expected, "{asked}");
    }
    assert_eq!(table.sizes(), (2, 2));
    assert_eq!(table.revision, world.0.revision);
}

#[test]
fn labels_are_exact() {
    let mut world = World::default();
    world.server("/a", &["v1", "v2", "V2"]).server("/b", &["v1"]);
    world.edit("/a", |server| server.activate("v2", NOW).unwrap());
    let table = world.table();
    let server = table.server("/a").unwrap();
    assert_eq!(server.active().key, key("/a", "v2"));
    for asked in ["v1", "v2", "V2"] {
        assert_eq!(server.version(asked).unwrap().key.label.as_str(), asked);
        assert_eq!(server.version(asked).unwrap().label_header, asked);
    }
    for unknown in ["", "v", "v3", "V1", "latest", " v1"] {
        assert!(server.version(unknown).is_none(), "{unknown}");
    }
    assert_eq!(server.labels().collect::<Vec<_>>(), ["V2", "v1", "v2"]);
    assert!(server.has_versions());
    assert!(!table.server("/b").unwrap().has_versions());
    assert!(table.server("/a/").is_none(), "by its exact path only");
}

#[test]
fn a_version_says_its_era_and_that_it_goes_away() {
    let mut world = World::default();
    world.server("/a", &["v1", "v2", "v3", "v4"]);
    world.read("/a", "v4", |inventory| *inventory = both(inventory));
    world.read("/a", "v2", |inventory| inventory.era = Era::Modern);
    world.read("/a", "v3", |inventory| inventory.era = Era::Modern);
    world.edit("/a", |server| {
        let endpoint = Endpoint { pinned_era: Some(Era::Legacy), ..(*version("v3").endpoint).clone() };
        let deprecated = Version {
            endpoint: Arc::new(endpoint),
            status: Status::Deprecated,
            deprecated_at: Some(Timestamp(1_700_000_000_000)),
            sunset_on: Some("2031-06-01".into()),
            ..version("v3")
        };
        server.replace(deprecated, NOW).unwrap()
    });
    let table = world.table();
    let find = |label| table.server("/a").unwrap().version(label).unwrap();
    let eras = |label| {
        let version = find(label);
        (version.eras, version.era_toward(Era::Legacy), version.era_toward(Era::Modern))
    };
    assert_eq!(eras("v1"), (None, Era::Legacy, Era::Modern), "never read");
    assert_eq!(eras("v2"), (Some(Eras::Modern), Era::Modern, Era::Modern), "as it was read");
    assert_eq!(eras("v3"), (Some(Eras::Legacy), Era::Legacy, Era::Legacy), "as pinned");
    assert_eq!(eras("v4"), (Some(Eras::Both), Era::Legacy, Era::Modern), "in the client's own");
    assert_eq!(find("v2").deprecation, None);
    assert_eq!(find("v3").deprecation.as_ref().unwrap(), "@1700000000");
    assert_eq!(find("v3").sunset.as_ref().unwrap(), "Sun, 01 Jun 2031 00:00:00 GMT");
}

#[test]
fn what_is_missing_is_the_same_by_both_ways_of_asking() {
    let mut world = World::default();
    world.group("readers", &["read"]).group("writers", &["read", "write"]);
    let table = world.table();
    let caller = |groups: &[&str], scopes: &[&str], is_admin| Principal {
        groups: groups.iter().map(|name| (*name).into()).collect(),
        scopes: scopes.iter().map(|text| scope(text)).collect(),
        is_admin,
        ..Principal::anonymous()
    };
    let check = |caller: Principal, required: &[&str], expected: Option<&str>| {
        let required: Vec<Scope> = required.iter().map(|text| scope(text)).collect();
        let missing = table.missing(&caller, &required);
        assert_eq!(missing.map(Scope::as_str), expected, "{caller:?}");
        let grants: Grants = table.grants(&caller);
        assert_eq!(grants.missing(&required), missing, "{caller:?}");
    };
    check(caller(&[], &[], false), &[], None);
    check(caller(&[], &[], false), &["read"], Some("read"));
    check(caller(&["readers"], &[], false), &["read"], None);
    check(caller(&["readers"], &[], false), &["read", "write", "other"], Some("write"));
    check(caller(&["readers"], &["write"], false), &["read", "write"], None);
    check(caller(&["gone", "writers"], &[], false), &["write", "read"], None);
    check(caller(&[], &[], true), &["read", "write"], None);
}

#[test]
fn revoked_tokens_are_known() {
    let mut world = World::default();
    let token = |id: &str, revoked_at| IssuedToken {
        id: id.into(),
        subject: "ann".into(),
        description: String::new(),
        groups: Vec::new(),
        scopes: Vec::new(),
        is_admin: false,
        resource: None,
        subject_issuer: None,
        created_by: "admin".into(),
        made_with: None,
        created_at: NOW,
        expires_at: NOW.plus_seconds(60),
        revoked_at,
    };
    for one in [token("live", None), token("revoked", Some(NOW))] {
        Arc::make_mut(&mut world.0.tokens).insert(one.id.clone(), Arc::new(one));
    }
    let before = world.table();
    let check = |table: &Table, id: &str, expected| assert_eq!(table.is_revoked(id), expected, "{id}");
    check(&before, "live", false);
    check(&before, "revoked", true);
    check(&before, "unknown", false);
    let one = token("live", Some(NOW));
    Arc::make_mut(&mut world.0.tokens).insert(one.id.clone(), Arc::new(one));
    check(&world.after(&before), "live", true);
}
