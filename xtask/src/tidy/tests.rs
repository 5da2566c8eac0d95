//! The repository is tidy, and the rules find what they are for.

use crate::tidy::source::{File, Package};
use crate::tidy::{check, files, imports, source, trees};

#[test]
fn the_repository_is_tidy() {
    let findings = check(&crate::root()).expect("the repository can be read");
    assert!(findings.faults.is_empty(), "{:#?}", findings.faults);
}

fn file(local: &str, text: &str) -> File {
    File { path: format!("crates/mcp/{local}"), local: local.to_owned(), text: text.to_owned() }
}

#[test]
fn code_has_no_comments_literals_and_tests() {
    let cases = [
        ("a // crate::b\nc", "a  \nc"),
        ("a /* x /* y */ z */ c", "a   c"),
        (r#"f("crate::x \" y") + 1"#, "f( ) + 1"),
        (r##"f(r#"a " b"#)"##, "f( )"),
        ("fn f<'a>(x: &'a str) { 'x'; '\\''; }", "fn f<'a>(x: &'a str) {  ;  ; }"),
        ("a #[cfg(test)] mod tests; b", "a  b"),
        ("a #[cfg(test)]\nmod tests { fn f() { { } } } b", "a  b"),
    ];
    for (text, expected) in cases {
        assert_eq!(source::code(text), expected, "{text}");
    }
}

#[test]
fn headers_and_names() {
    let cases = [
        ("src/a.rs", "//! What lives here.\n", 0),
        ("src/a.rs", "#![no_main]\n//! What lives here.\n", 0),
        ("src/a.rs", "use std::fs;\n", 1),
        ("src/a.rs", "//!\n", 1),
        ("src/a/tests.rs", "use super::*;\n", 0),
        ("src/util.rs", "//! Things.\n", 1),
        ("src/helpers/a.rs", "//! Things.\n", 1),
        ("src/a/mod.rs", "//! Things.\n", 1),
    ];
    for (local, text, count) in cases {
        assert_eq!(files::faults(&file(local, text)).len(), count, "{local} {text}");
    }
}

#[test]
fn trees_of_json() {
    let cases = [
        ("src/a.rs", "fn f(x: serde_json::Value) {}", true),
        ("src/a.rs", "use serde_json::{from_slice, Value};", true),
        ("src/a.rs", "let x = json!({});", true),
        ("src/a.rs", "// serde_json::Value is not used\nuse serde_json::value::RawValue;", false),
        ("src/a/tests.rs", "use serde_json::Value;", false),
        ("src/a.rs", "#[cfg(test)]\nmod tests { use serde_json::Value; }", false),
    ];
    for (local, text, is_fault) in cases {
        assert_eq!(trees::fault("mcp", &file(local, text)).is_some(), is_fault, "{local} {text}");
        assert!(trees::fault("registry", &file(local, text)).is_none());
    }
}

#[test]
fn files_that_import_each_other() {
    let cases: &[(&[(&str, &str)], usize)] = &[
        (&[("src/a.rs", "use crate::b::X;"), ("src/b.rs", "")], 0),
        (&[("src/a.rs", "use crate::b::X;"), ("src/b.rs", "use crate::a::Y;")], 1),
        (&[("src/a.rs", "use crate::{b::{X, Z}, c};"), ("src/b.rs", "use super::a;"), ("src/c.rs", "")], 1),
        (&[("src/a.rs", "fn f() { crate::b::g() }"), ("src/b.rs", "fn g() { super::a::f() }")], 1),
        (&[("src/lib.rs", "mod a; pub use crate::a::X;"), ("src/a.rs", "use crate::Y;")], 0),
        (
            &[
                ("src/lib.rs", "mod a; mod b;"),
                ("src/a.rs", "use crate::b::Y;"),
                ("src/b.rs", "use crate::Z;"),
            ],
            0,
        ),
        (&[("src/a.rs", "mod c; use self::c::X;"), ("src/a/c.rs", "use super::Y;")], 0),
        (&[("src/a/c.rs", "use crate::b::Y;"), ("src/b.rs", "use crate::a::c::{self, Z as W};")], 1),
        (&[("src/a.rs", "#[cfg(test)] mod tests { use crate::b::X; }"), ("src/b.rs", "use crate::a::Y;")], 0),
    ];
    for (files, count) in cases {
        let files = files.iter().map(|(local, text)| file(local, text)).collect();
        let package = Package { name: "p".to_owned(), files };
        assert_eq!(
            imports::mutual(&package).len(),
            *count,
            "{:?}",
            package.files.iter().map(|f| &f.text).collect::<Vec<_>>()
        );
    }
}
