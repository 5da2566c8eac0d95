//! The audit trail over the wire: where a deed came from, and what a crash leaves of the trail.

use serde_json::{Value, json};

use testkit::{LegacyBackend, ModernBackend};

use crate::app::{App, PATIENCE};

#[tokio::test]
async fn an_answered_write_is_on_the_trail_even_after_a_crash() {
    let mut app = App::start().await;
    app.admin().send("POST /api/groups", json!({ "name": "staff" })).await.expect(201);
    app.crash().await;
    let trail = app.admin().get("/api/audit?action=group").await.expect(200);
    let entry = &trail["entries"][0];
    let told = ["actor", "action", "object", "outcome", "source"].map(|name| entry[name].as_str().unwrap());
    assert_eq!(told, ["admin", "group.create", "staff", "ok", "127.0.0.1"]);
    assert_eq!(trail["total_count"], 1);
    app.anonymous().get("/api/audit").await.expect(401);
    app.anonymous().send("DELETE /api/groups/staff", Value::Null).await.expect(401);
}

/// Waits until so many calls are on the trail, and returns them, oldest first.
async fn calls(app: &App, count: usize) -> Vec<Value> {
    let begun = std::time::Instant::now();
    loop {
        let trail = app.admin().get("/api/audit?action=mcp").await.expect(200);
        let mut entries = trail["entries"].as_array().unwrap().clone();
        if entries.len() >= count {
            entries.reverse();
            return entries;
        }
        assert!(begun.elapsed() < PATIENCE, "{entries:?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

fn told(entry: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let names = ["actor", "action", "object", "outcome", "detail"].map(|name| word(&entry[name]));
    let data = ["server", "version"].map(|name| word(&entry["data"][name]));
    assert!(entry["data"]["duration_ms"].as_f64().unwrap() >= 0.0, "{entry}");
    [names.join(" "), data.join(" ")].join(" ")
}

#[tokio::test]
async fn calls_are_noted_by_name_where_the_configuration_says_so() {
    let legacy = LegacyBackend::start("a").tool("search").await;
    let modern = ModernBackend::start("b").tool("merge").await;
    let app = App::configured("[audit]\ncalls = \"names\"").await;
    app.serve("/a", &legacy.url()).await;
    app.serve("/b", &modern.url()).await;
    let mappings = json!([
        { "tool_name": "search", "backend_server_path": "/a", "alias": "find" },
        { "tool_name": "merge", "backend_server_path": "/b" },
    ]);
    let body = json!({ "server_name": "Dev", "path": "/virtual/dev", "tool_mappings": mappings,
        "tool_scope_overrides": [{ "tool_alias": "merge", "required_scopes": ["write"] }], "is_enabled": true });
    app.admin().send("POST /api/virtual-servers", body).await.expect(201);
    let reader = app.reader().await;
    let secret = json!({ "password": "s3cret" });
    let mut direct = app.client("/a", &reader);
    direct.initialize().await;
    direct.call("search", secret.clone()).await;
    direct.try_call("nothing", json!({})).await.text().await;
    let mut one = app.client("/virtual/dev", &reader);
    one.initialize().await;
    one.call("find", secret.clone()).await;
    one.try_call("merge", json!({})).await.text().await;
    let other = app.modern("/virtual/dev", &app.admin());
    other.call("merge", secret).await;
    let entries = calls(&app, 5).await;
    let told: Vec<_> = entries.iter().map(told).collect();
    let expected = [
        "reader mcp.tools/call /a ok search /a v1.0.0",
        "reader mcp.tools/call /a error nothing /a v1.0.0",
        "reader mcp.tools/call /virtual/dev ok find /a v1.0.0",
        "reader mcp.tools/call /virtual/dev refused merge /b v1.0.0",
        "admin mcp.tools/call /virtual/dev ok merge /b v1.0.0",
    ];
    assert_eq!(told, expected);
    assert!(!json!(entries).to_string().contains("s3cret"), "no arguments");
    let ran = app.run(&["audit", "--action", "mcp", "--outcome", "refused"]).await;
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.said.contains("mcp.tools/call") && ran.said.contains("merge"), "{ran:?}");
    let ran = app.run(&["audit", "--action", "mcp", "--export"]).await;
    let lines: Vec<Value> = ran.said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["actor"]), (5, &json!("admin")));
    let metrics = app.anonymous().get("/metrics").await.text;
    assert!(metrics.contains("switchyard_audit_calls_total 5"), "{metrics}");
}

#[tokio::test]
async fn calls_are_not_noted_unasked_and_what_waits_is_written_at_the_end() {
    let backend = LegacyBackend::start("a").tool("search").await;
    let mut app = App::start().await;
    app.serve("/a", &backend.url()).await;
    let reader = app.reader().await;
    let mut client = app.client("/a", &reader);
    client.initialize().await;
    client.call("search", json!({})).await;
    app.restart().await;
    assert_eq!(app.admin().get("/api/audit?action=mcp").await.expect(200)["total_count"], 0);
    std::fs::write(app.folder().join("switchyard.toml"), "[audit]\ncalls = \"names\"").unwrap();
    app.restart().await;
    let mut client = app.client("/a", &reader);
    client.initialize().await;
    client.call("search", json!({})).await;
    app.restart().await;
    assert_eq!(app.admin().get("/api/audit?action=mcp").await.expect(200)["total_count"], 1);
}
