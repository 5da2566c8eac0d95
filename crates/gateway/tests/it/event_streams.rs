//! HTTP+SSE of 2024-11-05: clients that know nothing newer, and backends.

mod backends;

use serde_json::{Value, json};
use testkit::events::Answer;
use testkit::{Client, LegacyBackend, ModernBackend};

use crate::app::App;
use crate::caller::Caller;
use crate::compose::{row, rows_of_each};

/// A backend of each era at `/old` and `/new`, both composed at `/virtual/both`, and `/over`: the first once more, as
/// a backend over HTTP+SSE, which the gateway's own door makes of it.
struct Stage {
    app: App,
    caller: Caller,
    old: LegacyBackend,
}

const TOOLS: [&str; 4] = ["echo", "progress", "ask", "slow"];

impl Stage {
    async fn start() -> (Self, ModernBackend) {
        let old = LegacyBackend::start("old").tools(TOOLS).prompt("review").await;
        let new = ModernBackend::start("new").tools(TOOLS).await;
        let app = App::start().await;
        app.serve("/old", &old.url()).await;
        app.serve("/new", &new.url()).await;
        app.compose("both", &rows_of_each(&["old", "new"], &TOOLS)).await;
        let caller = app.reader().await;
        (Self { app, caller, old }, new)
    }

    /// Registers the door of `/old` as a backend.
    async fn go_over(&self) {
        let body = json!({ "path": "/over", "server_name": "over", "transport": "sse", "is_enabled": true,
            "proxy_pass_url": format!("{}/old/sse", self.app.url), "auth_scheme": "bearer",
            "auth_credential": self.caller.token });
        self.app.admin().send("POST /api/servers/register", body).await.expect(201);
        self.app.refresh("/over").await;
    }

    fn client(&self, path: &str) -> Client {
        self.app.client(path, &self.caller)
    }

    async fn open(&self, path: &str) -> Old {
        Old::open(self.client(&format!("{path}/sse")), &self.app.url).await
    }
}

/// A client of 2024-11-05.
struct Old {
    client: Client,
    stream: Answer,
}

impl Old {
    /// Opens the stream.
    async fn open(client: Client, gateway: &str) -> Self {
        let mut stream = client.get().await;
        assert!(stream.is_events(), "{}", stream.status);
        let first = stream.event().await.expect("an event");
        assert_eq!(first.name.as_deref(), Some("endpoint"));
        let client = client.at(&format!("{gateway}{}", first.data)).revision("2024-11-05");
        Self { client, stream }
    }

    async fn greet(mut self) -> Self {
        let params = json!({ "protocolVersion": "2024-11-05", "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "old", "version": "1" } });
        let result = self.request("initialize", params).await;
        assert_eq!(result["result"]["protocolVersion"], "2024-11-05", "{result}");
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.client.post(&note).await.status, 202);
        self
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let message = self.client.message(method, params);
        let taken = self.client.post(&message).await;
        assert_eq!(taken.status, 202);
        assert!(taken.bytes().await.is_empty());
        message["id"].clone()
    }

    /// Waits for the answer; returns it.
    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.answer(&id).await
    }

    async fn answer(&mut self, id: &Value) -> Value {
        loop {
            let message = self.stream.message().await;
            if message["id"] == *id && message.get("method").is_none() {
                return message;
            }
        }
    }
}

#[tokio::test]
async fn an_old_client_uses_every_endpoint() {
    let (stage, _new) = Stage::start().await;
    for (path, tools) in [
        ("/old", vec!["echo", "progress"]),
        ("/new", vec!["echo", "progress"]),
        ("/virtual/both", vec!["old_echo", "old_progress", "new_echo", "new_progress"]),
    ] {
        let mut client = stage.open(path).await.greet().await;
        let list = client.request("tools/list", json!({})).await;
        let names = list["result"]["tools"].to_string();
        for tool in tools {
            assert!(names.contains(tool), "{path}: {names}");
            let params = json!({ "name": tool, "arguments": {}, "_meta": { "progressToken": 9 } });
            let id = client.ask("tools/call", params).await;
            let mut steps = 0;
            let answer = loop {
                let message = client.stream.message().await;
                if message["id"] == id {
                    break message;
                }
                steps += u32::from(message["params"]["progressToken"] == 9);
            };
            assert!(answer["result"]["content"].is_array(), "{path} {tool}: {answer}");
            assert_eq!(steps, if tool.ends_with("progress") { 3 } else { 0 }, "{path} {tool}");
        }
        let unknown = client.request("vendor/nothing", json!({})).await;
        assert_eq!(unknown["error"]["code"], -32601, "{path}");
    }
}

#[tokio::test]
async fn an_old_client_sends_batches() {
    let (stage, _new) = Stage::start().await;
    for (path, tool) in [("/old", "echo"), ("/new", "echo"), ("/virtual/both", "new_echo")] {
        let mut client = stage.open(path).await.greet().await;
        let call = |tool: &str| client.client.message("tools/call", json!({ "name": tool, "arguments": {} }));
        let (one, two, ping) = (call(tool), call("nothing"), client.client.message("ping", json!({})));
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
        let taken = client.client.post(&json!([one, note, 7, two, ping])).await;
        assert_eq!(taken.status, 202, "{path}");
        assert!(taken.bytes().await.is_empty());
        let mut answers = Vec::new();
        while answers.len() < 4 {
            answers.push(client.stream.message().await);
        }
        let of = |id: &Value| answers.iter().find(|answer| answer["id"] == *id).expect("an answer");
        assert_eq!(of(&one["id"])["result"]["structuredContent"]["tool"], "echo", "{path}");
        assert!(of(&two["id"])["error"].is_object() || of(&two["id"])["result"]["isError"] == true, "{path}");
        assert_eq!(of(&ping["id"])["result"], json!({}), "{path}");
        assert_eq!(of(&Value::Null)["error"]["code"], -32600, "{path}");
        let notes = json!([note, { "jsonrpc": "2.0", "id": "ask-7", "result": {} }]);
        assert_eq!(client.client.post(&notes).await.status, 202, "{path}");
        let greeting = client.client.message("initialize", json!({}));
        for refused in [json!([]), json!([greeting, ping]), json!([ping, ping])] {
            assert_eq!(client.client.post(&refused).await.status, 400, "{path}: {refused}");
        }
        client.request("ping", json!({})).await;
    }
    assert!(stage.old.seen().iter().all(|seen| !seen.message.is_array()));
}

#[tokio::test]
async fn an_old_client_is_asked() {
    let (stage, _new) = Stage::start().await;
    for (path, tool) in [("/old", "ask"), ("/virtual/both", "old_ask"), ("/virtual/both", "new_ask")] {
        let mut client = stage.open(path).await.greet().await;
        let id = client.ask("tools/call", json!({ "name": tool, "arguments": {} })).await;
        let question = client.stream.message().await;
        assert_eq!(question["method"], "elicitation/create", "{path} {tool}: {question}");
        let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
        assert_eq!(client.client.answer(&question["id"], answer).await.status, 202);
        let answer = client.answer(&id).await;
        assert!(answer.to_string().contains("Ada"), "{path} {tool}: {answer}");
    }
}

#[tokio::test]
async fn the_session_ends_with_the_stream() {
    let (stage, _new) = Stage::start().await;
    let client = stage.open("/old").await.greet().await;
    let session = stage.old.sessions().pop().unwrap();
    let Old { client, stream } = client;
    drop(stream);
    stage.old.until("the session ended", |old| !old.sessions().contains(&session)).await;
    let message = client.message("ping", json!({}));
    assert_eq!(client.post(&message).await.status, 404);
}

#[tokio::test]
async fn a_stream_is_its_callers_own() {
    let (stage, _new) = Stage::start().await;
    let mine = stage.open("/old").await.greet().await;
    let other = stage.app.holder("somebody", &[]).await;
    let message = mine.client.message("ping", json!({}));
    let theirs = stage.app.client("/old/sse", &other).at(&mine.client.url);
    assert_eq!(theirs.post(&message).await.status, 404);
    let elsewhere = mine.client.url.replace("/old/", "/new/");
    assert_eq!(mine.client.clone().at(&elsewhere).post(&message).await.status, 404);
    let nobody = stage.app.client("/old/sse", &stage.app.anonymous());
    assert_eq!(nobody.get().await.status, 401);
    assert_eq!(nobody.at(&mine.client.url).post(&message).await.status, 401);
    // A client that knows newer transports tries them first, and must be refused to go on.
    let client = stage.client("/old/sse");
    assert_eq!(client.try_initialize().await.status, 405);
    assert_eq!(stage.client("/nothing/sse").get().await.status, 404);
    assert_eq!(client.delete().await.status, 405);
    let garbage = mine.client.post_bytes(mine.client.headers_for(&message), "{").await;
    assert_eq!(garbage.status, 400);
}

#[tokio::test]
async fn a_backend_over_an_event_stream_is_like_others() {
    let (stage, _new) = Stage::start().await;
    stage.go_over().await;
    let shown = stage.app.admin().get("/api/servers/over").await.expect(200);
    assert_eq!((&shown["transport"], &shown["num_tools"]), (&json!("sse"), &json!(4)));
    assert!(shown["proxy_pass_url"].as_str().unwrap().ends_with("/old/sse"), "{shown}");
    stage.app.compose("over", &[row("progress", "/over", ""), row("ask", "/over", "")]).await;
    for path in ["/over", "/virtual/over"] {
        let mut legacy = stage.client(path).askable();
        legacy.initialize().await;
        let modern = stage.app.modern(path, &stage.caller);
        for client in [&legacy, &modern] {
            let way = format!("{} at {path}", client.revision);
            let params = json!({ "name": "progress", "arguments": {}, "_meta": { "progressToken": "t" } });
            let messages = client.request("tools/call", params).await.messages().await;
            let steps = messages.iter().filter(|one| one["params"]["progressToken"] == "t").count();
            assert_eq!(steps, 3, "{way}: {messages:?}");
        }
        let mut asked = legacy.try_call("ask", json!({})).await;
        let question = asked.message().await;
        assert_eq!(question["method"], "elicitation/create", "{path}");
        legacy.answer(&question["id"], json!({ "action": "decline" })).await;
        assert!(asked.messages().await.last().unwrap()["result"].is_object(), "{path}");
        let sessions = stage.old.sessions().len();
        legacy.delete().await;
        stage.old.until("the stream was closed", |old| old.sessions().len() < sessions).await;
    }
}
