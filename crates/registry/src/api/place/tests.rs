//! Naming members that do not fit.

use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only read into")]
struct Body {
    enabled: bool,
    name: Option<String>,
    rows: Option<Vec<Row>>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only read into")]
struct Row {
    tool: String,
    count: Option<u32>,
}

#[test]
fn what_does_not_fit_is_named() {
    let cases = [
        (r#"{"enabled": "yes"}"#, Some("enabled")),
        (r#"{"enabled": true, "name": 7}"#, Some("name")),
        ("{\n  \"name\": \"x\",\n  \"enabled\": [1]\n}", Some("enabled")),
        (r#"{}"#, Some("enabled")),
        (r#"{"name": "a \"quoted\": b"}"#, Some("enabled")),
        (r#"{"enabled": true, "rows": {}}"#, Some("rows")),
        (r#"{"enabled": true, "rows": [{"tool": "a"}, {"tool": 7}]}"#, Some("rows[1].tool")),
        (r#"{"enabled": true, "rows": [{"tool": "a"}, {"count": 1}]}"#, Some("rows[1].tool")),
        (r#"{"enabled": true, "rows": [{"tool": "a", "count": -1}]}"#, Some("rows[0].count")),
        ("7", None),
    ];
    for (body, field) in cases {
        let (found, reason) = read::<Body>(body.as_bytes()).unwrap_err();
        assert_eq!(found.as_deref(), field, "{body}: {reason}");
    }
}
