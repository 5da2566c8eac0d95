mod properties;

use bytes::Bytes;

use super::{
    Caching, Dress, UnknownQuestion, answer_to_legacy, answer_to_modern, asking, input_required, to_legacy,
    to_modern, with_responses,
};
use crate::message::Outline;
use crate::method::Method;

fn outline(body: &Bytes) -> Outline {
    Outline::read(body).expect("a message")
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn check(got: &Bytes, expected: &str) {
    assert_eq!(std::str::from_utf8(got).expect("text"), expected);
}

const DRESS: Dress<'_> = Dress { client_info: r#"{"name":"c"}"#, client_capabilities: "{}", log_level: None };
const RESERVED: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/clientCapabilities":{}"#;

#[test]
fn requests_are_dressed_for_a_modern_backend() {
    let cases = [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{{RESERVED}}}}}}}"#),
        ),
        (
            r#"{"method":"tools/call","params":{"name":"a","x":1.50},"id":1,"jsonrpc":"2.0"}"#,
            format!(
                r#"{{"method":"tools/call","params":{{"name":"a","x":1.50,"_meta":{{{RESERVED}}}}},"id":1,"jsonrpc":"2.0"}}"#
            ),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"k":[1]}}}"#,
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{{"k":[1],{RESERVED}}}}}}}"#),
        ),
    ];
    for (before, after) in cases {
        let body = bytes(before);
        check(&to_modern(&body, &outline(&body), &DRESS), &after);
    }
}

#[test]
fn requests_are_undressed_for_a_legacy_backend() {
    let plain = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","_meta":{"k":[1]}}}"#;
    let body = bytes(plain);
    let dressed = to_modern(&body, &outline(&body), &DRESS);
    check(&to_legacy(&dressed, &outline(&dressed)), plain);
    let round = bytes(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"inputResponses":{},"name":"a","requestState":"s"}}"#,
    );
    check(
        &to_legacy(&round, &outline(&round)),
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a"}}"#,
    );
}

#[test]
fn answers_change_dress() {
    let modern = |before: &str, caching: Option<&Caching>, after: &str| {
        check(&answer_to_modern(&bytes(before), Method::ToolsCall, caching, Some("u")), after);
    };
    let caching = Caching { ttl_ms: 5, is_private: true };
    modern(
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        None,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#,
    );
    modern(
        r#"{"result":{"a":1},"id":1,"jsonrpc":"2.0"}"#,
        Some(&caching),
        r#"{"result":{"a":1,"resultType":"complete","ttlMs":5,"cacheScope":"private"},"id":1,"jsonrpc":"2.0"}"#,
    );
    modern(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"m"}}"#,
        None,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m","data":{"uri":"u"}}}"#,
    );
    modern("not json", None, "not json");
    let legacy = |method, before: &str, after: &str| check(&answer_to_legacy(&bytes(before), method), after);
    legacy(
        Method::ToolsCall,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[1],"structuredContent":[2]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[1,{"type":"text","text":"[2]"}]}}"#,
    );
    legacy(
        Method::ToolsList,
        r#"{"jsonrpc":"2.0","id":1,"result":{"ttlMs":1,"tools":[{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}},{"name":"b","inputSchema":{"type":"array"}},{"name":"c","inputSchema":{"type":"object","properties":{"n":{"type":"number","x-mcp-header":"N"}}}}]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}"#,
    );
    legacy(
        Method::ResourcesRead,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m","data":{"uri":"u"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"m","data":{"uri":"u"}}}"#,
    );
}

#[test]
fn only_known_questions_are_read() {
    let asks = |rest: &str| {
        input_required(&bytes(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required"{rest}}}}}"#
        )))
    };
    for known in ["elicitation/create", "sampling/createMessage", "roots/list"] {
        let asked = asks(&format!(r#","inputRequests":{{"k":{{"method":"{known}"}}}}"#));
        assert_eq!(asked.map(|asked| asked.map(|asked| asked.requests.len())), Ok(Some(1)), "{known}");
    }
    for odd in [
        r#","inputRequests":[1,2]"#,
        r#","inputRequests":{"k":1}"#,
        r#","inputRequests":{"k":{"method":"tools/call","params":{}}}"#,
        r#","inputRequests":{"k":{"method":"ping"}}"#,
        r#","inputRequests":{"k":{"method":"roots/list","params":[]}}"#,
        r#","requestState":5"#,
    ] {
        assert_eq!(asks(odd), Err(UnknownQuestion), "{odd}");
    }
}

#[test]
fn rounds_of_input_keep_their_state() {
    let answer = bytes(
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"q"}}},"requestState":"é\/\u0041"}}"#,
    );
    let asked = input_required(&answer).expect("reads").expect("asks");
    assert_eq!(asked.requests.len(), 1);
    assert_eq!((asked.requests[0].key.as_str(), asked.requests[0].method), ("k", Method::Elicit));
    let body = bytes(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#);
    let again = with_responses(
        &body,
        &outline(&body),
        &[("k".into(), bytes("{}"))],
        asked.request_state.as_ref(),
        Some(&bytes("9")),
    );
    check(
        &again,
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"a","inputResponses":{"k":{}},"requestState":"é\/\u0041"}}"#,
    );
    assert!(
        input_required(&bytes(r#"{"jsonrpc":"2.0","id":1,"result":{"text":"\"input_required\""}}"#))
            .expect("reads")
            .is_none()
    );
    let sent = asking(b"1", &asked.requests, "state");
    assert_eq!(input_required(&sent).expect("reads").expect("asks").requests, asked.requests);
}
