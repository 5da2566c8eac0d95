//! Servers of 2025-03-26 that write several messages as one array: taken apart where they must be read.

use serde_json::{Value, json};
use testkit::LegacyBackend;

use crate::app::App;
use crate::caller::Caller;
use crate::compose::rows_of_each;

struct Stage {
    app: App,
    caller: Caller,
    backend: LegacyBackend,
}

const TOOLS: [&str; 3] = ["echo", "progress", "ask"];

impl Stage {
    async fn start() -> Self {
        let backend = LegacyBackend::start("a").speaks("2025-03-26").tools(TOOLS);
        let backend = backend.with(|script| script.writes_arrays = true).await;
        let app = App::start().await;
        app.serve("/a", &backend.url()).await;
        app.compose("v", &rows_of_each(&["a"], &TOOLS)).await;
        let caller = app.reader().await;
        Self { app, caller, backend }
    }
}

fn progressing(tool: &str) -> Value {
    json!({ "name": tool, "arguments": {}, "_meta": { "progressToken": "p" } })
}

#[tokio::test]
async fn clients_that_know_no_arrays_get_none() {
    let stage = Stage::start().await;
    let shown = stage.app.admin().get("/api/servers/a").await.expect(200);
    assert_eq!(shown["num_tools"], 3, "its lists were read");
    let legacy = stage.app.greeted("/virtual/v", &stage.caller).await;
    let modern = |path: &str| stage.app.modern(path, &stage.caller).askable();
    for (client, prefix) in [(legacy, "a_"), (modern("/virtual/v"), "a_"), (modern("/a"), "")] {
        let way = format!("{} at {}", client.revision, client.url);
        let answer = client.request("tools/call", progressing(&format!("{prefix}echo"))).await;
        let messages = answer.messages().await;
        assert_eq!(messages.last().unwrap()["result"]["structuredContent"]["tool"], "echo", "{way}");
        let logged = messages.iter().filter(|one| one["params"]["logger"] == "beside").count();
        assert_eq!(logged, usize::from(!client.revision.starts_with("2026")), "{way}: {messages:?}");
        let answer = client.request("tools/call", progressing(&format!("{prefix}progress"))).await;
        let messages = answer.messages().await;
        let steps = messages.iter().filter(|one| one["params"]["progressToken"] == "p").count();
        assert_eq!((steps, messages.len()), (3, 4), "{way}: {messages:?}");
        assert!(messages[3]["result"].is_object(), "{way}: {messages:?}");
    }
    let asked = modern("/a").request("tools/call", progressing("ask")).await.messages().await.pop().unwrap();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    for client in [stage.app.greeted("/virtual/v", &stage.caller).await, modern("/a")] {
        // Who takes only JSON gets the answer alone.
        let tool = if client.url.ends_with("/a") { "progress" } else { "a_progress" };
        let message = client.message("tools/call", progressing(tool));
        let mut headers = client.headers_for(&message);
        headers.insert("accept", "application/json".parse().unwrap());
        let answer = client.post_bytes(headers, message.to_string()).await.json().await;
        assert_eq!(answer["id"], message["id"], "{answer}");
    }
}

#[tokio::test]
async fn a_get_stream_brings_its_messages_one_by_one() {
    let stage = Stage::start().await;
    let client = stage.app.greeted("/virtual/v", &stage.caller).await;
    let mut stream = client.get().await;
    stage.backend.until("its stream is open", |one| one.streams() == 1).await;
    client.request("logging/setLevel", json!({ "level": "info" })).await.result().await;
    stage.backend.until("it knows the level", |one| !one.asked("logging/setLevel").is_empty()).await;
    stage.backend.log("warning", "something");
    assert_eq!(stream.message().await["params"]["data"], "something");
}

#[tokio::test]
async fn a_client_of_the_same_revision_gets_them_as_they_are() {
    let stage = Stage::start().await;
    let mut client = stage.app.client("/a", &stage.caller).revision("2025-03-26");
    client.initialize().await;
    let answer = client.request("tools/call", progressing("echo")).await.json().await;
    assert_eq!(answer[0]["params"]["logger"], "beside", "{answer}");
    assert_eq!(answer[1]["result"]["structuredContent"]["tool"], "echo", "{answer}");
    let messages = client.request("tools/call", progressing("progress")).await.messages().await;
    assert!(messages.iter().all(Value::is_array), "{messages:?}");
}
