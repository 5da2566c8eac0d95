//! What is sealed comes back whole to whom it was given, and to nobody else.

use catalog::access::Principal;
use mcp::era::Revision;

use super::{DirectSession, MAX_CARRIED_BYTES, Opaque, VirtualSession, carried};
use crate::stage::{caller, key, seal};

fn opaque() -> Opaque {
    Opaque::new(seal())
}

fn session() -> VirtualSession {
    VirtualSession {
        id: "0123456789abcdef".into(),
        revision: Revision::V2025_06_18,
        capabilities: "{\"roots\":{},\n \"x\":\"ü\"}".into(),
        client_info: "{\"name\":\"a\\nb\"\n}".into(),
    }
}

/// Callers that are not `ann` with a token of ours.
fn others() -> Vec<Principal> {
    let ann = caller("ann");
    vec![
        caller("bob"),
        caller(""),
        Principal { issuer: "https://idp.example.com".into(), ..ann.clone() },
        Principal { token: None, ..ann },
        Principal::anonymous(),
    ]
}

#[test]
fn everything_sealed_comes_back_whole() {
    let (opaque, ann) = (opaque(), caller("ann"));
    for id in ["abc", "with\nline", " ", "\u{7f}~", &"x".repeat(5000)] {
        let session = DirectSession { label: "v1".into(), identity: 7, session: id.into() };
        let text = opaque.wrap_session(&session, "/a", &ann);
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
        for _ in ["opened", "remembered"] {
            let unwrapped = opaque.unwrap_session(&text, "/a", &ann).unwrap();
            assert_eq!(unwrapped.session, session);
            assert_eq!(unwrapped.header.as_ref().is_some(), !id.contains(['\n', '\u{7f}']), "{id}");
        }
    }
    let text = opaque.mint_virtual(&session(), "/virtual/dev", &ann);
    assert!(text.starts_with("vs-"));
    assert_eq!(opaque.read_virtual(&text, "/virtual/dev", &ann), Some(session()));
    let ours = DirectSession::ours("v1", 7, &session());
    assert!(ours.is_ours());
    assert_eq!(ours.read_ours(), Some(session()));
    let theirs = DirectSession { label: "v1".into(), identity: 7, session: "abc".into() };
    assert!(!theirs.is_ours());
    assert_eq!(theirs.read_ours(), None);
    let state = opaque.wrap_state("call", u64::MAX, &key("/a", "v1"), &ann);
    assert_eq!(opaque.unwrap_state(&state, &key("/a", "v1"), &ann), Some(("call".into(), u64::MAX)));
    let cursor = opaque.cursor(1000, 7, "/virtual/dev", &ann);
    assert_eq!(opaque.offset(&cursor, 7, "/virtual/dev", &ann), Some(1000));
    assert_eq!(opaque.offset(&cursor, 8, "/virtual/dev", &ann), None, "the list changed");
}

#[test]
fn nothing_opens_for_another_caller_path_or_purpose() {
    let (opaque, ann) = (opaque(), caller("ann"));
    let direct = opaque.wrap_session(
        &DirectSession { label: "v1".into(), identity: 7, session: "s".into() },
        "/a",
        &ann,
    );
    let minted = opaque.mint_virtual(&session(), "/virtual/dev", &ann);
    let state = opaque.wrap_state("call", 1, &key("/a", "v1"), &ann);
    let cursor = opaque.cursor(1, 1, "/virtual/dev", &ann);
    for other in others() {
        assert!(opaque.unwrap_session(&direct, "/a", &other).is_none(), "{other:?}");
        assert!(opaque.unwrap_session(&direct, "/a", &ann).is_some());
        assert!(opaque.unwrap_session(&direct, "/a", &other).is_none(), "{other:?}, remembered for another");
        assert_eq!(opaque.read_virtual(&minted, "/virtual/dev", &other), None, "{other:?}");
        assert_eq!(opaque.unwrap_state(&state, &key("/a", "v1"), &other), None, "{other:?}");
        assert_eq!(opaque.offset(&cursor, 1, "/virtual/dev", &other), None, "{other:?}");
    }
    // A new token of the same person is the same caller.
    let renewed = Principal { token: Some("another".into()), ..ann.clone() };
    assert!(opaque.unwrap_session(&direct, "/a", &renewed).is_some());
    for path in ["/b", "/a/b", "", "/virtual/dev"] {
        assert!(opaque.unwrap_session(&direct, path, &ann).is_none(), "{path}");
    }
    assert_eq!(opaque.read_virtual(&minted, "/virtual/other", &ann), None);
    assert_eq!(opaque.unwrap_state(&state, &key("/a", "v2"), &ann), None);
    assert_eq!(opaque.offset(&cursor, 1, "/virtual/other", &ann), None);
    // What was sealed for one purpose is no use for another.
    let bare = minted.strip_prefix("vs-").unwrap();
    assert_eq!(opaque.read_virtual(bare, "/virtual/dev", &ann), None);
    assert!(opaque.unwrap_session(bare, "/virtual/dev", &ann).is_none());
    assert_eq!(opaque.read_virtual(&format!("vs-{direct}"), "/a", &ann), None);
    assert_eq!(opaque.offset(&state, 1, "/a:v1", &ann), None);
}

#[test]
fn a_change_at_any_byte_is_noticed() {
    let (opaque, ann) = (opaque(), caller("ann"));
    let text = opaque.mint_virtual(&session(), "/virtual/dev", &ann);
    for at in 0..text.len() {
        for with in *b"A_z9=\0 " {
            let mut changed = text.clone().into_bytes();
            if changed[at] == with {
                continue;
            }
            changed[at] = with;
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(opaque.read_virtual(&changed, "/virtual/dev", &ann), None, "byte {at}");
        }
        assert_eq!(opaque.read_virtual(&text[..at], "/virtual/dev", &ann), None, "cut at {at}");
    }
    assert_eq!(opaque.read_virtual(&format!("{text}A"), "/virtual/dev", &ann), None);
    assert_eq!(opaque.read_virtual(&format!("{text}="), "/virtual/dev", &ann), None);
}

#[test]
fn texts_that_were_never_sealed_are_no_sessions() {
    for text in [
        "",
        "id",
        "id\n2025-06-18",
        "id\n1900-01-01\n2\n{}{}",
        "id\n2025-06-18\nx\n{}{}",
        "id\n2025-06-18\n9\n{}{}",
    ] {
        assert_eq!(VirtualSession::from_text(text), None, "{text:?}");
    }
    // A length in the middle of a character.
    assert_eq!(VirtualSession::from_text("id\n2025-06-18\n1\nü{}"), None);
    assert!(VirtualSession::from_text("id\n2025-06-18\n2\n{}{}").is_some());
}

#[test]
fn what_a_client_says_at_length_is_carried_by_its_members() {
    let known = ["roots", "sampling", "elicitation"];
    let check =
        |json: &str, expected: &str| assert_eq!(&*carried(json, &known, "{}"), expected, "{json:.60}");
    check(r#"{"roots":{},"other":{"x":1}}"#, r#"{"roots":{},"other":{"x":1}}"#);
    let long = "x".repeat(MAX_CARRIED_BYTES);
    check(
        &format!(r#"{{"experimental":"{long}","sampling":{{"tools":{{}}}},"roots":{{"listChanged":true}}}}"#),
        r#"{"roots":{"listChanged":true},"sampling":{"tools":{}}}"#,
    );
    check(&format!(r#"{{"elicitation":{{"url":"{long}"}}}}"#), r#"{"elicitation":{}}"#);
    check(&format!(r#"{{"experimental":"{long}"}}"#), "{}");
    // The longest id still fits into a header.
    let session = VirtualSession {
        capabilities: "y".repeat(MAX_CARRIED_BYTES).into(),
        client_info: "z".repeat(MAX_CARRIED_BYTES).into(),
        ..session()
    };
    assert!(opaque().mint_virtual(&session, "/virtual/dev", &caller("ann")).len() < 4096);
}
