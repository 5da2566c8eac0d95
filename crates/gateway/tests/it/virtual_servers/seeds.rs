//! The examples of "Virtual MCP Server - How It Works", word for word.

use std::time::Duration;

use serde_json::json;
use testkit::LegacyBackend;
use testkit::script::Reply;

use crate::app::App;
use crate::compose::{DevTools, row};
use crate::heard::greetings;

#[tokio::test]
async fn two_tools_named_search_are_told_apart_by_their_aliases() {
    let DevTools { app, github, jira, slack } = DevTools::start().await;
    let client = app.visit("/virtual/dev-tools").await;
    assert!(client.session.as_deref().unwrap().starts_with("vs-"));
    assert_eq!(client.tools().await, ["github_search", "jira_search", "send_message"]);
    let answer = client.call("github_search", json!({ "query": "bug fixes" })).await;
    assert_eq!(answer["structuredContent"]["backend"], "github");
    let forwarded = &github.calls()[0];
    assert_eq!(forwarded.params(), &json!({ "name": "search", "arguments": { "query": "bug fixes" } }));
    assert_eq!((jira.calls().len(), slack.calls().len()), (0, 0));
    let answer = client.call("jira_search", json!({ "query": "bug fixes" })).await;
    assert_eq!(answer["structuredContent"]["backend"], "jira");
    assert_eq!(answer["structuredContent"]["tool"], "search");
    let answer = client.call("send_message", json!({ "text": "done" })).await;
    assert_eq!(answer["structuredContent"]["tool"], "send_message");
    assert_eq!((github.runs("search"), jira.runs("search"), slack.runs("send_message")), (1, 1, 1));
}

#[tokio::test]
async fn only_what_is_mapped_can_be_called() {
    let stage = DevTools::start().await;
    let client = stage.visit().await;
    for name in ["search", "create_pr", "list_channels", "GITHUB_SEARCH", ""] {
        let answer = client.try_call(name, json!({})).await;
        assert_eq!(answer.status, 200, "{name}");
        let error = answer.error().await;
        assert_eq!(error["code"], -32602, "{name}");
        assert_eq!(error["message"], format!("unknown tool: {name}"));
    }
    assert_eq!(stage.github.calls().len() + stage.jira.calls().len() + stage.slack.calls().len(), 0);
}

#[tokio::test]
async fn the_answer_comes_back_unchanged() {
    let stage = DevTools::start().await;
    let client = stage.visit().await;
    let message = client.message("tools/call", json!({ "name": "github_search", "arguments": {} }));
    let odd = format!(
        r#"{{ "result" : {{"content":[ ],"x":1.50e+3,"y":"\u0041\/"}},"extra":null, "id":{} , "jsonrpc":"2.0"}}"#,
        message["id"]
    );
    stage.github.reply("tools/call", Reply::new(200, "application/json", odd.clone()));
    assert_eq!(client.post(&message).await.text().await, odd);
}

#[tokio::test]
async fn one_session_of_the_client_stands_for_one_at_each_backend() {
    let stage = DevTools::start().await;
    let client = stage.visit().await;
    for backend in [&stage.github, &stage.slack, &stage.jira] {
        backend.forget_history();
    }
    for _ in 0..2 {
        for tool in ["github_search", "jira_search", "send_message"] {
            client.call(tool, json!({})).await;
        }
    }
    for backend in [&stage.github, &stage.slack, &stage.jira] {
        let sessions: Vec<_> = backend.calls().into_iter().map(|call| call.session.unwrap()).collect();
        assert_eq!(sessions.len(), 2);
        assert_eq!(sessions[0], sessions[1]);
        assert!(sessions[0].starts_with(&backend.name()), "{sessions:?}");
        assert_eq!(greetings(backend).len(), 1, "greeted on first use, once");
    }
}

#[tokio::test]
async fn a_backend_that_is_down_is_named() {
    let stage = DevTools::start().await;
    let client = stage.visit().await;
    stage.github.down().await;
    let message = client.message("tools/call", json!({ "name": "github_search", "arguments": {} }));
    let answer = client.post(&message).await;
    assert_eq!(answer.status, 200);
    let expected = json!({ "jsonrpc": "2.0", "id": message["id"], "error": {
        "code": -32000,
        "message": "Backend server unreachable: /github",
        "data": { "server": "/github", "reason": "connection refused" },
    } });
    assert_eq!(answer.json().await, expected);
}

#[tokio::test]
async fn an_expired_session_is_renewed_and_the_request_repeated() {
    let stage = DevTools::start().await;
    let client = stage.visit().await;
    client.call("github_search", json!({ "query": "before" })).await;
    let before = stage.github.calls()[0].session.clone();
    stage.github.forget_sessions();
    let refusal = Reply::new(400, "text/plain", "400 Bad Request - Invalid session");
    stage.github.reply("tools/call", refusal);
    // The backend is well again before the call comes once more: until then it is kept at the greeting.
    stage.github.delay("initialize", Duration::from_millis(300));
    let before_it = greetings(&stage.github).len();
    let (renewed, ()) = tokio::join!(client.call("github_search", json!({ "query": "after" })), async {
        let is_greeted = |github: &testkit::stub::Stub| greetings(github).len() > before_it;
        stage.github.until("it is greeted again", is_greeted).await;
        stage.github.reply_normally("tools/call");
    });
    assert_eq!(renewed["structuredContent"]["arguments"]["query"], "after");
    let after = renewed["structuredContent"]["session"].clone();
    assert_ne!(json!(before), after);
    assert_eq!(stage.github.runs("search"), 2);
    let next = client.call("github_search", json!({})).await;
    assert_eq!(next["structuredContent"]["session"], after, "the new session is kept");
    assert_eq!(greetings(&stage.github).len(), before_it + 1);
}

#[tokio::test]
async fn what_is_composed_is_checked_and_live_at_once() {
    let backend = LegacyBackend::start("github").tool("search").await;
    let app = App::start().await;
    app.serve("/github", &backend.url()).await;
    let rows = [
        row("search", "/github", "one"),
        row("serch", "/github", "two"),
        row("search", "/gitlab", "three"),
        row("search", "/github", "one"),
    ];
    let body = json!({ "server_name": "Bad", "path": "/virtual/bad", "tool_mappings": rows });
    let problem = app.admin().send("POST /api/virtual-servers", body).await.expect(422);
    let faults = problem["errors"].to_string();
    for wanted in ["tool_mappings[1].tool_name", "tool_mappings[2].backend_server_path", "tool_mappings[3]"] {
        assert!(faults.contains(wanted), "{wanted} is not in {faults}");
    }
    app.admin().get("/api/virtual-servers/bad").await.expect(404);
    app.compose("good", &rows[..1]).await;
    assert_eq!(app.visit("/virtual/good").await.tools().await, ["one"]);
}
