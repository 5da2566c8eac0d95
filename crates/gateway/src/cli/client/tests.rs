//! Addresses and refusals as the client writes them.

use serde_json::json;

use super::*;

#[test]
fn paths_are_escaped_and_keep_their_slashes() {
    for (text, expected) in [
        ("/team/github", "/team/github"),
        ("/a b?c#d", "/a%20b%3Fc%23d"),
        ("v1.0.0+x", "v1.0.0+x"),
        ("é", "%C3%A9"),
    ] {
        assert_eq!(in_path(text), expected);
    }
}

#[test]
fn queries_hold_what_has_a_value() {
    assert_eq!(query(&[("a", None)]), "");
    assert_eq!(query(&[("a", Some("x y".into())), ("b", None), ("c", Some("1".into()))]), "?a=x+y&c=1");
}

#[test]
fn refusals_are_told_in_the_gateways_words() {
    let cases = [
        (409, json!({"detail": "server /a exists already"}), "server /a exists already"),
        (500, json!(null), "the gateway answered 500 Internal Server Error"),
        (401, json!({"detail": "no token"}), "no token (give a token"),
        (
            422,
            json!({"detail": "x", "errors": [{"field": "path", "reason": "is required"}, {"field": "b", "reason": "c"}]}),
            "the request is not valid:\n  path: is required\n  b: c",
        ),
    ];
    for (status, answer, expected) in cases {
        let said = refusal(http::StatusCode::from_u16(status).expect("a status"), &answer);
        assert!(said.starts_with(expected), "{said}");
    }
}
