//! Which era a client's message is of, and what the modern one demands.

use mcp::message::Outline;

use super::{classify, is_modern, session_id};
use crate::error::Error;
use crate::plane::Front::{self, Legacy, Modern};
use crate::stage::headers;

const MODERN: &str = "2026-07-28";

/// What a message is classed as: an era, or an error's code, status and class.
fn classed(pairs: &[(&'static str, &str)], body: &str) -> Result<Front, (i64, u16)> {
    let outline = Outline::read(body.as_bytes()).expect(body);
    classify(&headers(pairs), body.as_bytes(), &outline).map_err(|error| {
        let asker = crate::reply::Asker {
            id: None,
            is_modern: true,
            metadata_url: &String::new,
            scope: &String::new,
        };
        let answer = crate::reply::refuse(&error, &asker);
        let told: serde_json::Value = serde_json::from_slice(&crate::reply::body(&error, &asker)).unwrap();
        (told["error"]["code"].as_i64().unwrap(), answer.status().as_u16())
    })
}

fn request(method: &str, rest: &str, version: &str, capabilities: &str) -> String {
    let version = match version {
        "" => String::new(),
        version => format!(r#""io.modelcontextprotocol/protocolVersion":{version}"#),
    };
    let capabilities = match capabilities {
        "" => String::new(),
        raw => format!(r#""io.modelcontextprotocol/clientCapabilities":{raw}"#),
    };
    let comma = if version.is_empty() || capabilities.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{rest}"_meta":{{{version}{comma}{capabilities}}}}}}}"#
    )
}

fn modern(method: &str, rest: &str) -> String {
    request(method, rest, &format!("\"{MODERN}\""), "{}")
}

#[test]
fn messages_without_a_modern_mark_are_legacy() {
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let initialize =
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    for body in [list, initialize, note, answer] {
        assert_eq!(classed(&[], body), Ok(Legacy), "{body}");
        for known in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(classed(&[("mcp-protocol-version", known)], body), Ok(Legacy), "{known} {body}");
        }
    }
    // A handshake is legacy whatever its header says, as long as its `_meta` names no version.
    assert_eq!(classed(&[("mcp-protocol-version", MODERN)], initialize), Ok(Legacy));
    assert_eq!(classed(&[("mcp-protocol-version", "1900-01-01")], initialize), Ok(Legacy));
    // Other keys of `_meta` say nothing.
    let progress = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":1}}}"#;
    assert_eq!(classed(&[], progress), Ok(Legacy));
}

#[test]
fn modern_messages_are_checked_in_order() {
    let check =
        |what: &str, pairs: &[(&'static str, &str)], body: &str, expected: Result<Front, (i64, u16)>| {
            assert_eq!(classed(pairs, body), expected, "{what}");
        };
    let dressed = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/list")];
    let version = ("mcp-protocol-version", MODERN);
    check("whole", &dressed, &modern("tools/list", ""), Ok(Modern));
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    check("an answer", &[version], answer, Err((-32600, 400)));
    let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
    check("a notification", &[version], note, Ok(Modern));
    check("no _meta", &dressed, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, Err((-32602, 400)));
    check("no version", &dressed, &request("tools/list", "", "", "{}"), Err((-32602, 400)));
    check("a version that is a number", &dressed, &request("tools/list", "", "7", "{}"), Err((-32602, 400)));
    check("the same without headers", &[], &request("tools/list", "", "7", "{}"), Err((-32602, 400)));
    let quoted = format!("\"{MODERN}\"");
    check("no capabilities", &dressed, &request("tools/list", "", &quoted, ""), Err((-32602, 400)));
    check(
        "capabilities that are a list",
        &dressed,
        &request("tools/list", "", &quoted, "[]"),
        Err((-32602, 400)),
    );
    check("no headers", &[], &modern("tools/list", ""), Err((-32020, 400)));
    check(
        "no version header",
        &[("mcp-method", "tools/list")],
        &modern("tools/list", ""),
        Err((-32020, 400)),
    );
    let other = [("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/list")];
    check("another version in the header", &other, &modern("tools/list", ""), Err((-32020, 400)));
    check("no method header", &[version], &modern("tools/list", ""), Err((-32020, 400)));
    let wrong = [version, ("mcp-method", "tools/call")];
    check("another method in the header", &wrong, &modern("tools/list", ""), Err((-32020, 400)));
    let cased = [version, ("mcp-method", "Tools/List")];
    check("the method in another case", &cased, &modern("tools/list", ""), Err((-32020, 400)));
    let future = [("mcp-protocol-version", "2027-01-01"), ("mcp-method", "tools/list")];
    let unknown = request("tools/list", "", "\"2027-01-01\"", "{}");
    check("a version we do not know", &future, &unknown, Err((-32022, 400)));
    let known_legacy = request("tools/list", "", "\"2025-11-25\"", "{}");
    check("a legacy version in _meta", &other, &known_legacy, Err((-32022, 400)));
    check(
        "an unknown version in the header alone",
        &future,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        Err((-32602, 400)),
    );
    let initialize = [version, ("mcp-method", "initialize")];
    check("initialize in modern dress", &initialize, &modern("initialize", ""), Ok(Modern));
}

#[test]
fn a_header_sent_twice_is_refused() {
    let twice = |name: &'static str, value: &str| {
        let mut pairs =
            vec![("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "a")];
        pairs.push((name, value));
        classed(&pairs, &modern("tools/call", r#""name":"a","#))
    };
    assert_eq!(twice("x-other", "a"), Ok(Modern));
    for (name, value) in [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "a")] {
        assert_eq!(twice(name, value), Err((-32020, 400)), "{name}");
    }
    let legacy = [("mcp-protocol-version", "2025-11-25"), ("mcp-protocol-version", "2025-06-18")];
    assert_eq!(classed(&legacy, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), Err((-32020, 400)));
}

#[test]
fn the_name_header_mirrors_what_the_method_is_about() {
    let check = |method: &str, rest: &str, name: Option<&str>, is_right: bool| {
        let mut pairs = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
        pairs.extend(name.map(|name| ("mcp-name", name)));
        let expected = if is_right { Ok(Modern) } else { Err((-32020, 400)) };
        assert_eq!(classed(&pairs, &modern(method, rest)), expected, "{method} {rest} {name:?}");
    };
    let name = r#""name":"find","#;
    for method in ["tools/call", "prompts/get"] {
        check(method, name, Some("find"), true);
        check(method, name, Some("=?base64?ZmluZA==?="), true);
        check(method, name, Some("=?base64?ZmluZA?="), false);
        check(method, name, Some("=?base64?!?="), false);
        check(method, name, Some("Find"), false);
        check(method, name, None, false);
        check(method, "", Some("find"), false);
        check(method, r#""name":7,"#, Some("7"), false);
        check(method, r#""uri":"find","#, Some("find"), false);
    }
    let uri = r#""uri":"doc:\/\/grün","#;
    check("resources/read", uri, Some("=?base64?ZG9jOi8vZ3LDvG4=?="), true);
    check("resources/read", uri, Some("doc://grun"), false);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        check(method, r#""taskId":"t1","#, Some("t1"), true);
        check(method, r#""taskId":"t1","#, Some("t2"), false);
    }
    // Methods about nothing need none, and one that is there is not looked at.
    check("tools/list", "", None, true);
    check("tools/list", "", Some("x"), true);
}

#[test]
fn a_get_is_modern_where_it_names_the_modern_revision() {
    for (version, expected) in [(MODERN, true), ("2025-11-25", false), ("2027-01-01", false), ("", false)] {
        assert_eq!(is_modern(&headers(&[("mcp-protocol-version", version)])), expected, "{version}");
    }
    assert!(!is_modern(&headers(&[])));
}

#[test]
fn a_session_is_named_once() {
    assert!(matches!(session_id(&headers(&[])), Ok(None)));
    assert!(matches!(session_id(&headers(&[("mcp-session-id", "vs-x")])), Ok(Some("vs-x"))));
    let twice = headers(&[("mcp-session-id", "a"), ("mcp-session-id", "a")]);
    assert!(matches!(session_id(&twice), Err(Error::Ambiguous { .. })));
    assert!(matches!(session_id(&headers(&[("mcp-session-id", "grün")])), Err(Error::SessionUnknown)));
}
