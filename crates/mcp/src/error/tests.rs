//! The bodies we write.

use super::*;

#[test]
fn writes_errors() {
    let check = |id: Option<&str>, message: &str, data: Option<&str>, expected: &str| {
        assert_eq!(error_body(id.map(str::as_bytes), code::UNREACHABLE, message, data), expected);
    };
    check(None, "x", None, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"}}"#);
    check(
        Some("\"a\""),
        "say \"no\"\n",
        Some(r#"{"server":"/github"}"#),
        r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32000,"message":"say \"no\"\n","data":{"server":"/github"}}}"#,
    );
}

#[test]
fn writes_results() {
    assert_eq!(result_body(b"7", b"{}"), r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
}
