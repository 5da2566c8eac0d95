//! Scope documents: what they allow, alone and together.

use super::*;

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::new(*text)).collect()
}

fn scope(name: &str) -> Scope {
    Scope::parse("scope", name).unwrap()
}

/// Rows: scope, server, methods, tools.
fn rights(rows: &[(&str, &str, &[&str], &[&str])]) -> Rights {
    let mut all: BTreeMap<Scope, ScopeDocument> = BTreeMap::new();
    for (name, server, methods, tools) in rows {
        let access =
            ServerAccess { at: Place::parse(server), methods: patterns(methods), tools: patterns(tools) };
        all.entry(scope(name)).or_default().access.push(access);
    }
    Rights::of(&all.into_iter().map(|(scope, document)| (scope, Arc::new(document))).collect())
}

const USUAL: &[&str] = &["initialize", "tools/list", "tools/call"];

#[test]
fn only_what_a_document_names_is_guarded() {
    let one = rights(&[("time", "/currenttime/", USUAL, &["now"])]);
    assert!(one.guard("/currenttime").is_some());
    for open in ["/currenttime2", "/current", "/virtual/currenttime", "/a/currenttime"] {
        assert!(one.guard(open).is_none(), "{open}");
    }
    assert!(Rights::default().guard("/currenttime").is_none());
    let all = rights(&[("admins", "*", &["all"], &["all"])]);
    assert!(all.guard("/anything").is_some() && all.guard("/virtual/dev").is_some());
}

#[test]
fn a_name_may_be_written_in_several_ways() {
    let check = |text: &str, expected: &str| assert_eq!(Place::parse(text).as_str(), expected, "{text}");
    for text in ["context7", "/context7", "/context7/", "Context7", " context7 ", "/context7/mcp"] {
        check(text, "/context7");
    }
    check("virtual/dev-tools", "/virtual/dev-tools");
    check("*", "*");
    check("all", "*");
}

#[test]
fn a_caller_may_do_what_any_scope_held_allows_and_nothing_else() {
    let rights = rights(&[
        ("time", "currenttime", USUAL, &["now", "get_*"]),
        ("read", "currenttime", &["tools/list"], &["zones"]),
        ("broad", "*", &["all"], &["*"]),
        ("nothing", "currenttime", &[], &["now"]),
        ("prompts", "currenttime", &["prompts/*"], &[]),
    ]);
    let guard = rights.guard("/currenttime").unwrap();
    let check = |held: &[&str], method: &str, tool: Option<&str>, expected: bool| {
        let holds = |scope: &Scope| held.contains(&scope.as_str());
        assert_eq!(guard.allows(holds, method, tool), expected, "{held:?} {method} {tool:?}");
    };
    check(&[], "tools/list", None, false);
    check(&["time"], "tools/list", None, true);
    check(&["time"], "tools/call", Some("now"), true);
    check(&["time"], "tools/call", Some("get_offset"), true);
    check(&["time"], "tools/call", Some("Now"), false);
    check(&["time"], "tools/call", Some("now2"), false);
    check(&["time"], "tools/call", Some("zones"), false);
    check(&["time"], "resources/list", None, false);
    check(&["read"], "tools/call", Some("zones"), false);
    // A method of one and a tool of the other make no right together.
    check(&["time", "read"], "tools/call", Some("zones"), false);
    check(&["broad"], "tools/call", Some("zones"), true);
    check(&["broad"], "anything/else", None, true);
    check(&["nothing"], "tools/call", Some("now"), false);
    check(&["prompts"], "prompts/get", None, true);
    check(&["prompts"], "prompt", None, false);
    let admitted = |held: &[&str]| guard.admits(|scope| held.contains(&scope.as_str()));
    assert!(admitted(&["read"]) && admitted(&["broad"]) && !admitted(&["nothing"]) && !admitted(&["other"]));
}

#[test]
fn lists_show_what_may_be_listed_or_called() {
    let rights = rights(&[
        ("time", "currenttime", USUAL, &["now"]),
        ("read", "currenttime", &["tools/list"], &["zones"]),
        ("call", "currenttime", &["tools/call"], &["*"]),
        ("ping", "currenttime", &["ping"], &["*"]),
    ]);
    let guard = rights.guard("/currenttime").unwrap();
    let shown = |held: &[&str]| {
        let holds = |scope: &Scope| held.contains(&scope.as_str());
        let names = ["now", "zones", "other"];
        let shown: Vec<&str> = names.into_iter().filter(|name| guard.shows(holds, name)).collect();
        assert_eq!(guard.shows_all(holds), shown.len() == 3, "{held:?}");
        shown
    };
    assert_eq!(shown(&["time"]), ["now"]);
    assert_eq!(shown(&["time", "read"]), ["now", "zones"]);
    assert_eq!(shown(&["call"]), ["now", "zones", "other"]);
    assert_eq!(shown(&["ping"]), [""; 0]);
}

#[test]
fn the_registry_is_another_matter_than_its_endpoints() {
    let document = ScopeDocument {
        permissions: [
            ("list_service".to_owned(), patterns(&["all"])),
            ("toggle_service".to_owned(), patterns(&["currenttime", "/team/*"])),
        ]
        .into(),
        ..ScopeDocument::default()
    };
    let rights = Rights::of(&BTreeMap::from([(scope("ops"), Arc::new(document))]));
    assert!(rights.guard("/currenttime").is_none(), "nothing is closed by it");
    let check = |held: &str, action: &str, path: &str, expected: bool| {
        assert_eq!(
            rights.permits(|scope| scope.as_str() == held, action, path),
            expected,
            "{held} {action} {path}"
        );
    };
    check("ops", "list_service", "/anything", true);
    check("ops", "toggle_service", "/currenttime", true);
    check("ops", "toggle_service", "/team/a", true);
    check("ops", "toggle_service", "/other", false);
    check("ops", "modify_service", "/currenttime", false);
    check("none", "list_service", "/anything", false);
}

#[test]
fn the_scope_to_ask_for_is_the_one_that_allows_least() {
    let rights = rights(&[
        ("a-broad", "*", &["all"], &["all"]),
        ("b-wide", "currenttime", &["tools/*"], &["*"]),
        ("c-narrow", "currenttime", USUAL, &["now"]),
    ]);
    let guard = rights.guard("/currenttime").unwrap();
    let asked = |method: &str, tool: Option<&str>| guard.scope_for(method, tool).map(Scope::as_str);
    assert_eq!(asked("tools/call", Some("now")), Some("c-narrow"));
    assert_eq!(asked("tools/call", Some("zones")), Some("b-wide"));
    assert_eq!(asked("prompts/list", None), Some("a-broad"));
    assert_eq!(guard.entry_scope().map(Scope::as_str), Some("b-wide"), "one that names it");
    let none = Rights::of(&BTreeMap::from([(scope("x"), Arc::new(ScopeDocument::stand_in()))]));
    let guard = none.guard("/currenttime").expect("everything is guarded");
    assert!(guard.scope_for("tools/list", None).is_none() && !guard.admits(|_| true));
}
