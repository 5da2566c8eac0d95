//! Blocks of events as they are read.

use super::*;

#[test]
fn a_block_is_read_field_by_field() {
    let event = Event::read(": hello\nevent: message\nid:7\nretry: 1500\ndata: {\"a\":\ndata: 1}\n\n");
    assert_eq!(event.comments, ["hello"]);
    assert_eq!(event.name.as_deref(), Some("message"));
    assert_eq!(event.id.as_deref(), Some("7"));
    assert_eq!(event.retry.as_deref(), Some("1500"));
    assert_eq!(event.json(), serde_json::json!({ "a": 1 }));
}
