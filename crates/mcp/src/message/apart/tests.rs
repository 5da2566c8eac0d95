use super::*;

fn check(data: &'static str, expected: &[&str]) {
    let messages: Vec<_> = apart(Bytes::from_static(data.as_bytes())).collect();
    assert_eq!(messages, expected, "{data}");
}

#[test]
fn an_array_is_taken_apart_and_nothing_else() {
    let single = r#" {"jsonrpc":"2.0","id":1,"result":[{}]}"#;
    check(single, &[single]);
    for odd in ["", "[", "[1,", "[1]x", "7"] {
        check(odd, &[odd]);
    }
    check("[]", &[]);
    check(" [ 1 , [2] ]\n", &["1", "[2]"]);
}

#[test]
fn answers_come_last() {
    check(
        r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]"#,
        &[
            r#"{"jsonrpc":"2.0","method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"b"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ],
    );
}
