//! What backends give to be shown to them again: cursors and states come back to the version that made them.

use serde_json::{Value, json};
use testkit::{Client, LegacyBackend, ModernBackend};

use crate::app::App;
use crate::compose::row;

const TOOLS: [&str; 3] = ["one", "two", "ask"];

/// `/docs` with v1 active and v2 beside it, both of 2026-07-28, which cut their lists into pages of one.
struct Stage {
    app: App,
    client: Client,
    v1: ModernBackend,
    v2: ModernBackend,
}

impl Stage {
    async fn start() -> Self {
        let v1 = ModernBackend::start("v1").tools(TOOLS).prompt("plan").prompt("review").await;
        let v2 = ModernBackend::start("v2").tools(TOOLS).prompt("plan").prompt("review").await;
        let app = App::start().await;
        for backend in [&v1, &v2] {
            app.serve_version("/docs", &backend.name(), &backend.url()).await;
            backend.page_size(1);
        }
        let client = app.modern("/docs", &app.reader().await).askable();
        Self { app, client, v1, v2 }
    }

    async fn stranger(&self) -> Client {
        let stranger = self.app.holder("stranger", &[]).await;
        self.client.clone().bearer(stranger.token.as_deref().unwrap())
    }
}

async fn page(client: &Client, method: &str, cursor: &Value) -> Value {
    client.request(method, json!({ "cursor": cursor })).await.result().await
}

/// Calls the tool that asks, and returns the request that goes on with it.
async fn begin(client: &Client, tool: &str) -> Value {
    let mut params = json!({ "name": tool, "arguments": { "message": "Sure?" } });
    let result = client.request("tools/call", params.clone()).await.result().await;
    assert_eq!(result["resultType"], "input_required", "{result}");
    let questions = result["inputRequests"].as_object().unwrap().keys();
    params["inputResponses"] = questions.map(|key| (key.clone(), json!({ "action": "accept" }))).collect();
    params["requestState"] = result["requestState"].clone();
    params
}

#[tokio::test]
async fn a_list_goes_on_at_the_version_where_it_began() {
    let stage = Stage::start().await;
    for events in [false, true] {
        stage.app.activate("/docs", "v1").await;
        stage.v1.set(|script| script.uses_events = events);
        let first = stage.client.request("tools/list", json!({})).await.result().await;
        assert_eq!((&first["tools"][0]["name"], &first["resultType"]), (&json!("one"), &json!("complete")));
        let cursor = first["nextCursor"].as_str().unwrap();
        assert!(!cursor.contains("page"), "nobody reads what it holds: {cursor}");
        stage.app.activate("/docs", "v2").await;
        let answer = stage.client.request("tools/list", json!({ "cursor": cursor })).await;
        assert_eq!(answer.header("x-mcp-server-version"), "v1", "the answer says where it comes from");
        let second = answer.result().await;
        assert_eq!(second["tools"][0]["name"], "two");
        let third = page(&stage.client, "tools/list", &second["nextCursor"]).await;
        assert_eq!((&third["tools"][0]["name"], &third["nextCursor"]), (&json!("ask"), &Value::Null));
        let shown = stage.v1.asked("tools/list").last().unwrap().params()["cursor"].clone();
        assert_eq!(shown, "page-2", "the backend sees its own");
    }
}

#[tokio::test]
async fn a_cursor_is_of_one_list_and_one_caller() {
    let stage = Stage::start().await;
    let first = stage.client.request("tools/list", json!({})).await.result().await;
    let cursor = first["nextCursor"].as_str().unwrap();
    let stranger = stage.stranger().await;
    let changed = format!("{}{}", &cursor[1..], &cursor[..1]);
    stage.v1.forget_history();
    for (client, method, cursor) in [
        (&stage.client, "prompts/list", cursor),
        (&stage.client, "tools/list", &changed),
        (&stage.client, "tools/list", "page-1"),
        (&stage.client, "tools/list", ""),
        (&stranger, "tools/list", cursor),
    ] {
        let answer = client.request(method, json!({ "cursor": cursor })).await;
        assert_eq!(answer.status, 200, "{method} {cursor}");
        assert_eq!(answer.error().await["code"], -32602, "{method} {cursor}");
    }
    let seen = stage.v1.seen();
    assert!(!seen.iter().any(|one| one.params()["cursor"].is_string()), "no backend sees one: {seen:?}");
    assert_eq!(page(&stage.client, "tools/list", &json!(cursor)).await["tools"][0]["name"], "two");
    let prompts: Vec<_> = stage.client.list("prompts/list").await;
    assert_eq!(prompts.len(), 2, "all pages of a list");
}

#[tokio::test]
async fn cursors_of_older_backends_come_back_too() {
    for has_sessions in [true, false] {
        let start = |name: &str| {
            let backend = LegacyBackend::start(name).tools(TOOLS);
            if has_sessions { backend } else { backend.without_sessions() }
        };
        let (v1, v2) = (start("v1").await, start("v2").await);
        let app = App::start().await;
        for backend in [&v1, &v2] {
            app.serve_version("/docs", &backend.name(), &backend.url()).await;
            backend.page_size(2);
        }
        let reader = app.reader().await;
        let mut old = app.client("/docs", &reader);
        old.initialize().await;
        assert_eq!(old.session.is_some(), has_sessions);
        let new = Client::modern(&old.url).bearer(reader.token.as_deref().unwrap());
        let (mut cursors, clients) = (Vec::new(), [old, new]);
        for client in &clients {
            cursors.push(client.request("tools/list", json!({})).await.result().await["nextCursor"].take());
        }
        app.activate("/docs", "v2").await;
        for (client, cursor) in clients.iter().zip(&cursors) {
            let answer = client.request("tools/list", json!({ "cursor": cursor })).await;
            assert_eq!(answer.header("x-mcp-server-version"), "v1");
            assert_eq!(answer.result().await["tools"][0]["name"], "ask");
            let answer = client.request("tools/list", json!({ "cursor": "made up" })).await;
            assert_eq!(answer.error().await["code"], -32602);
        }
    }
}

#[tokio::test]
async fn a_round_goes_on_at_the_version_where_it_began() {
    let stage = Stage::start().await;
    stage.app.compose("all", &[row("one", "/docs", ""), row("ask", "/docs", "docs_ask")]).await;
    let composed = stage.client.clone().at(&format!("{}/virtual/all", stage.app.url));
    for events in [false, true] {
        stage.app.activate("/docs", "v1").await;
        stage.v1.set(|script| script.uses_events = events);
        let begun = [
            (&stage.client, begin(&stage.client, "ask").await),
            (&composed, begin(&composed, "docs_ask").await),
        ];
        stage.app.activate("/docs", "v2").await;
        for (client, params) in begun {
            assert!(!params["requestState"].as_str().unwrap().contains("state of"), "{params}");
            let told = client.request("tools/call", params).await.result().await;
            assert_eq!(told["structuredContent"]["backend"], "v1");
            assert_eq!(told["structuredContent"]["answer"]["action"], "accept");
        }
    }
    assert_eq!((stage.v1.runs("ask"), stage.v2.runs("ask")), (4, 0));
}

#[tokio::test]
async fn a_state_is_of_one_caller_and_one_server() {
    let stage = Stage::start().await;
    let other = ModernBackend::start("other").tools(TOOLS).await;
    stage.app.serve("/other", &other.url()).await;
    let good = begin(&stage.client, "ask").await;
    let state = good["requestState"].as_str().unwrap();
    let with = |state: &str| {
        let mut params = good.clone();
        params["requestState"] = json!(state);
        params
    };
    let stranger = stage.stranger().await;
    let elsewhere = stage.client.clone().at(&format!("{}/other", stage.app.url));
    for (client, params) in [
        (&stage.client, with("made up")),
        (&stage.client, with(&format!("{state}A"))),
        (&stage.client, with(&state[1..])),
        (&stranger, good.clone()),
        (&elsewhere, good.clone()),
    ] {
        let error = client.request("tools/call", params.clone()).await.error().await;
        assert_eq!(error["code"], -32602, "{params}");
    }
    assert_eq!((stage.v1.runs("ask"), other.calls().len()), (0, 0));
    stage.client.request("tools/call", good).await.result().await;
    assert_eq!(stage.v1.runs("ask"), 1);
}

#[tokio::test]
async fn a_question_of_an_older_version_is_answered_there_after_a_switch_to_a_newer_era() {
    let old = LegacyBackend::start("old").tools(TOOLS).await;
    let new = ModernBackend::start("new").tools(TOOLS).await;
    let app = App::start().await;
    app.serve_version("/docs", "old", &old.url()).await;
    app.serve_version("/docs", "new", &new.url()).await;
    let client = app.modern("/docs", &app.reader().await).askable();
    let params = begin(&client, "ask").await;
    app.activate("/docs", "new").await;
    let answer = client.request("tools/call", params).await;
    assert_eq!(answer.header("x-mcp-server-version"), "old");
    assert_eq!(answer.result().await["structuredContent"]["backend"], "old");
    assert_eq!((old.runs("ask"), new.calls().len()), (1, 0));
}

#[tokio::test]
async fn what_a_removed_version_gave_is_good_for_nothing() {
    let stage = Stage::start().await;
    let (cursor, params) = {
        let first = stage.client.request("tools/list", json!({})).await.result().await;
        (first["nextCursor"].clone(), begin(&stage.client, "ask").await)
    };
    stage.app.activate("/docs", "v2").await;
    stage.app.admin().send("DELETE /api/servers/docs/versions/v1", json!({})).await;
    // Another one of the same label is not the one that made them.
    stage.app.serve_version("/docs", "v1", &stage.v1.url()).await;
    for (method, params) in [("tools/list", json!({ "cursor": cursor })), ("tools/call", params)] {
        let error = stage.client.request(method, params).await.error().await;
        assert_eq!(error["code"], -32602, "{method}");
    }
}

#[tokio::test]
async fn what_a_long_answer_gives_at_its_end_is_sealed_too() {
    let stage = Stage::start().await;
    let long = "a\"b{}[],:\\c ".repeat(100_000);
    for backend in [&stage.v1, &stage.v2] {
        backend.set(|script| script.tools[0].definition["description"] = json!(long));
    }
    let text = stage.client.request("tools/list", json!({})).await.text().await;
    assert!(text.len() > 1 << 20 && text.rfind("\"nextCursor\"").unwrap() > 1 << 20);
    let first: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(first["result"]["tools"][0]["description"], long, "all else is as it was");
    let cursor = &first["result"]["nextCursor"];
    assert!(!cursor.as_str().unwrap().contains("page"), "{cursor}");
    stage.app.activate("/docs", "v2").await;
    assert_eq!(page(&stage.client, "tools/list", cursor).await["tools"][0]["name"], "two");
    assert_eq!(stage.v1.asked("tools/list").last().unwrap().params()["cursor"], "page-1");

    let mut params = json!({ "name": "ask", "arguments": { "message": long } });
    stage.app.activate("/docs", "v1").await;
    let text = stage.client.request("tools/call", params.clone()).await.text().await;
    assert!(text.len() > 1 << 20 && text.rfind("\"requestState\"").unwrap() > 1 << 20);
    let asked: Value = serde_json::from_str(&text).unwrap();
    stage.app.activate("/docs", "v2").await;
    let questions = asked["result"]["inputRequests"].as_object().unwrap().keys();
    params["inputResponses"] = questions.map(|key| (key.clone(), json!({ "action": "accept" }))).collect();
    params["requestState"] = asked["result"]["requestState"].clone();
    let told = stage.client.request("tools/call", params).await.result().await;
    assert_eq!(told["structuredContent"]["backend"], "v1");
}
