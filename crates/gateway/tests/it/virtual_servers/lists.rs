//! Lists: what is shown, under which names, in which order, with everything the backend gave.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::script::Reply;
use testkit::{LegacyBackend, Tool};

use crate::app::App;
use crate::compose::{DevTools, row};

#[tokio::test]
async fn the_order_is_that_of_the_mappings() {
    let stage = DevTools::start().await;
    let rows = [
        row("send_message", "/slack", "z_last"),
        row("search", "/jira", "jira_search"),
        row("list_repos", "/github", ""),
        row("list_channels", "/slack", ""),
        row("search", "/github", "a_first"),
        row("search", "/github", "again"),
    ];
    stage.app.compose("mixed", &rows).await;
    let client = stage.app.visit("/virtual/mixed").await;
    let expected = ["z_last", "jira_search", "list_repos", "list_channels", "a_first", "again"];
    assert_eq!(client.tools().await, expected);
    for name in expected {
        client.call(name, json!({})).await;
    }
    assert_eq!(stage.github.runs("search"), 2, "one tool under two aliases");
}

#[tokio::test]
async fn all_fields_of_a_tool_are_kept_byte_for_byte() {
    let backend = LegacyBackend::start("odd").tool("odd").await;
    let rest = r#""title":"O\u0064d","annotations":{"readOnlyHint":true,"x":1.0e2},"icons":[{"src":"data:,"}],"inputSchema":{"type":"object","properties":{"n":{"type":"number","default":1.50}}},"outputSchema":{"type":"object"},"_meta":{"a/b":[null]},"vendor":{ "kept" : true }"#;
    let tool = format!(r#"{{"name":"odd","description":"its own",{rest}}}"#);
    // The reader asks with the same id each time.
    let app = App::start().await;
    app.serve("/odd", &backend.url()).await;
    let asked = backend.asked("tools/list").last().unwrap().message["id"].clone();
    let body = format!(r#"{{"jsonrpc":"2.0","id":{asked},"result":{{"tools":[{tool}]}}}}"#);
    backend.reply("tools/list", Reply::new(200, "application/json", body));
    app.refresh("/odd").await;
    let mut described = row("odd", "/odd", "other");
    described["description_override"] = json!("ours: \"quoted\"");
    app.compose("odd", &[row("odd", "/odd", ""), row("odd", "/odd", "alias"), described]).await;
    let client = app.visit("/virtual/odd").await;
    let text = client.request("tools/list", json!({})).await.text().await;
    for wanted in [
        tool.clone(),
        format!(r#"{{"name":"alias","description":"its own",{rest}}}"#),
        format!(r#"{{"name":"other","description":"ours: \"quoted\"",{rest}}}"#),
    ] {
        assert!(text.contains(&wanted), "{wanted} is not in {text}");
    }
}

#[tokio::test]
async fn a_description_is_replaced_only_where_the_mapping_says_so() {
    let plain = Tool::new("plain").member("description", Value::Null);
    let backend = LegacyBackend::start("a").tool("search").tool(plain).await;
    let app = App::start().await;
    app.serve("/a", &backend.url()).await;
    let mut rows = [row("search", "/a", ""), row("search", "/a", "mine"), row("plain", "/a", "")];
    for row in &mut rows[1..] {
        row["description_override"] = json!("Ours");
    }
    app.compose("v", &rows).await;
    let tools = app.visit("/virtual/v").await.list("tools/list").await;
    let said: Vec<_> = tools.iter().map(|tool| tool["description"].as_str().unwrap()).collect();
    assert_eq!(said, ["Example tool search", "Ours", "Ours"]);
}

#[tokio::test]
async fn all_pages_of_a_backend_are_read() {
    let names: Vec<String> = (0..25).map(|n| format!("tool_{n}")).collect();
    let tools = names.iter().map(|name| Tool::new(name));
    let backend = LegacyBackend::start("a").tools(tools).await;
    backend.page_size(4);
    let app = App::start().await;
    app.serve("/a", &backend.url()).await;
    let rows: Vec<_> = names.iter().map(|name| row(name, "/a", "")).collect();
    app.compose("v", &rows).await;
    assert_eq!(app.visit("/virtual/v").await.tools().await, names);
}

#[tokio::test]
async fn a_long_list_comes_in_pages_whose_cursors_cannot_be_made_up() {
    let names: Vec<String> = (0..1100).map(|n| format!("tool_{n}")).collect();
    let backend = LegacyBackend::start("a").tools(names.iter().map(|name| Tool::new(name))).await;
    let app = App::start().await;
    app.serve("/a", &backend.url()).await;
    let rows: Vec<_> = names.iter().map(|name| row(name, "/a", "")).collect();
    app.compose("v", &rows).await;
    let client = app.visit("/virtual/v").await;
    let first = client.request("tools/list", json!({})).await.result().await;
    let cursor = first["nextCursor"].as_str().expect("more than one page").to_owned();
    assert!(first["tools"].as_array().unwrap().len() < names.len());
    assert_eq!(client.tools().await, names);
    for bad in ["2", "", &format!("{cursor}x"), &cursor[1..]] {
        let error = client.request("tools/list", json!({ "cursor": bad })).await.error().await;
        assert_eq!(error["code"], -32602, "{bad:?}");
    }
    app.recompose("v", json!({ "tool_mappings": rows[1..] })).await;
    let error = client.request("tools/list", json!({ "cursor": cursor })).await.error().await;
    assert_eq!(error["code"], -32602, "a cursor of another list");
}

#[tokio::test]
async fn slow_backends_do_not_hold_up_a_list() {
    let stage = DevTools::start().await;
    let backends = [&stage.github, &stage.slack, &stage.jira];
    for backend in backends {
        for method in ["initialize", "tools/list"] {
            backend.delay(method, Duration::from_secs(20));
        }
    }
    let begun = Instant::now();
    let client = stage.visit().await;
    assert_eq!(client.tools().await.len(), 3);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn backends_that_were_not_read_yet_are_read_side_by_side() {
    let app = App::start().await;
    let mut backends = Vec::new();
    let names = ["a", "b", "c", "d", "e", "f"];
    for name in names {
        let backend = LegacyBackend::start(name).tool("search").await;
        backend.delay("tools/list", Duration::from_secs(1));
        let body = json!({ "path": format!("/{name}"), "proxy_pass_url": backend.url(), "is_enabled": true });
        app.admin().send("POST /api/servers/register", body).await.expect(201);
        backends.push(backend);
    }
    let begun = Instant::now();
    app.compose("v", &names.map(|name| row("search", &format!("/{name}"), name))).await;
    assert_eq!(app.visit("/virtual/v").await.tools().await, names);
    assert!(begun.elapsed() < Duration::from_secs(5), "one after the other: {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_tool_that_is_gone_costs_only_itself() {
    let stage = DevTools::start().await;
    let client = stage.visit().await;
    stage.github.set_tools(["create_pr"]);
    stage.app.refresh("/github").await;
    assert_eq!(client.tools().await, ["jira_search", "send_message"]);
    let error = client.try_call("github_search", json!({})).await.error().await;
    assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!("unknown tool: github_search")));
    client.call("jira_search", json!({})).await;
    let shown = stage.app.admin().get("/api/virtual-servers/dev-tools/tools").await.expect(200);
    assert_eq!(shown["missing"], json!(["github_search"]));
    let metrics = stage.app.anonymous().get("/metrics").await.text;
    assert!(metrics.contains("switchyard_catalog_left_out_entries"), "{metrics}");
    stage.github.set_tools(["search"]);
    stage.app.refresh("/github").await;
    client.call("github_search", json!({})).await;
}
