//! Tables of good and bad bodies.

use super::*;

fn shown(body: &str, span: Option<Span>) -> &str {
    span.map_or("-", |span| &body[span.range()])
}

fn read(body: &str) -> Outline {
    Outline::read(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"))
}

#[test]
fn finds_the_parts_of_a_call() {
    let body = r#" {"jsonrpc":"2.0", "id" : "a\"1", "method":"tools/call",
        "params" : { "name":"search", "arguments":{"name":"not me"}, "_meta":{"progressToken":7} } , "extra":[1]} "#;
    let outline = read(body);
    assert_eq!(outline.kind, Kind::Request);
    assert_eq!(outline.method, Method::ToolsCall);
    assert_eq!(shown(body, outline.id), r#""a\"1""#);
    assert_eq!(shown(body, outline.method_name), r#""tools/call""#);
    assert_eq!(shown(body, outline.name), r#""search""#);
    assert_eq!(shown(body, outline.meta), r#"{"progressToken":7}"#);
    let params = shown(body, outline.params);
    assert!(params.starts_with("{ \"name\"") && params.ends_with("7} }"), "{params}");
}

#[test]
fn tells_kinds_apart() {
    let check = |body: &str, kind: Kind, id: &str| {
        let outline = read(body);
        assert_eq!((outline.kind, shown(body, outline.id)), (kind, id), "{body}");
    };
    check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Kind::Request, "1");
    check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Kind::Notification, "-");
    check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#, Kind::Response, "null");
    check(r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#, Kind::Response, "-");
    check(r#"{"jsonrpc":"2.0","id":-1.5e400,"result":null}"#, Kind::Response, "-1.5e400");
    check(r#"{"jsonrpc":"2.0","id":3,"result":{},"error":null}"#, Kind::Response, "3");
}

#[test]
fn refuses_what_is_no_message() {
    let check = |body: &str, code: i32, id: Option<&str>, says: &str| {
        let error = Outline::read(body.as_bytes()).expect_err(body);
        assert_eq!((error.code(), error.id()), (code, id), "{body}: {error}");
        assert!(error.to_string().contains(says), "{body}: {error}");
    };
    check("", -32700, None, "not JSON");
    check("{", -32700, None, "not JSON");
    check("[]", -32600, None, "batch");
    check("7", -32600, None, "not a JSON object");
    check(r#"{"jsonrpc":"2.0","id":1}"#, -32600, Some("1"), "method is missing");
    check(r#"{"id":1,"method":"ping"}"#, -32600, Some("1"), "jsonrpc");
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a","m\u0065thod":"b"}"#, -32600, Some("1"), "method");
    check(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#, -32600, None, "id stands there twice");
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#, -32600, Some("1"), "params");
}
