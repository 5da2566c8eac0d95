//! A backend over HTTP+SSE, spoken to by hand.

use serde_json::json;

use crate::{Client, EventBackend};

#[tokio::test]
async fn a_session_is_a_stream() {
    let backend = EventBackend::start("old").tools(["echo", "ask"]).await;
    let client = Client::legacy(&backend.url());
    assert_eq!(client.try_initialize().await.status, 405);
    let mut stream = client.get().await;
    let first = stream.event().await.unwrap();
    assert_eq!(first.name.as_deref(), Some("endpoint"));
    let origin = backend.url().replace("/mcp", "");
    let posts = Client::legacy(&format!("{origin}{}", first.data)).askable();
    assert_eq!(posts.try_initialize().await.status, 202);
    assert_eq!(stream.message().await["result"]["serverInfo"]["name"], "old");
    assert_eq!(posts.request("tools/call", json!({ "name": "ask", "arguments": {} })).await.status, 202);
    let question = stream.message().await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(posts.answer(&question["id"], json!({ "action": "decline" })).await.status, 202);
    assert!(stream.message().await["result"].is_object());
    drop(stream);
    backend.until("the session ended", |backend| backend.sessions().is_empty()).await;
    assert_eq!(posts.request("tools/list", json!({})).await.status, 404);
}
