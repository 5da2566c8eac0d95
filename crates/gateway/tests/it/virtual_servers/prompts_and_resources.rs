//! Prompts, resources and templates of the mapped servers: exposed, routed to their owner, or switched off.

use serde_json::{Value, json};
use testkit::{Client, LegacyBackend};

use crate::app::App;
use crate::compose::row;
use crate::heard::greetings;

struct Stage {
    app: App,
    first: LegacyBackend,
    second: LegacyBackend,
}

impl Stage {
    async fn start() -> Self {
        let first = LegacyBackend::start("first").tool("search").prompt("review").prompt("both");
        let first = first.resource("file:///a").resource("file:///both").template("db://{table}").await;
        let second = LegacyBackend::start("second").tool("search").prompt("both").prompt("plan");
        let second = second.resource("file:///both").resource("file:///b").template("log://{day}").await;
        let app = App::start().await;
        app.serve("/first", &first.url()).await;
        app.serve("/second", &second.url()).await;
        // The server mapped first comes first, though not by name.
        app.compose("v", &[row("search", "/second", "two"), row("search", "/first", "one")]).await;
        Self { app, first, second }
    }

    async fn visit(&self) -> Client {
        self.app.visit("/virtual/v").await
    }
}

fn column(items: &[Value], member: &str) -> Vec<String> {
    items.iter().map(|item| item[member].as_str().unwrap().to_owned()).collect()
}

async fn text(client: &Client, method: &str, params: Value) -> String {
    client.request(method, params).await.result().await.to_string()
}

#[tokio::test]
async fn lists_join_in_mapping_order_and_show_each_name_once() {
    let stage = Stage::start().await;
    let client = stage.visit().await;
    let prompts = client.list("prompts/list").await;
    assert_eq!(column(&prompts, "name"), ["both", "plan", "review"]);
    assert_eq!(prompts[0]["title"], "The both prompt");
    let resources = client.list("resources/list").await;
    assert_eq!(column(&resources, "uri"), ["file:///both", "file:///b", "file:///a"]);
    assert_eq!(resources[0]["mimeType"], "text/plain");
    let templates = client.list("resources/templates/list").await;
    assert_eq!(column(&templates, "uriTemplate"), ["log://{day}", "db://{table}"]);
}

#[tokio::test]
async fn a_name_goes_to_its_owner() {
    let stage = Stage::start().await;
    let client = stage.visit().await;
    for (name, owner) in [("review", "first"), ("plan", "second"), ("both", "second")] {
        let params = json!({ "name": name, "arguments": { "topic": "x" } });
        let said = text(&client, "prompts/get", params).await;
        assert!(said.contains(&format!("{owner} {name}")), "{said}");
    }
    let uris = [
        ("file:///a", "first"),
        ("file:///b", "second"),
        ("file:///both", "second"),
        ("db://users", "first"),
        ("log://monday", "second"),
    ];
    for (uri, owner) in uris {
        let said = text(&client, "resources/read", json!({ "uri": uri })).await;
        assert!(said.contains(&format!("{owner} {uri}")), "{said}");
    }
    let references = [
        (json!({ "type": "ref/prompt", "name": "review" }), "x-first-review"),
        (json!({ "type": "ref/resource", "uri": "log://{day}" }), "x-second-log://{day}"),
    ];
    for (reference, expected) in references {
        let params = json!({ "ref": reference, "argument": { "name": "topic", "value": "x" } });
        let completed = client.request("completion/complete", params).await.result().await;
        assert_eq!(completed["completion"]["values"], json!([expected]));
    }
}

#[tokio::test]
async fn what_nobody_has_is_an_error_and_asks_only_who_might() {
    let stage = Stage::start().await;
    let client = stage.visit().await;
    let answer = client.request("resources/read", json!({ "uri": "file:///none" })).await;
    assert_eq!(answer.status, 200);
    let error = answer.error().await;
    assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(-32002), &json!("file:///none")));
    let error = client.request("prompts/get", json!({ "name": "none" })).await.error().await;
    assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!("unknown prompt: none")));
    assert!(stage.first.asked("prompts/get").is_empty());
    for (method, params) in [("prompts/get", json!({})), ("resources/read", json!({ "uri": 7 }))] {
        assert_eq!(client.request(method, params).await.error().await["code"], -32602, "{method}");
    }
    let error = client.request("tasks/list", json!({})).await.error().await;
    assert_eq!(error["code"], -32601, "not offered by virtual servers");
}

#[tokio::test]
async fn a_resource_that_only_its_backend_knows_is_found_by_asking() {
    let stage = Stage::start().await;
    let client = stage.visit().await;
    // Known to the backend by a template that it does not list any more.
    stage.first.set(|script| script.templates.push(json!({ "uriTemplate": "hidden://{x}", "name": "h" })));
    let said = text(&client, "resources/read", json!({ "uri": "hidden://1" })).await;
    assert!(said.contains("first hidden://1"), "{said}");
    assert_eq!(stage.second.asked("resources/read").len(), 1, "it was asked first");
}

#[tokio::test]
async fn both_can_be_switched_off() {
    let stage = Stage::start().await;
    stage.app.recompose("v", json!({ "exposes_prompts": false, "exposes_resources": false })).await;
    let mut client = stage.app.client("/virtual/v", &stage.app.reader().await);
    let greeting = client.initialize().await;
    assert!(greeting["capabilities"]["tools"].is_object(), "{greeting}");
    for kind in ["prompts", "resources"] {
        assert!(greeting["capabilities"][kind].is_null(), "{greeting}");
    }
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        let error = client.request(method, json!({})).await.error().await;
        assert_eq!(error["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn the_greeting_joins_capabilities_and_instructions() {
    let first = LegacyBackend::start("first").tool("search").prompt("p").instructions("Search first.").await;
    let second = LegacyBackend::start("second").tool("search").resource("file:///x");
    let second = second.instructions("Then read.").await;
    let app = App::start().await;
    app.serve("/first", &first.url()).await;
    app.serve("/second", &second.url()).await;
    app.compose("v", &[row("search", "/first", "one"), row("search", "/second", "two")]).await;
    let mut client = app.client("/virtual/v", &app.reader().await);
    let greeting = client.initialize().await;
    let capabilities = &greeting["capabilities"];
    for kind in ["tools", "prompts", "resources", "completions", "logging"] {
        assert!(capabilities[kind].is_object(), "{kind}: {capabilities}");
    }
    assert_eq!(capabilities["tools"]["listChanged"], true);
    assert_eq!(capabilities["resources"]["subscribe"], true);
    let instructions = greeting["instructions"].as_str().unwrap();
    assert!(instructions.contains("Search first.") && instructions.contains("Then read."), "{instructions}");
    app.recompose("v", json!({ "instructions": "Ours." })).await;
    assert_eq!(client.initialize().await["instructions"], "Ours.");
}

#[tokio::test]
async fn the_revision_is_agreed_with_the_client_and_told_to_the_backends() {
    let stage = Stage::start().await;
    let asked_and_agreed = [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ];
    for (asked, agreed) in asked_and_agreed {
        let mut client = stage.app.client("/virtual/v", &stage.app.reader().await).revision(asked);
        assert_eq!(client.initialize().await["protocolVersion"], agreed);
        client.call("one", json!({})).await;
        let greeted = greetings(&stage.first).pop().unwrap();
        assert_eq!(greeted.params()["protocolVersion"], agreed);
        assert_eq!(greeted.params()["clientInfo"]["name"], "testkit");
        let expected = if agreed >= "2025-06-18" { agreed } else { "" };
        assert_eq!(stage.first.calls().last().unwrap().header("mcp-protocol-version"), expected);
    }
}
