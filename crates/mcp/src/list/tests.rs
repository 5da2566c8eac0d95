//! List results taken apart and items renamed, against trees.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::message::tests::generate;

#[test]
fn takes_results_apart() {
    let check = |result: &str, kind: ListKind, items: &[(&str, &str, &str)], cursor: &str| {
        let listed = read(result.as_bytes(), kind).unwrap_or_else(|| panic!("{result}"));
        let shown = |span: Option<Span>| span.map_or("-", |span| &result[span.range()]);
        let found: Vec<_> = listed
            .items
            .iter()
            .map(|item| (shown(Some(item.json)), shown(item.key), shown(item.description)))
            .collect();
        assert_eq!(found, items, "{result}");
        assert_eq!(shown(listed.next_cursor), cursor, "{result}");
    };
    let tool = r#"{ "description":"d\n","name":"a","inputSchema":{"name":"no"}}"#;
    check(
        &format!(r#" {{"tools" : [ {tool} ,{{"name":"b"}}],"nextCursor":"c"}}"#),
        ListKind::Tools,
        &[(tool, r#""a""#, r#""d\n""#), (r#"{"name":"b"}"#, r#""b""#, "-")],
        r#""c""#,
    );
    check(r#"{"tools":[],"nextCursor":null}"#, ListKind::Tools, &[], "-");
    check(r#"{"prompts":[{"name":"p"}]}"#, ListKind::Prompts, &[(r#"{"name":"p"}"#, r#""p""#, "-")], "-");
    let resource = r#"{"uri":"a:b","name":"n"}"#;
    check(
        &format!(r#"{{"resources":[{resource}]}}"#),
        ListKind::Resources,
        &[(resource, r#""a:b""#, "-")],
        "-",
    );
    let template = r#"{"uriTemplate":"a:{b}","description":7}"#;
    check(
        &format!(r#"{{"resourceTemplates":[{template}]}}"#),
        ListKind::Templates,
        &[(template, r#""a:{b}""#, "7")],
        "-",
    );
    // Items of a wrong shape have no key.
    let odd = [r#"{"name":7}"#, r#"{"name":"a","n\u0061me":"b"}"#, "7", "[]", "{}", "null"];
    let items = odd.map(|item| (item, "-", "-"));
    check(&format!(r#"{{"tools":[{}]}}"#, odd.join(",")), ListKind::Tools, &items, "-");
}

#[test]
fn refuses_what_is_no_list() {
    for result in [
        "",
        "{}",
        "[]",
        "null",
        r#"{"tools":{}}"#,
        r#"{"tools":null}"#,
        r#"{"tools":[],"tools":[]}"#,
        r#"{"tools":[}"#,
        r#"{"tools":[]"#,
        r#"{"prompts":[]}"#,
    ] {
        assert_eq!(read(result.as_bytes(), ListKind::Tools), None, "{result}");
    }
    assert_eq!(read(b"{\"tools\":[\"\xff\"]}", ListKind::Tools), None);
}

#[test]
fn renames_items() {
    let check = |item: &str, name: Option<&str>, description: Option<&str>, expected: &str| {
        assert_eq!(renamed(item, name, description), expected);
    };
    let item = r#"{ "name" : "a", "description":null ,"x":{"name":"b"} }"#;
    check(item, None, None, item);
    check(item, Some("c\""), None, r#"{ "name" : "c\"", "description":null ,"x":{"name":"b"} }"#);
    check(item, Some("c"), Some("d"), r#"{ "name" : "c", "description":"d" ,"x":{"name":"b"} }"#);
    check(r#"{"name":"a"}"#, None, Some("d"), r#"{"description":"d","name":"a"}"#);
    check(r#" {} "#, Some("a"), Some("d"), r#" {"name":"a","description":"d"} "#);
    check(r#"{"n\u0061me":"a","name":"b"}"#, Some("c"), None, r#"{"n\u0061me":"c","name":"c"}"#);
    check("[1]", Some("c"), Some("d"), "[1]");
    check("{", Some("c"), None, "{");
}

proptest! {
    #[test]
    fn renaming_agrees_with_a_tree(
        item in generate::message(),
        name: Option<String>,
        description: Option<String>,
    ) {
        let mut tree: Value = serde_json::from_str(&item).expect("made as JSON");
        for (key, new) in [("name", &name), ("description", &description)] {
            if let Some(new) = new {
                tree[key] = Value::from(new.as_str());
            }
        }
        let renamed = renamed(&item, name.as_deref(), description.as_deref());
        prop_assert_eq!(serde_json::from_str::<Value>(&renamed).expect("still JSON"), tree);
    }

    #[test]
    fn agrees_with_a_tree(items in prop::collection::vec(generate::message(), 0..4)) {
        let result = format!(r#"{{"tools": [{}] }}"#, items.join(" , "));
        let listed = read(result.as_bytes(), ListKind::Tools).expect("made as a list");
        let found: Vec<_> = listed.items.iter().map(|item| &result[item.json.range()]).collect();
        prop_assert_eq!(found, items);
    }

    #[test]
    fn survives_any_bytes(bytes: Vec<u8>, text: String) {
        let _ = read(&bytes, ListKind::Resources);
        let _ = renamed(&text, Some("a"), Some("b"));
    }
}
