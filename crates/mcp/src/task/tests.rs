//! Ids of tasks are found wherever a backend writes one, and nothing else is.

use super::ids;

fn check(message: &str, expected: &[&str]) {
    let mut found: Vec<_> = ids(message.as_bytes())
        .iter()
        .map(|id| std::str::from_utf8(id.of(message.as_bytes())).unwrap())
        .collect();
    found.sort_unstable();
    assert_eq!(found, expected, "{message}");
}

#[test]
fn results_and_notifications_name_the_backends_tasks() {
    check(r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"a","status":"working"}}}"#, &["\"a\""]);
    check(r#"{"jsonrpc":"2.0","id":1,"result":{"taskId":"a","status":"working"}}"#, &["\"a\""]);
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"tasks":[ {"taskId":"a"},7,{"x":1,"taskId":"b"}],"nextCursor":"c"}}"#,
        &["\"a\"", "\"b\""],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}"#,
        &["\"a\""],
    );
    check(r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a"}}"#, &["\"a\""]);
}

#[test]
fn a_request_names_only_the_task_it_belongs_to() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"mine","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}"#,
        &["\"a\""],
    );
}

#[test]
fn what_only_looks_like_one_is_none() {
    for message in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"taskId":7,"task":"taskId","tasks":{"taskId":"x"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"taskId":"x"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":"\"taskId\""}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"taskId":"x"}}}"#,
        r#"["taskId"]"#,
        r#"{"taskId""#,
        "",
    ] {
        check(message, &[]);
    }
}
