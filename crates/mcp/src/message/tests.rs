//! Tables of good and bad bodies, and properties over made ones.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

pub(crate) mod generate;

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
fn finds_each_member_of_params() {
    let check = |params: &str, expected: [&str; 6]| {
        let body = format!(r#"{{"params" :{params},"method":"x","id":0,"jsonrpc":"2.0"}}"#);
        let outline = read(&body);
        let Outline { name, uri, task_id, cursor, meta, request_state, .. } = outline;
        assert_eq!(
            [name, uri, task_id, cursor, meta, request_state].map(|span| shown(&body, span)),
            expected
        );
        assert_eq!(shown(&body, outline.params), params);
    };
    check("{}", ["-"; 6]);
    check("{ \t\r\n}", ["-"; 6]);
    check(r#"{"uri":"a:b"}"#, ["-", r#""a:b""#, "-", "-", "-", "-"]);
    check(
        r#"{"requestState":"s","cursor":"c","taskId":"t", "_meta" : {} , "uri":"","name":"\u0000"}"#,
        [r#""\u0000""#, r#""""#, r#""t""#, r#""c""#, "{}", r#""s""#],
    );
    // Keys are what they say, not how they are spelled.
    check(r#"{"n\u0061me":"x","u\u0072i\u0000":"y"}"#, [r#""x""#, "-", "-", "-", "-", "-"]);
    // A wrong type counts as absent, and deeper members are not ours.
    check(r#"{"name":7,"uri":null,"taskId":{},"cursor":[],"_meta":"","requestState":null}"#, ["-"; 6]);
    // But a state of any type says that a call goes on.
    check(r#"{"requestState":true}"#, ["-", "-", "-", "-", "-", "true"]);
    check(r#"{"arguments":{"name":"a","uri":"b","_meta":{}},"x":[{"cursor":"c"}]}"#, ["-"; 6]);
    // What we do not route by may come twice.
    check(r#"{"a":1,"a":2,"name":"n"}"#, [r#""n""#, "-", "-", "-", "-", "-"]);
}

#[test]
fn tells_kinds_apart() {
    let check = |body: &str, kind: Kind, id: &str| {
        let outline = read(body);
        assert_eq!((outline.kind, shown(body, outline.id)), (kind, id), "{body}");
    };
    check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Kind::Request, "1");
    check(r#"{"jsonrpc":"2.0","id":"","method":"ping"}"#, Kind::Request, r#""""#);
    check(r#"{"jsonrpc":"2.0","id":1e999,"method":"ping"}"#, Kind::Request, "1e999");
    check(r#"{"jsonrpc":"2.0","id":-0,"method":""}"#, Kind::Request, "-0");
    check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Kind::Notification, "-");
    check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#, Kind::Response, "null");
    check(r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#, Kind::Response, "-");
    check(r#"{"jsonrpc":"2.0","id":-1.5e400,"result":null}"#, Kind::Response, "-1.5e400");
    check(r#"{"jsonrpc":"2.0","id":3,"result":{},"error":null}"#, Kind::Response, "3");
    check(r#"{"jsonrpc":"2.0","id":3,"result":null,"error":{}}"#, Kind::Response, "3");
}

#[test]
fn compares_words_decoded() {
    let check = |name: &str, method: Method| {
        let body = format!(r#"{{"json\u0072pc":"2\u002e0","\u0069d":1,"method":{name}}}"#);
        let outline = read(&body);
        assert_eq!((outline.method, shown(&body, outline.method_name)), (method, name));
    };
    check(r#""ping""#, Method::Ping);
    check(r#""\u0070ing""#, Method::Ping);
    check(r#""tools\/call""#, Method::ToolsCall);
    check(r#""Ping""#, Method::Other);
    check(r#""ping\u0000""#, Method::Other);
    check(r#""ping ""#, Method::Other);
    check(r#""\ud800""#, Method::Other);
}

#[test]
fn refuses_what_is_no_message() {
    let check = |body: &str, code: i32, id: Option<&str>, says: &str| {
        let error = Outline::read(body.as_bytes()).expect_err(body);
        assert_eq!((error.code(), error.id()), (code, id), "{body}: {error}");
        assert!(error.to_string().contains(says), "{body}: {error}");
    };
    let not_json = |body: &str| check(body, -32700, None, "not JSON");
    not_json("");
    not_json(" \n");
    not_json("{");
    not_json("[");
    not_json("[1");
    not_json("nul");
    not_json("\0");
    not_json("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    not_json(r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#);
    not_json(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}{}"#);
    not_json(r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#);
    not_json(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":"a" "b"}}"#);
    not_json(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,}}"#);
    not_json(r#"{"jsonrpc":"2.0","id":01,"method":"ping"}"#);
    not_json(r#"{"jsonrpc":"2.0","id":+1,"method":"ping"}"#);
    not_json(r#"{"jsonrpc":"2.0","id":NaN,"method":"ping"}"#);
    not_json(r#"{'jsonrpc':'2.0','id':1,'method':'ping'}"#);
    not_json(r#"{"jsonrpc":"2.0","id":1,"method":"\x70ing"}"#);
    not_json("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\nb\"}");
    not_json("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\0b\"}");
    not_json("<!doctype html>");
    not_json(r#"{jsonrpc:"2.0"}"#);

    check("[]", -32600, None, "batch");
    check(r#" [{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, None, "batch");
    for body in ["7", "\"{}\"", "null", "true", "-1e9"] {
        check(body, -32600, None, "not a JSON object");
    }

    check("{}", -32600, None, "jsonrpc is missing");
    check(r#"{"jsonrpc":"2.0"}"#, -32600, None, "method is missing");
    check(r#"{"jsonrpc":"2.0","id":1}"#, -32600, Some("1"), "method is missing");
    check(r#"{"id":1,"method":"ping"}"#, -32600, Some("1"), "jsonrpc");
    check(r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, -32600, Some("1"), "jsonrpc");
    check(r#"{"jsonrpc":"1.0","id":"1","method":"ping"}"#, -32600, Some(r#""1""#), "jsonrpc");
    check(r#"{"jsonrpc":"2.0\u0000","id":1,"method":"ping"}"#, -32600, Some("1"), "jsonrpc");
    for id in ["null", "true", "{}", "[1]", "false"] {
        check(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#), -32600, None, "id is");
    }
    check(r#"{"jsonrpc":"2.0","id":{},"result":{}}"#, -32600, None, "id is neither");
    for params in ["[]", "null", "7", "\"{}\"", r#"[{"name":"a"}]"#] {
        let body = format!(r#"{{"jsonrpc":"2.0","params":{params},"method":"ping","id":5}}"#);
        check(&body, -32600, Some("5"), "params is not an object");
    }
    for method in ["null", "7", "[\"ping\"]", "{}"] {
        check(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":{method}}}"#), -32600, Some("1"), "not a string");
    }
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a","result":{}}"#, -32600, Some("1"), "beside");
    check(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, -32600, Some("1"), "side by side");
    check(r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, -32600, Some("1"), "error is not an object");
    check(r#"{"jsonrpc":"2.0","result":{}}"#, -32600, None, "no id");
}

#[test]
fn refuses_what_stands_there_twice() {
    let check = |body: &str, name: &'static str, id: Option<&str>| {
        let expected = Malformed::Duplicate(name, id.map(Box::from));
        assert_eq!(Outline::read(body.as_bytes()), Err(expected), "{body}");
    };
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a","m\u0065thod":"b"}"#, "method", Some("1"));
    check(r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"a"}"#, "id", None);
    check(r#"{"jsonrpc":"2.0","\u006a\u0073onrpc":"2.0","id":1,"method":"a"}"#, "jsonrpc", Some("1"));
    check(r#"{"jsonrpc":"2.0","method":"a","params":{},"params":{},"id":9}"#, "params", Some("9"));
    check(r#"{"jsonrpc":"2.0","method":"a","params":[],"params":{},"id":9}"#, "params", Some("9"));
    check(r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#, "result", Some("1"));
    check(r#"{"jsonrpc":"2.0","id":1,"error":{},"error":null}"#, "error", Some("1"));
    for key in ["name", "uri", "taskId", "cursor", "_meta", "requestState"] {
        let escaped = format!("\\u{:04x}{}", key.as_bytes()[0], &key[1..]);
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"{key}":1,"{escaped}":2}}}}"#);
        let error = Outline::read(body.as_bytes()).expect_err(&body);
        assert!(matches!(&error, Malformed::Duplicate(name, Some(_)) if name.ends_with(key)), "{error}");
    }
    // JSON that breaks off later is no JSON, whatever came twice.
    let broken = r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b""#;
    assert_eq!(Outline::read(broken.as_bytes()).expect_err(broken).code(), -32700);
}

#[test]
fn refuses_bytes_that_are_no_text() {
    let check = |bytes: &[u8]| assert_eq!(Outline::read(bytes), Err(Malformed::NotUtf8));
    check(b"\xff\xfe{\0}\0");
    check(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc0\xaf\"}");
    check(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xed\xa0\x80\"}");
    check(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\x80\"}}");
    assert_eq!(Malformed::NotUtf8.code(), -32700);
}

#[test]
fn bounds_nesting() {
    let nested = |opening: &str, closing: &str, depth: usize| {
        let (open, close) = (opening.repeat(depth), closing.repeat(depth));
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{open}0{close}}}}}"#)
    };
    for (opening, closing) in [("[", "]"), (r#"{"a":"#, "}"), (r#"[{"\"[":"#, "}]")] {
        let step = opening.matches(['[', '{']).count() - usize::from(opening.contains("\"["));
        let fits = (MAX_DEPTH - 2) / step;
        assert!(Outline::read(nested(opening, closing, fits).as_bytes()).is_ok(), "{opening}");
        let error = Outline::read(nested(opening, closing, fits + 1).as_bytes());
        assert_eq!(error, Err(Malformed::TooDeep), "{opening}");
    }
    // Width and brackets in strings are no depth.
    let wide =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":[{}0]}}}}"#, "[],".repeat(1000));
    assert!(Outline::read(wide.as_bytes()).is_ok());
    let text =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":"\\\"{}"}}}}"#, "[{".repeat(1000));
    assert!(Outline::read(text.as_bytes()).is_ok());
    // A million brackets cost no stack, closed or not.
    assert_eq!(Outline::read("[".repeat(1_000_000).as_bytes()), Err(Malformed::TooDeep));
    assert_eq!(Outline::read(nested("[", "]", 1_000_000).as_bytes()), Err(Malformed::TooDeep));
}

#[test]
fn takes_long_bodies() {
    let long = "x".repeat(5_000_000);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"arguments":"{long}","name":"n"}}}}"#
    );
    assert_eq!(shown(&body, read(&body).name), r#""n""#);
    let digits = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, "9".repeat(100_000));
    assert_eq!(read(&digits).id.map(|id| id.range().len()), Some(100_000));
}

#[test]
fn reads_meta() {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":1,"x":2,
        "io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c"},
        "io.modelcontextprotocol/logLevel":"info"}"#;
    let found = Meta::read(meta.as_bytes());
    assert_eq!(shown(meta, found.protocol_version), r#""2026-07-28""#);
    assert_eq!(shown(meta, found.client_info), r#"{"name":"c"}"#);
    assert_eq!(shown(meta, found.client_capabilities), "{}");
    assert_eq!(shown(meta, found.log_level), r#""info""#);
    assert_eq!(shown(meta, found.progress_token), "1");
    for nothing in ["{}", "[]", "", r#"{"progressToken":1,"progressToke\u006e":1}"#, "{\"progressToken\":1"] {
        assert_eq!(Meta::read(nothing.as_bytes()), Meta::default(), "{nothing}");
    }
}

/// What the outline must say, told from a tree. `None` where it must refuse.
fn expected(tree: &Value) -> Option<Kind> {
    let id = tree.get("id");
    let filled = |key: &str, other: &str| {
        tree.get(key).is_some_and(|value| !value.is_null() || tree.get(other).is_none_or(Value::is_null))
    };
    let (result, error) = (filled("result", "error"), filled("error", "result"));
    if tree.get("jsonrpc")? != "2.0"
        || tree.get("params").is_some_and(|params| !params.is_object())
        || id.is_some_and(|id| !id.is_string() && !id.is_number() && !id.is_null())
    {
        return None;
    }
    match (tree.get("method"), result, error) {
        (Some(method), false, false) if method.is_string() && !id.is_some_and(Value::is_null) => {
            Some(if id.is_some() { Kind::Request } else { Kind::Notification })
        }
        (None, true, false) if id.is_some() => Some(Kind::Response),
        (None, false, true) if tree["error"].is_object() => Some(Kind::Response),
        _ => None,
    }
}

proptest! {
    #[test]
    fn agrees_with_a_tree(body in generate::message()) {
        let tree: Value = serde_json::from_str(&body).expect("made as JSON");
        let outline = Outline::read(body.as_bytes());
        prop_assert_eq!(outline.as_ref().ok().map(|outline| outline.kind), expected(&tree), "{}", body);
        let Ok(outline) = outline else { return Ok(()) };
        let parse = |span: Option<Span>| {
            span.map(|span| serde_json::from_slice::<Value>(span.of(body.as_bytes())).expect("a span is a value"))
        };
        let params = |key: &str| tree.get("params").and_then(|params| params.get(key)).cloned();
        let string = |key: &str| params(key).filter(Value::is_string);
        prop_assert_eq!(parse(outline.id), tree.get("id").cloned());
        prop_assert_eq!(parse(outline.method_name), tree.get("method").cloned());
        prop_assert_eq!(parse(outline.params), tree.get("params").cloned());
        prop_assert_eq!(parse(outline.name), string("name"));
        prop_assert_eq!(parse(outline.uri), string("uri"));
        prop_assert_eq!(parse(outline.task_id), string("taskId"));
        prop_assert_eq!(parse(outline.cursor), string("cursor"));
        prop_assert_eq!(parse(outline.request_state), params("requestState").filter(|state| !state.is_null()));
        prop_assert_eq!(parse(outline.meta), params("_meta").filter(Value::is_object));
        let method = tree.get("method").and_then(Value::as_str).map_or(Method::Other, Method::parse);
        prop_assert_eq!(outline.method, method);
    }

    #[test]
    fn survives_damage(body in generate::message(), at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let mut bytes = body.into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
        prop_assert!(Outline::read(&bytes).is_err() || is_json);
    }

    #[test]
    fn survives_any_bytes(bytes: Vec<u8>) {
        let _ = Outline::read(&bytes);
        let _ = Meta::read(&bytes);
    }
}
