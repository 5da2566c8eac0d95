//! Ids of tasks are found wherever a backend writes one, and nothing else is.

use super::{ids, page, related};
use crate::message::Outline;

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

#[test]
fn a_page_is_taken_apart() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"x":1,"tasks" : [{"taskId":"a"},7,{"taskId":3}, {"y":[],"taskId":"b"}],"nextCursor":"c"}}"#;
    let found = page(answer.as_bytes()).unwrap();
    let of = |span: crate::message::Span| &answer[span.range()];
    let tasks: Vec<_> = found.tasks.iter().map(|(task, id)| (of(*task), of(*id))).collect();
    assert_eq!(tasks, [(r#"{"taskId":"a"}"#, "\"a\""), (r#"{"y":[],"taskId":"b"}"#, "\"b\"")]);
    assert!(of(found.all).starts_with("[{") && of(found.all).ends_with("}]"));
    assert_eq!(found.next_cursor.map(of), Some("\"c\""));
    let last = page(br#"{"jsonrpc":"2.0","id":1,"result":{"tasks":[],"nextCursor":null}}"#).unwrap();
    assert!(last.tasks.is_empty() && last.next_cursor.is_none());
    for none in [
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tasks":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        "x",
    ] {
        assert_eq!(page(none.as_bytes()), None, "{none}");
    }
}

#[test]
fn a_clients_message_names_the_task_it_belongs_to() {
    let found = |message: &str| {
        let outline = Outline::read(message.as_bytes()).unwrap();
        related(message.as_bytes(), &outline).map(|id| message[id.range()].to_owned())
    };
    let meta = r#""_meta":{"x":1,"io.modelcontextprotocol/related-task":{"taskId":"a"}}"#;
    let id = Some("\"a\"".to_owned());
    assert_eq!(found(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"action":"accept",{meta}}}}}"#)), id);
    assert_eq!(found(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{{meta}}}}}"#)), id);
    assert_eq!(found(&format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"taskId":"b",{meta}}}}}"#)), id);
    for none in [
        r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"taskId":"b","_meta":{"progressToken":1}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":7}}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
    ] {
        assert_eq!(found(none), None, "{none}");
    }
}
