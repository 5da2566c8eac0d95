//! The fixture seen by the client, in both eras at one address.

use serde_json::{Value, json};

use super::*;
use crate::backend::Backend;
use crate::both::Both;
use crate::{Client, DualBackend};

async fn fixture(part: Part) -> Backend<Both> {
    DualBackend::start("fixture").with(|script| offer(script, part)).await
}

fn names(list: &Value, member: &str) -> Vec<String> {
    list[member].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn two_halves_are_the_whole() {
    let listed = async |part| {
        let backend = fixture(part).await;
        let client = Client::modern(&backend.url());
        let tools = client.request("tools/list", json!({})).await.result().await;
        let prompts = client.request("prompts/list", json!({})).await.result().await;
        [names(&tools, "tools"), names(&prompts, "prompts")].concat()
    };
    let mut halves = [listed(Part::FirstHalf).await, listed(Part::SecondHalf).await].concat();
    let mut whole = listed(Part::Whole).await;
    halves.sort();
    whole.sort();
    assert_eq!(halves, whole);
    whole.dedup();
    assert_eq!(halves.len(), whole.len());
}

#[tokio::test]
async fn each_era_asks_in_its_way() {
    let backend = fixture(Part::Whole).await;
    let tool = "test_input_required_result_multi_round";
    let modern = Client::modern(&backend.url()).askable();
    let call = async |more: Value| {
        let mut params = json!({ "name": tool, "arguments": {} });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        modern.request("tools/call", params).await.reply().await
    };
    let answer = |text: &str| json!({ "action": "accept", "content": { "name": text } });
    let first = call(json!({})).await["result"].take();
    assert_eq!(first["resultType"], "input_required");
    let second = call(json!({
        "requestState": first["requestState"],
        "inputResponses": { "step1": answer("one") },
    }))
    .await["result"]
        .take();
    assert!(second["inputRequests"]["step2"].is_object(), "{second}");
    let state = second["requestState"].as_str().unwrap();
    let tampered = call(json!({ "requestState": format!("{state}x") })).await;
    assert_eq!(tampered["error"]["code"], -32602);
    let last = call(json!({ "requestState": state, "inputResponses": { "step2": answer("two") } })).await;
    let text = last["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("one") && text.contains("two"), "{text}");

    let mut legacy = Client::legacy(&backend.url()).askable();
    legacy.initialize().await;
    let mut stream = legacy.request("tools/call", json!({ "name": tool, "arguments": {} })).await;
    for step in ["Step 1", "Step 2"] {
        let question = stream.message().await;
        assert!(question["params"]["message"].as_str().unwrap().starts_with(step), "{question}");
        assert_eq!(legacy.answer(&question["id"], answer(step)).await.status, 202);
    }
    assert_eq!(stream.message().await["result"]["content"][0]["type"], "text");
    assert_eq!(backend.runs(tool), 2);
}

#[tokio::test]
async fn listeners_hear_what_they_want() {
    let backend = fixture(Part::Whole).await;
    let client = Client::modern(&backend.url());
    let wanted = json!({ "notifications": { "promptsListChanged": true } });
    let mut stream = client.request("subscriptions/listen", wanted).await;
    let first = stream.message().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    client.call("test_trigger_tool_change", json!({})).await;
    client.call("test_trigger_prompt_change", json!({})).await;
    let second = stream.message().await;
    assert_eq!(second["method"], "notifications/prompts/list_changed");
    assert_eq!(second["params"]["_meta"], first["params"]["_meta"]);
    assert_eq!(backend.listens(), 1);
    drop(stream);
    backend.until("nobody listens", |backend| backend.listens() == 0).await;
}

#[tokio::test]
async fn strangers_and_wrong_headers_are_refused() {
    let backend = fixture(Part::Whole).await;
    let client = Client::modern(&backend.url());
    let call = client
        .message("tools/call", json!({ "name": "test_custom_header", "arguments": { "region": "eu" } }));
    let post = async |name: &'static str, value: &'static str| {
        let mut headers = client.headers_for(&call);
        headers.insert(name, http::HeaderValue::from_static(value));
        client.post_bytes(headers, call.to_string()).await.status.as_u16()
    };
    for (name, value, status) in [
        ("mcp-param-region", "eu", 200),
        ("mcp-param-region", "=?base64?ZXU=?=", 200),
        ("mcp-param-region", "=?base64?ZXU?=", 400),
        ("mcp-param-region", "us", 400),
        ("mcp-param-other", "eu", 400),
        ("host", "evil.example.com", 403),
        ("origin", "http://evil.example.com", 403),
    ] {
        assert_eq!(post(name, value).await, status, "{name}: {value}");
    }
}

#[tokio::test]
async fn a_stream_that_hung_up_is_resumed() {
    let backend = fixture(Part::Whole).await;
    let mut client = Client::legacy(&backend.url());
    client.initialize().await;
    let call = json!({ "name": "test_reconnection", "arguments": {} });
    let mut stream = client.request("tools/call", call).await;
    let primer = stream.block().await.unwrap();
    assert_eq!((primer.retry.as_deref(), primer.data.as_str()), (Some("100"), ""));
    assert!(stream.block().await.is_none());
    let mut rest = client.resume(&primer.id.unwrap()).await;
    assert_eq!(rest.message().await["result"]["content"][0]["type"], "text");
}
