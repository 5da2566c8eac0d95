//! Parts of JSON texts against a tree of them.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

#[test]
fn finds_a_member() {
    let check = |object: &str, key: &str, expected: Option<&str>| {
        let found = member(object.as_bytes(), key).map(|span| &object[span.range()]);
        assert_eq!(found, expected, "{object}");
    };
    check(r#" { "a" : [1, 2] , "b":{"a":3}} "#, "a", Some("[1, 2]"));
    check(r#"{"a":1}"#, "b", None);
    check(r#"{"a":1,"a":2}"#, "a", None);
    check(r#"{"a":1,"\u0061":2,"a":3}"#, "a", None);
    check(r#"{"\u0061":2}"#, "a", Some("2"));
    check(r#"{"\ud800":1,"a":2}"#, "a", Some("2"));
    check(r#"{"\ud800":1}"#, "\\ud800", None);
    check(r#"{"":"\ud800"}"#, "", Some(r#""\ud800""#));
    check(r#"["a",1]"#, "a", None);
    check(r#"{"a":1"#, "a", None);
    check(r#"{"a":1}x"#, "a", None);
    check("", "a", None);
    check(r#""a""#, "a", None);
    assert_eq!(member(b"{\"a\":\"\xff\"}", "a"), None);
}

#[test]
fn lists_elements() {
    let check = |array: &str, expected: Option<&[&str]>| {
        let found = elements(array.as_bytes());
        let found: Option<Vec<_>> =
            found.map(|spans| spans.into_iter().map(|span| &array[span.range()]).collect());
        assert_eq!(found.as_deref(), expected, "{array}");
    };
    check("[]", Some(&[]));
    check(r#" [1 , {"a":[2]},"]"] "#, Some(&["1", r#"{"a":[2]}"#, r#""]""#]));
    check("[1", None);
    check("{}", None);
    check("[1]]", None);
    check("", None);
}

#[test]
fn decodes_strings() {
    let check =
        |raw: &str, expected: Option<&str>| assert_eq!(text(raw.as_bytes()).as_deref(), expected, "{raw}");
    check(r#""""#, Some(""));
    check(r#""é\u00e9\n""#, Some("éé\n"));
    check(r#""\ud83d\ude00""#, Some("😀"));
    check(r#""\u0000""#, Some("\0"));
    check(r#""\ud83d""#, None);
    check(r#""\ude00\ud83d""#, None);
    check(r#""\x""#, None);
    check("\"\n\"", None);
    check("\"a", None);
    check("\"", None);
    check("", None);
    check("7", None);
    check("null", None);
    check(r#"["a"]"#, None);
    check(r#""a""b""#, None);
    assert_eq!(text(b"\"\xff\""), None);
    assert!(matches!(text(b"\"plain\""), Some(Cow::Borrowed("plain"))));
}

#[test]
fn a_span_beyond_the_body_is_empty() {
    let span = Span { start: 2, end: 9 };
    assert_eq!(span.of(b"abc"), b"");
    assert_eq!(span.shifted(u32::MAX).of(b"abc"), b"");
    assert_eq!(span.shifted(1), Span { start: 3, end: 10 });
}

proptest! {
    #[test]
    fn members_agree_with_a_tree(object in super::super::tests::generate::message()) {
        let tree: Value = serde_json::from_str(&object).expect("made as JSON");
        let found = members(object.as_bytes()).expect("made as an object");
        prop_assert_eq!(found.len(), tree.as_object().expect("an object").len());
        for (key, value) in found {
            let key = text(key.of(object.as_bytes())).expect("a key is a string");
            let parsed: Value = serde_json::from_slice(value.of(object.as_bytes())).expect("a value");
            prop_assert_eq!(Some(&parsed), tree.get(&*key));
            prop_assert_eq!(member(object.as_bytes(), &key), Some(value));
        }
    }

    #[test]
    fn text_undoes_quote(words: String) {
        let decoded = text(quote(&words).as_bytes()).map(Cow::into_owned);
        prop_assert_eq!(decoded, Some(words));
    }

    #[test]
    fn survives_any_bytes(bytes: Vec<u8>) {
        let _ = (member(&bytes, "a"), members(&bytes), elements(&bytes), text(&bytes));
    }
}
