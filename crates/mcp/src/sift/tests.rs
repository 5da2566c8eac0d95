//! What is found in an answer that comes in pieces is what is found in it whole.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Found, Sift};

const ALL: [Found; 3] = [Found::Cursor, Found::State, Found::Task];

/// Sifts a message in pieces of a size; each text found becomes its kind.
fn sifted(message: &str, piece: usize, wanted: &[Found]) -> String {
    let (mut sift, mut passed) = (Sift::new(wanted), Vec::new());
    for piece in message.as_bytes().chunks(piece) {
        let replace = |found, raw: Bytes| {
            assert!(raw.starts_with(b"\"") && raw.ends_with(b"\"") && raw.len() > 1, "{raw:?}");
            Bytes::from(format!("<{found:?}:{}>", String::from_utf8_lossy(&raw)))
        };
        sift.push(&Bytes::copy_from_slice(piece), replace, |bytes| passed.extend_from_slice(&bytes));
    }
    assert_eq!(sift.held_bytes(), 0, "{message}");
    String::from_utf8(passed).unwrap()
}

fn check(result: &str, expected: &str) {
    let message = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":"a","result":{result},"x":"taskId"}}"#);
    for piece in [1, 2, 3, 7, 1000] {
        assert_eq!(sifted(&message(result), piece, &ALL), message(expected), "in pieces of {piece}");
        assert_eq!(sifted(&message(result), piece, &[]), message(result));
    }
}

#[test]
fn each_text_is_found_where_it_may_stand() {
    check(
        r#"{"tools":[{"nextCursor":"no"}],"nextCursor" : "a\"b\\"}"#,
        r#"{"tools":[{"nextCursor":"no"}],"nextCursor" : <Cursor:"a\"b\\">}"#,
    );
    check(
        r#"{"resultType":"input_required","requestState":"é"}"#,
        r#"{"resultType":"input_required","requestState":<State:"é">}"#,
    );
    check(
        r#"{"requestState":"s","resultType":"input_required"}"#,
        r#"{"requestState":<State:"s">,"resultType":"input_required"}"#,
    );
    check(
        r#"{"resultType":"task","taskId":"t","status":"working"}"#,
        r#"{"resultType":"task","taskId":<Task:"t">,"status":"working"}"#,
    );
    check(
        r#"{"task":{"x":{"taskId":"no"},"taskId":"t"}}"#,
        r#"{"task":{"x":{"taskId":"no"},"taskId":<Task:"t">}}"#,
    );
    check(
        r#"{"tasks":[{"taskId":"a"},["taskId"],"taskId",7, {"b":[],"taskId":"b"}],"nextCursor":"c"}"#,
        r#"{"tasks":[{"taskId":<Task:"a">},["taskId"],"taskId",7, {"b":[],"taskId":<Task:"b">}],"nextCursor":<Cursor:"c">}"#,
    );
    check(
        r#"{"content":[],"_meta":{"taskId":"no","io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#,
        r#"{"content":[],"_meta":{"taskId":"no","io.modelcontextprotocol/related-task":{"taskId":<Task:"t">}}}"#,
    );
}

#[test]
fn nothing_else_is() {
    for result in [
        r#"{"nextCursor":null,"requestState":7,"taskId":{"taskId":"x"},"task":"taskId","tasks":{"taskId":"x"}}"#,
        r#"{"structuredContent":{"nextCursor":"x","result":{"taskId":"x"}},"y":["nextCursor","x"]}"#,
        r#"{"resultType":"complete","requestState":"x"}"#,
        r#"["nextCursor","x",{"taskId":"x"}]"#,
        r#""taskId""#,
        r#"{"next\"Cursor":"x","a":"nextCursor","b":"x"}"#,
    ] {
        check(result, result);
    }
    for message in [
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"taskId":"x"}},"nextCursor":"x"}"#,
        r#"[{"result":{"taskId":"x"}}]"#,
        r#"}]{"a"]]}{"nextCursor":"x""#,
        "",
    ] {
        assert_eq!(sifted(message, 2, &ALL), message);
    }
}

#[test]
fn only_the_text_of_one_is_held() {
    let mut sift = Sift::new(&ALL);
    let mut passed = 0;
    let mut push = |text: &str| {
        sift.push(
            &Bytes::copy_from_slice(text.as_bytes()),
            |_, _| Bytes::new(),
            |bytes| passed += bytes.len(),
        );
        sift.held_bytes()
    };
    assert_eq!(push(r#"{"result":{"tools":["#), 0);
    assert_eq!(push(&"{},".repeat(1000)), 0);
    assert_eq!(push(r#"{}],"nextCursor":"abc"#), 4);
    assert_eq!(push(r"d\"), 6);
    assert_eq!(push(r#"""#), 7, "the quote was escaped");
    assert_eq!(push(r#""}}"#), 0);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), ".{0,6}".prop_map(Value::from)];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let key = prop_oneof![
            "[a-z\"\\\\]{0,4}",
            prop::sample::select(vec!["result", "task", "tasks", "taskId", "_meta", super::RELATED])
                .prop_map(str::to_owned),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key, inner, 0..4).prop_map(|all| all.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn tasks_are_found_as_in_the_whole(result in value(), piece in 1_usize..40) {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string();
        let whole = Bytes::from(message.clone());
        let mut edits: Vec<_> = crate::task::ids(&whole).into_iter().map(|at| {
            let with = format!("<Task:{}>", String::from_utf8_lossy(at.of(&whole))).into();
            crate::rewrite::Edit { at, with }
        }).collect();
        let expected = crate::rewrite::splice(&whole, &mut edits);
        let found = sifted(&message, piece, &[Found::Task]);
        prop_assert_eq!(found.as_bytes(), &expected[..]);
    }
}
