//! What somebody would see of an endpoint, and why not the rest.

use serde_json::json;
use testkit::LegacyBackend;

use crate::app::App;

#[tokio::test]
async fn each_hidden_tool_is_told_with_the_rule_that_hides_it() {
    let backend = LegacyBackend::start("a").tool("search").tool("merge").await;
    let app = App::start().await;
    app.serve("/a", &backend.url()).await;
    let rows = ["search", "merge"].map(|tool| json!({ "tool_name": tool, "backend_server_path": "/a" }));
    let body = json!({ "server_name": "Dev", "path": "/virtual/dev", "tool_mappings": rows,
        "required_scopes": ["enter"], "is_enabled": true,
        "tool_scope_overrides": [{ "tool_alias": "merge", "required_scopes": ["write"] }] });
    app.admin().send("POST /api/virtual-servers", body).await.expect(201);
    app.holder("ann", &["enter"]).await;
    let told = async |line: &[&str]| {
        let ran = app.run(&[&["explain"], line].concat()).await;
        assert_eq!(ran.status, 0, "{ran:?}");
        ran.said
    };
    let ann = told(&["/virtual/dev", "--as", "ann"]).await;
    for part in [
        "ann may enter /virtual/dev, by the token ",
        "scopes: enter",
        "sees  search",
        "hides merge\n      tool_scopes of merge: missing required scope: write",
    ] {
        assert!(ann.contains(part), "{part:?} in {ann}");
    }
    // The answer is that of the endpoint itself.
    let seen = app.client("/virtual/dev", &app.holder("ann", &["enter"]).await);
    let mut seen = seen;
    seen.initialize().await;
    assert_eq!(seen.tools().await, ["search"]);
    let bob = told(&["/virtual/dev/mcp", "--as", "bob", "--scope", "write", "--tool", "merge"]).await;
    assert!(bob.contains("bob may not enter /virtual/dev"), "{bob}");
    assert!(bob.contains("endpoint_scopes: missing required scope: enter"), "{bob}");
    assert!(bob.contains("hides merge") && !bob.contains("search"), "{bob}");
    let direct = told(&["/a", "--as", "ann", "--json"]).await;
    let direct: serde_json::Value = serde_json::from_str(&direct).unwrap();
    assert_eq!((&direct["visible_count"], &direct["version"]), (&json!(2), &json!("v1.0.0")));
    let none = app.run(&["explain", "/virtual/dev", "--tool", "nothing"]).await;
    assert_eq!(none.status, 1, "{none:?}");
    assert!(none.complained.contains("/virtual/dev has no tool nothing"), "{none:?}");
    let nowhere = app.run(&["explain", "/nowhere"]).await;
    assert_eq!(nowhere.status, 1, "{nowhere:?}");
}
