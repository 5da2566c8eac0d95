//! Queries and refusals as the client writes them.

use serde_json::json;

use super::*;

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
        (400, json!({"detail": "\u{1b}[2Jgone\nError: none"}), "\\u{1b}[2Jgone\\nError: none"),
    ];
    for (status, answer, expected) in cases {
        let said = refusal(http::StatusCode::from_u16(status).expect("a status"), &answer);
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn only_an_object_is_a_document() {
    let of = |status: u16, answer| {
        let status = http::StatusCode::from_u16(status).expect("a status");
        document(status, answer).map_err(|failure| (failure.status, failure.message))
    };
    assert_eq!(of(200, json!({"a": 1})), Ok(json!({"a": 1})));
    for (status, answer, expected) in [
        (200, json!([]), "not a JSON object"),
        (200, json!("ok"), "not a JSON object"),
        (204, json!(null), "(it came with 204 No Content)"),
        (302, json!({}), "the gateway answered 302"),
    ] {
        let (status, said) = of(status, answer).expect_err(expected);
        assert!(status == 1 && said.contains(expected), "{said}");
    }
}
