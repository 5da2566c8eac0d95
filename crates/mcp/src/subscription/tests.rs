use bytes::Bytes;

use super::*;

fn filter(params: &str) -> Option<Filter> {
    Filter::read(params.as_bytes())
}

#[test]
fn filters_are_read_and_written() {
    let check = |notifications: &str, expected: Option<&str>| {
        let read = filter(&format!(r#"{{"notifications":{notifications}}}"#));
        assert_eq!(read.map(|filter| filter.written()).as_deref(), expected, "{notifications}");
    };
    check("{}", Some("{}"));
    check(r#"{"toolsListChanged":true,"promptsListChanged":false}"#, Some(r#"{"toolsListChanged":true}"#));
    check(r#"{"toolsListChanged":"true","other":[1]}"#, Some("{}"));
    check(
        r#"{"resourceSubscriptions":["b","a","b"],"resourcesListChanged":true}"#,
        Some(r#"{"resourcesListChanged":true,"resourceSubscriptions":["b","a"]}"#),
    );
    check(r#"{"resourceSubscriptions":["\u0061\"\n"]}"#, Some(r#"{"resourceSubscriptions":["a\"\n"]}"#));
    check(r#"{"resourceSubscriptions":null}"#, Some("{}"));
    check(r#"{"resourceSubscriptions":[1]}"#, None);
    check(r#"{"resourceSubscriptions":"a"}"#, None);
    check("[]", None);
    check("true", None);
    assert_eq!(filter("{}"), None);
}

#[test]
fn only_what_was_asked_for_is_wanted() {
    let wanted = filter(
        r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a","db://t/"]}}"#,
    );
    let wanted = wanted.unwrap();
    let check = |method: &str, params: &str, expected: bool| {
        let message = format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#);
        let outline = Outline::read(message.as_bytes()).unwrap();
        assert_eq!(wanted.wants(message.as_bytes(), &outline), expected, "{method} {params}");
    };
    check("tools/list_changed", "{}", true);
    check("prompts/list_changed", "{}", false);
    check("resources/list_changed", "{}", false);
    check("message", "{}", false);
    check("resources/updated", r#"{"uri":"file:///a"}"#, true);
    check("resources/updated", r#"{"uri":"file:///a/b"}"#, true);
    check("resources/updated", r#"{"uri":"file:///ab"}"#, false);
    check("resources/updated", r#"{"uri":"db://t/1"}"#, true);
    check("resources/updated", r#"{"uri":"db://t"}"#, false);
    check("resources/updated", r#"{"uri":1}"#, false);
    let told: Vec<Bytes> = wanted.changes().collect();
    assert_eq!(told, [r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#]);
}

#[test]
fn messages_say_whose_they_are() {
    let check = |message: &'static str, expected: &str| {
        let message = Bytes::from_static(message.as_bytes());
        let outline = Outline::read(&message).unwrap();
        assert_eq!(tagged(&message, &outline, b"\"x\""), expected);
    };
    check(
        r#"{"jsonrpc":"2.0","method":"m"}"#,
        r#"{"jsonrpc":"2.0","method":"m","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"x"}}}"#,
    );
    check(
        r#"{"method":"m","params":{"uri":"a"},"jsonrpc":"2.0"}"#,
        r#"{"method":"m","params":{"uri":"a","_meta":{"io.modelcontextprotocol/subscriptionId":"x"}},"jsonrpc":"2.0"}"#,
    );
    check(
        r#"{"jsonrpc":"2.0","method":"m","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1,"v":2}}}"#,
        r#"{"jsonrpc":"2.0","method":"m","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"x","v":2}}}"#,
    );
}

#[test]
fn a_stream_begins_and_ends_in_good_order() {
    let wanted = Filter { tools: true, uris: vec!["a".into()], ..Filter::default() };
    let first = acknowledgment(b"7", &wanted);
    let outline = Outline::read(&first).unwrap();
    assert!(is_acknowledgment(&first, &outline));
    assert_eq!(Filter::read(outline.params.unwrap().of(&first)), Some(wanted));
    assert!(std::str::from_utf8(&first).unwrap().contains(r#""io.modelcontextprotocol/subscriptionId":7"#));
    assert_eq!(
        end(b"7"),
        r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#
    );
}

#[test]
fn a_listen_of_our_own_says_who_asks() {
    let wanted = Filter { prompts: true, ..Filter::default() };
    let dress = Dress { client_info: r#"{"name":"c"}"#, client_capabilities: "{}", log_level: None };
    let message = listen("\"l-1\"", &wanted, &dress);
    let outline = Outline::read(&message).unwrap();
    assert_eq!((outline.method, outline.id.unwrap().of(&message)), (Method::Listen, &b"\"l-1\""[..]));
    assert_eq!(Filter::read(outline.params.unwrap().of(&message)), Some(wanted));
    let meta = crate::message::Meta::read(outline.meta.unwrap().of(&message));
    assert!(meta.protocol_version.is_some() && meta.client_info.is_some());
}
