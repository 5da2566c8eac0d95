//! Tables of header values.

use proptest::prelude::*;

use super::*;

fn map(name: HeaderName, values: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(&name, HeaderValue::from_bytes(value.as_bytes()).expect("a header value"));
    }
    headers
}

#[test]
fn reads_accept() {
    let check = |lines: &[&str], json: bool, events: bool| {
        assert_eq!(accepts(&map(ACCEPT, lines)), Accepts { json, events }, "{lines:?}");
    };
    check(&[], true, true);
    check(&[""], true, true);
    check(&[" , "], true, true);
    check(&["*/*"], true, true);
    check(&["application/json, text/event-stream"], true, true);
    check(&["text/event-stream, application/json"], true, true);
    check(&["application/json"], true, false);
    check(&["application/json", "application/json"], true, false);
    check(&["application/json", "*/*;q=0"], true, false);
    check(&["application/json", "text/event-stream"], true, true);
    check(&["Application/JSON;q=0.5"], true, false);
    check(&["application/*"], true, false);
    check(&["text/*;q=0.1"], false, true);
    check(&["text/html"], false, false);
    check(&["*/*;q=0"], false, false);
    check(&["*/*, text/event-stream; q=0"], true, false);
    check(&["text/event-stream;Q=0.000,*/*;q=0.1"], true, false);
    check(&["text/event-stream;q=0.001"], false, true);
    check(&["text/*;q=0, text/event-stream"], false, true);
    check(&["application/json;charset=utf-8 ;q=1,"], true, false);
    check(&["application/json-seq"], false, false);
    check(&["\u{e9}"], false, false);
    check(&["*"], false, false);
}

#[test]
fn reads_content_type() {
    let check = |lines: &[&str], expected: bool| {
        assert_eq!(is_json(&map(CONTENT_TYPE, lines)), expected, "{lines:?}");
    };
    check(&[], false);
    check(&[""], false);
    check(&["application/json"], true);
    check(&["APPLICATION/json ; charset=UTF-8"], true);
    check(&["application/json; charset=\"utf-8\"; x=y"], true);
    check(&["application/json;"], true);
    check(&["application/json; charset=utf-16"], false);
    check(&["application/json; charset=utf-8; charset=latin1"], false);
    check(&["application/json; charset="], false);
    check(&["application/json, text/plain"], false);
    check(&["application/jsonp"], false);
    check(&["text/plain"], false);
    check(&["application/json", "application/json"], false);
}

#[test]
fn reads_the_wanted_version() {
    let check = |lines: &[&str], expected: Wanted<'_>| {
        assert_eq!(wanted_version(&map(SERVER_VERSION, lines)), expected, "{lines:?}");
    };
    check(&[], Wanted::Unsaid);
    check(&[""], Wanted::Unsaid);
    check(&[" \t"], Wanted::Unsaid);
    check(&["latest"], Wanted::Latest);
    check(&[" latest "], Wanted::Latest);
    check(&["Latest"], Wanted::Label("Latest"));
    check(&["\tv2.0.0 "], Wanted::Label("v2.0.0"));
    check(&["a b"], Wanted::Label("a b"));
    check(&["v1,v2"], Wanted::Ambiguous);
    check(&["v1,"], Wanted::Ambiguous);
    check(&[","], Wanted::Ambiguous);
    check(&["v1", "v1"], Wanted::Ambiguous);
    check(&["", ""], Wanted::Ambiguous);
    check(&["vé"], Wanted::Ambiguous);
}

#[test]
fn decodes_names() {
    let check = |value: &str, expected: Option<&str>| {
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
        assert_eq!(decode_name(&value).as_deref(), expected, "{value:?}");
    };
    check("search", Some("search"));
    check("", Some(""));
    check(" a b ", Some("a b"));
    check("=?base64?w6k=?=", Some("é"));
    check("=?base64??=", Some(""));
    check("=?base64?IGE=?=", Some(" a"));
    check("=?base64?", Some("=?base64?"));
    check("=?base64?=", Some("=?base64?="));
    check("w6k=?=", Some("w6k=?="));
    check("=?BASE64?w6k=?=", Some("=?BASE64?w6k=?="));
    // No padding, bits left over, another alphabet, blanks, no text.
    check("=?base64?w6k?=", None);
    check("=?base64?w6l=?=", None);
    check("=?base64?_-8=?=", None);
    check("=?base64? w6k=?=", None);
    check("=?base64?/w==?=", None);
    check("é", None);
}

#[test]
fn encodes_only_what_needs_it() {
    let check = |name: &str, expected: &str| assert_eq!(encode_name(name), expected, "{name:?}");
    check("search", "search");
    check("a:b/{c} ?=", "a:b/{c} ?=");
    check("", "");
    check("é", "=?base64?w6k=?=");
    check(" a", "=?base64?IGE=?=");
    check("a\r\nb", "=?base64?YQ0KYg==?=");
    check("a\tb", "=?base64?YQli?=");
    check("=?base64?w6k=?=", "=?base64?PT9iYXNlNjQ/dzZrPT89?=");
    check("=?x", "=?base64?PT94?=");
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(name: String) {
        let value = encode_name(&name);
        let decoded = decode_name(&value).map(Cow::into_owned);
        prop_assert_eq!(decoded, Some(name));
    }

    #[test]
    fn survives_any_value(bytes: Vec<u8>) {
        let Ok(value) = HeaderValue::from_bytes(&bytes) else { return Ok(()) };
        let mut headers = HeaderMap::new();
        for name in [ACCEPT, CONTENT_TYPE, SERVER_VERSION] {
            headers.append(name, value.clone());
        }
        let _ = (accepts(&headers), is_json(&headers), wanted_version(&headers), decode_name(&value));
    }
}
