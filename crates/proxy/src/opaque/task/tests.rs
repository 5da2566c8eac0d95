//! A caller knows a task under one id, which is nobody else's.

use super::*;
use crate::stage::{caller, seal, version_at};

const ECHO: Place<'static> = Place { endpoint: Some("/virtual/dev@0"), tool: "echo" };

#[test]
fn a_task_has_one_id_for_its_caller() {
    let (opaque, version) = (Opaque::new(seal()), version_at("http://127.0.0.1:9/mcp"));
    let (ann, bob) = (caller("ann"), caller("bob"));
    let raw = b"\"t\\u00e91\"";
    assert_eq!(opaque.known_task(ECHO, &version, raw, &ann), None, "not theirs yet");
    let told = |principal: &Principal| opaque.told_task(Place { tool: "", ..ECHO }, &version, raw, principal);
    assert_ne!(told(&ann), told(&ann), "what is only told of is nobody's");
    assert_eq!(opaque.known_task(ECHO, &version, raw, &ann), None);
    let id = opaque.begun_task(ECHO, &version, raw, &ann);
    assert_eq!(told(&ann), id);
    assert_eq!(opaque.begun_task(ECHO, &version, raw, &ann), id);
    assert_eq!(opaque.known_task(ECHO, &version, raw, &bob), None);
    assert_eq!(opaque.known_task(Place::OWN, &version, raw, &ann), None, "of one endpoint");
    // The backend gave the id again, to another tool.
    let other = opaque.begun_task(Place { tool: "drop", ..ECHO }, &version, raw, &ann);
    assert_ne!(other, id);
    assert_eq!(told(&ann), other);
}

#[test]
fn an_id_opens_where_and_for_whom_it_was_given() {
    let (opaque, version) = (Opaque::new(seal()), version_at("http://127.0.0.1:9/mcp"));
    let (ann, bob) = (caller("ann"), caller("bob"));
    for tool in ["echo", "", "two\nlines"] {
        let id = opaque.begun_task(Place { tool, ..ECHO }, &version, b"\"t\"", &ann);
        // Another process, or the same one a long time later.
        let opaque = Opaque::new(seal());
        assert_eq!(opaque.shown_task(&id, "/virtual/other@0", &ann), None);
        assert_eq!(opaque.shown_task(&id, "/virtual/dev@0", &bob), None);
        assert_eq!(opaque.shown_task(&id[1..], "/virtual/dev@0", &ann), None);
        assert_eq!(opaque.known_task(ECHO, &version, b"\"t\"", &ann), None);
        let task = opaque.shown_task(&id, "/virtual/dev@0", &ann).unwrap();
        assert_eq!((&*task.server, &*task.label, task.identity), ("/a", "v1", version.identity));
        assert_eq!((&*task.tool, &task.raw[..]), (tool, &b"\"t\""[..]));
        assert_eq!(opaque.known_task(ECHO, &version, b"\"t\"", &ann), Some(id), "it is theirs again");
    }
    let long = format!("\"{}\"", "x".repeat(1000));
    let id = opaque.begun_task(ECHO, &version, long.as_bytes(), &ann);
    assert_eq!(opaque.shown_task(&id, "/virtual/dev@0", &ann).unwrap().raw, long);
    assert_eq!(opaque.known_task(ECHO, &version, long.as_bytes(), &ann), None, "too long to be remembered");
}

#[test]
fn a_cursor_holds_those_of_several_backends() {
    let (opaque, version) = (Opaque::new(seal()), version_at("http://127.0.0.1:9/mcp"));
    let begun = Resting { cursor: Some(Bytes::from_static(b"\"a\\nb\"")), ..Resting::before(&version) };
    for pages in [vec![], vec![begun.clone()], vec![Resting::before(&version), begun.clone(), begun]] {
        let cursor = opaque.seal_pages(&pages, "/virtual/dev@0", &caller("ann"));
        assert_eq!(opaque.open_pages(&cursor, "/virtual/dev@0", &caller("ann")), Some(pages));
        assert_eq!(opaque.open_pages(&cursor, "/virtual/dev@0", &caller("bob")), None);
        assert_eq!(opaque.open_pages(&cursor, "/virtual/other@0", &caller("ann")), None);
    }
}
