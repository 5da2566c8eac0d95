use super::*;

#[test]
fn the_id_is_found_wherever_it_stands() {
    let check = |text: &str, expected: Option<&str>| {
        let found = find(text.as_bytes()).map(|span| std::str::from_utf8(span.of(text.as_bytes())).unwrap());
        assert_eq!(found, expected, "{text}");
    };
    check(r#"{"jsonrpc":"2.0","id":1,"result":{"text":"cut"#, Some("1"));
    check(r#"{"id":"a\"}b","result":{}}"#, Some(r#""a\"}b""#));
    check("\r\n { \"result\" : [ {\"id\":2}, \"\\\\\", \"}\" ] , \"id\" : 3 \n}", Some("3"));
    check(r#"{"result":{},"id":null}"#, Some("null"));
    check(r#"{"result":true,"error":-1.5e3,"id":4}"#, Some("4"));
    for none in [
        "",
        "{",
        "{}",
        "[]",
        "[{\"id\":1}]",
        "null",
        "{\"id\"",
        "{\"id\":",
        "{\"id\":1",
        "{\"id\":\"ab",
        "{\"id\":\"ab\\",
        "{\"id\":,",
        "{\"result\":{\"id\":1}}",
        "{\"result\":{\"id\":1},",
        "{\"a\":\"id\":1}",
        "{\"i\\u0064\":1}",
        "{id:1}",
    ] {
        check(none, None);
    }
}

#[test]
fn ids_are_the_same_in_any_spelling() {
    for (one, other, expected) in [
        ("1", "1", true),
        ("1", "1.0", true),
        ("10", "1e1", true),
        ("1", "2", false),
        ("1", "\"1\"", false),
        ("\"a\"", "\"\\u0061\"", true),
        ("\"a\"", "\"b\"", false),
        ("null", "1", false),
        ("9007199254740993", "9007199254740993", true),
    ] {
        assert_eq!(is_same(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic_and_a_longer_beginning_finds_the_same(bytes in "[\\{\\}\\[\\],:\" \\\\id1x]{0,40}", cut in 0..40_usize) {
        let bytes = bytes.as_bytes();
        if let Some(found) = find(&bytes[..cut.min(bytes.len())]) {
            proptest::prop_assert_eq!(find(bytes), Some(found));
        }
    }
}
