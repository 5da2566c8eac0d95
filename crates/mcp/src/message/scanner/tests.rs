//! The scanner's verdicts and spans against those of serde_json, which reads the same language.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::super::tests::generate;
use super::super::{elements, members};
use super::*;

/// Reads a text that is one value.
fn scanned(text: &[u8]) -> Option<Span> {
    let mut scanner = Scanner::new(text)?;
    let value = scanner.value().ok()?;
    scanner.end().ok()?;
    Some(value)
}

/// Checks the verdict on a text and, where it is JSON, the spans of its parts.
fn check(text: &[u8]) {
    let shown = String::from_utf8_lossy(text);
    let expected =
        std::str::from_utf8(text).ok().and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
    let found = scanned(text).map(|span| span.of(text));
    assert_eq!(found, expected.map(|raw| raw.get().as_bytes()), "{shown}");
    let of = |span: &Span| span.of(text);

    let array = expected.and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok());
    let array = array.map(|items| items.into_iter().map(|item| item.get().as_bytes()).collect::<Vec<_>>());
    let found = elements(text);
    assert_eq!(found.map(|items| items.iter().map(of).collect::<Vec<_>>()), array, "{shown}");

    let object = expected.and_then(|raw| {
        let mut pairs = Vec::new();
        serde_json::Deserializer::from_str(raw.get()).deserialize_map(Pairs(&mut pairs)).ok().map(|()| pairs)
    });
    let found = members(text);
    let found = found.map(|pairs| pairs.iter().map(|(key, value)| (of(key), of(value))).collect::<Vec<_>>());
    assert_eq!(found, object, "{shown}");
}

struct Pairs<'a, 'de>(&'a mut Vec<(&'de [u8], &'de [u8])>);

impl<'de> Visitor<'de> for Pairs<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
            self.0.push((key.get().as_bytes(), value.get().as_bytes()));
        }
        Ok(())
    }
}

#[test]
fn reads_what_is_json_and_nothing_else() {
    let numbers = "0 -0 1 -1 10 01 00 -01 - + +1 .5 5. 5.0 5.x 0.0 -0.0e0 1e5 1E5 1e+5 1e-5 1e 1e+ 1.e5 1.5e \
                   0e0 0x1 1_0 1a - --1 1-1 Infinity NaN 9999999999999999999999999 1.0.0 1e5.0 1e5e5";
    let words = "true false null tru truex True nul nulll fals t f n nan undefined";
    let brackets = "[] {} [ ] { } [] ] [[]] [[] [} {] {]} [1] [1,] [,] [,1] [1,,2] [1,2] {\"a\"} {\"a\":} {\"a\":1} \
                    {\"a\":1,} {,} {\"a\":1,,\"b\":2} {\"a\":1\"b\":2} {\"a\",\"b\"} {a:1} {1:1} {\"a\":1]} [\"a\":1] \
                    {\"a\":{}} {\"a\":[]} {\"a\":{} {\"a\":1}} [1]2 [1 [1{ {\"a\":[{\"b\":[{}]}]} :1 , ,1 1,2 1:2";
    let strings = r#""" " "a" "a "a"" "\" "\"" "\\" "\\\" "\/\b\f\n\r\t" "\a" "\x41" "\u" "\u0" "\u00" "\u004"
                     "\u0041" "\u004g" "\uD800" "\ud83d\ude00" "\udE00\uD83d" "\u00é" "é" "😀" '' 'a' "\u+041" "\U0041" "\"#;
    for text in [numbers, words, brackets, strings].iter().flat_map(|texts| texts.split_ascii_whitespace()) {
        check(text.as_bytes());
        check(format!(" \t\r\n{text} ").as_bytes());
        check(format!("[{text}]").as_bytes());
        check(format!("{{\"a\":{text}}}").as_bytes());
        check(format!("[ {{\"a\" : [ {text} , {text} ] }} , {text} ] ").as_bytes());
        check(format!("{{{text}:0}}").as_bytes());
    }
    for space in ["\u{0b}", "\u{0c}", "\u{a0}", "\u{feff}", "\0", "\u{85}", "/**/", "//\n", "#\n"] {
        check(format!("{space}[1]").as_bytes());
        check(format!("[{space}1]").as_bytes());
        check(format!("[1{space}]").as_bytes());
        check(format!("[1]{space}").as_bytes());
    }
    check(b"");
    check(b"\"\xff\"");
    check(b"[]\xff");
}

#[test]
fn finds_every_byte_of_a_string_wherever_it_stands() {
    for length in (0..26).chain([31, 32, 33, 47, 48, 49, 56, 57, 80, 88]) {
        check(format!("[\"{}\"]", "x".repeat(length)).as_bytes());
        check(format!("[\"{}", "x".repeat(length)).as_bytes());
        for at in 0..length {
            for byte in 0..0x80 {
                let mut text = format!("[\"{}\"]", "x".repeat(length)).into_bytes();
                text[2 + at] = byte;
                let is_json = serde_json::from_slice::<IgnoredAny>(&text).is_ok();
                assert_eq!(scanned(&text).is_some(), is_json, "{byte} at {at} of {length}");
            }
        }
    }
}

#[test]
fn finds_special_bytes_beside_one_another() {
    let bytes = *b"\x00\x01\x1f !\"#[\\]^u0\x7f\x80\x82\xa0\xa2\xdc\xff";
    for first in bytes {
        for second in bytes {
            for at in 0..7 {
                let mut eight = *b"xxxxxxxx";
                (eight[at], eight[at + 1]) = (first, second);
                let is_special = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
                let expected = eight.iter().position(is_special).unwrap_or(8);
                let marks = strings::special(u64::from_le_bytes(eight));
                assert_eq!(marks.trailing_zeros() as usize / 8, expected, "{eight:?}");
            }
        }
    }
}

/// Opens brackets, an object's for each `true`, and closes them again.
fn nested(brackets: &[bool]) -> String {
    let open: String = brackets.iter().map(|is_object| if *is_object { "{\"\":" } else { "[" }).collect();
    let close: String = brackets.iter().rev().map(|is_object| if *is_object { "}" } else { "]" }).collect();
    format!("{open}0{close}")
}

#[test]
fn counts_the_depth() {
    for depth in [0, 1, 2, 127, 128, 129, 255, 256, 257, 1000] {
        for brackets in [vec![true; depth], vec![false; depth]] {
            let text = format!("[0, {}, [[]]]", nested(&brackets));
            let mut scanner = Scanner::new(text.as_bytes()).expect("short and ASCII");
            scanner.array(|scanner| scanner.value().map(drop)).expect("made as JSON");
            assert_eq!(scanner.deepest(), 1 + depth.max(2));
        }
    }
}

proptest! {
    #[test]
    fn agrees_on_json(text in generate::json()) {
        check(text.as_bytes());
    }

    #[test]
    fn agrees_on_messages_with_a_byte_changed(
        text in generate::message(), at in any::<Index>(), byte: u8, cut: bool, inserted: bool
    ) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        match (cut, inserted) {
            (true, _) => bytes.truncate(at),
            (false, true) => bytes.insert(at, byte),
            (false, false) => bytes[at] = byte,
        }
        check(&bytes);
    }

    #[test]
    fn agrees_on_pieces_of_json_in_any_order(pieces in vec(select(vec![
        "{", "}", "[", "]", ",", ":", " ", "\n", "\"", "\\", "\"a\":", "\"\"", "\\u00", "0", "1", "-", ".", "e",
        "true", "null", "x", "é", "\u{1f}", "xxxxxxxx", "\"a\":1,", "[[", "]]", "[1,2]", "\"\\\"\"",
    ]), 0..16)) {
        check(pieces.concat().as_bytes());
    }

    #[test]
    fn agrees_on_any_bytes(bytes: Vec<u8>, text: String) {
        check(&bytes);
        check(text.as_bytes());
    }

    #[test]
    fn agrees_on_deep_nesting(brackets in vec(any::<bool>(), 100..400), wrong in any::<Index>(), is_wrong: bool) {
        let mut text = nested(&brackets).into_bytes();
        if is_wrong {
            let at = text.len() - 1 - wrong.index(brackets.len());
            text[at] = if text[at] == b']' { b'}' } else { b']' };
        }
        let is_json = serde_json::from_slice::<IgnoredAny>(&text).is_ok();
        prop_assert_eq!(scanned(&text).is_some(), is_json);
        prop_assert_eq!(is_json, !is_wrong);
    }
}
