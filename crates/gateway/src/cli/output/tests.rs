//! What is taken for an answer, and what of it reaches a terminal.

use serde_json::json;

use super::*;

#[test]
fn answers_of_another_shape_are_told_apart() {
    for is_json in [false, true] {
        let output = Output { is_json };
        for document in [json!([]), json!({}), json!({"servers": 5}), json!({"servers": [5]}), json!(null)] {
            let failure = output.table(&document, "servers", &[("PATH", "path")]).expect_err("no list");
            assert_eq!(failure.status, 1);
            assert!(failure.message.contains("a list of objects under \"servers\""), "{failure:?}");
        }
        for document in [json!([]), json!({}), json!("text"), json!(null)] {
            let failure = output.fields(&document).expect_err("no members");
            assert!(failure.message.contains("an object with members"), "{failure:?}");
        }
    }
}

#[test]
fn cells_show_what_steers_a_terminal() {
    let row = json!({"name": "a\u{1b}[2J\r\nb", "tags": ["x\u{7}"], "deep": {"text": "\n"}});
    assert_eq!(cell(&row, "name"), "a\\u{1b}[2J\\r\\nb");
    assert_eq!(cell(&row, "tags"), "x\\u{7}");
    assert_eq!(cell(&row, "deep.text"), "\\n");
    assert_eq!(cell(&row, "none"), "");
    assert_eq!(cell(&json!({"name": "a".repeat(61)}), "name"), format!("{}…", "a".repeat(60)));
}
