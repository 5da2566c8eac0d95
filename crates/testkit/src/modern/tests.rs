//! The modern backend seen by the client.

use super::*;
use crate::{Client, ModernBackend};

#[tokio::test]
async fn it_answers_without_a_greeting() {
    let github = ModernBackend::start("github").tool("search").version("2.0.0").instructions("Be kind").await;
    let client = Client::modern(&github.url());
    let found = client.request("server/discover", json!({})).await.result().await;
    assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["version"], "2.0.0");
    assert_eq!(found["instructions"], "Be kind");
    let list = client.request("tools/list", json!({})).await.result().await;
    assert_eq!((&list["resultType"], &list["cacheScope"]), (&json!("complete"), &json!("public")));
    assert_eq!(list["ttlMs"], 1500);
    let result = client.call("search", json!({ "query": "x" })).await;
    assert_eq!(result["structuredContent"]["arguments"]["query"], "x");
    assert_eq!(github.calls()[0].header("mcp-name"), "search");
}

#[tokio::test]
async fn headers_must_repeat_the_body() {
    let backend = ModernBackend::start("github").tool("search").prompt("größe").await;
    let client = Client::modern(&backend.url());
    let call = client.message("tools/call", json!({ "name": "search", "arguments": {} }));
    let post = async |name: &'static str, value: &str, message: &Value| {
        let mut headers = client.headers_for(message);
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        let answer = client.post_bytes(headers, message.to_string()).await;
        let status = answer.status.as_u16();
        (status, answer.reply().await["error"]["code"].as_i64().unwrap_or_default())
    };
    assert_eq!(post("mcp-name", "search", &call).await, (200, 0));
    assert_eq!(post("mcp-name", "other", &call).await, (400, -32020));
    assert_eq!(post("mcp-method", "tools/list", &call).await, (400, -32020));
    assert_eq!(post("mcp-protocol-version", "2025-11-25", &call).await, (400, -32020));
    let mut plain = client.message("prompts/get", json!({ "name": "x" }));
    plain["params"]["name"] = json!("größe");
    assert_eq!(post("mcp-name", "=?base64?Z3LDtsOfZQ==?=", &plain).await, (200, 0));
    let mut bare = call.clone();
    bare["params"].as_object_mut().unwrap().shift_remove("_meta");
    assert_eq!(post("x", "y", &bare).await, (400, -32602));
    let future = Client::modern(&backend.url()).revision("2030-01-01").request("tools/list", json!({})).await;
    assert_eq!(future.error().await["data"]["supported"], json!(["2026-07-28"]));
    assert_eq!(backend.runs("search"), 1);
}

#[tokio::test]
async fn removed_and_unknown_methods_are_404() {
    let backend = ModernBackend::start("github").await;
    let client = Client::modern(&backend.url());
    for method in ["initialize", "ping", "logging/setLevel", "no/such"] {
        let answer = client.request(method, json!({})).await;
        assert_eq!(answer.status, if method == "initialize" { 400 } else { 404 }, "{method}");
    }
    assert_eq!(client.get().await.status, 405);
    assert_eq!(client.notify("notifications/cancelled", json!({})).await.status, 202);
    assert_eq!(client.answer(&json!(1), json!({})).await.status, 400);
}

#[tokio::test]
async fn a_question_is_a_round() {
    let backend = ModernBackend::start("github").tool("ask").await;
    let client = Client::modern(&backend.url()).askable();
    let asked = client.call("ask", json!({ "message": "Really?" })).await;
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["inputRequests"]["question"]["method"], "elicitation/create");
    assert_eq!(backend.runs("ask"), 0);
    let mut params = json!({
        "name": "ask",
        "arguments": { "message": "Really?" },
        "inputResponses": { "question": { "action": "accept" } },
        "requestState": asked["requestState"],
    });
    let told = client.request("tools/call", params.clone()).await.result().await;
    assert_eq!(told["structuredContent"]["answer"]["action"], "accept");
    assert_eq!(backend.runs("ask"), 1);
    params["requestState"] = json!("altered");
    assert_eq!(client.request("tools/call", params).await.error().await["code"], -32602);
    let shy = Client::modern(&backend.url()).try_call("ask", json!({})).await;
    assert_eq!(shy.error().await["code"], -32021);
}

#[tokio::test]
async fn closing_the_connection_cancels() {
    let backend = ModernBackend::start("github").tools(["slow", "progress"]).await;
    let client = Client::modern(&backend.url());
    let call = tokio::spawn(async move { client.try_call("slow", json!({ "seconds": 60 })).await.status });
    backend.until("the call runs", |backend| backend.runs("slow") == 1).await;
    call.abort();
    backend.until("the call was stopped", |backend| backend.cancelled().len() == 1).await;
    let client = Client::modern(&backend.url());
    let params = json!({ "name": "progress", "arguments": {}, "_meta": { "progressToken": 7 } });
    assert_eq!(client.request("tools/call", params).await.messages().await.len(), 4);
}
