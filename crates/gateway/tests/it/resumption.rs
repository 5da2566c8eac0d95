//! Event streams that end before the answer, and go on where they were left.

use serde_json::{Value, json};
use testkit::steps::{Step, Steps};
use testkit::tool::Tool;
use testkit::{Client, LegacyBackend, ModernBackend};

use crate::app::App;
use crate::caller::Caller;
use crate::compose::row;

struct Stage {
    app: App,
    caller: Caller,
    backend: LegacyBackend,
    new: ModernBackend,
}

impl Stage {
    /// A backend whose tool `polled` ends the stream of its call twice; `long` takes its time, as it does at another
    /// backend of the newer era, where `ask` asks.
    async fn start() -> Self {
        let steps = [
            Step::Progress(10),
            Step::HangUp,
            Step::Pause(50),
            Step::Progress(50),
            Step::HangUp,
            Step::Pause(50),
        ];
        let end = |_: &Value, _: &Value| json!({ "content": [{ "type": "text", "text": "done" }] });
        let backend = LegacyBackend::start("a");
        let long = [Step::Progress(10), Step::Pause(300), Step::Progress(50), Step::Pause(100)];
        let long = Tool::new("long").plays(Steps::new(long, end));
        let new = ModernBackend::start("new").tools([long.clone(), "ask".into()]).await;
        let backend = backend.tools([Tool::new("polled").plays(Steps::new(steps, end)), long]).await;
        let app = App::start().await;
        app.serve("/a", &backend.url()).await;
        app.serve("/new", &new.url()).await;
        let rows = [row("polled", "/a", ""), row("long", "/a", ""), row("long", "/new", "longer")];
        app.compose("v", &rows).await;
        let caller = app.reader().await;
        Self { app, caller, backend, new }
    }

    async fn client(&self, is_modern: bool, path: &str) -> Client {
        if !is_modern {
            return self.app.greeted(path, &self.caller).await;
        }
        self.app.modern(path, &self.caller).askable()
    }
}

#[tokio::test]
async fn a_backend_that_ends_a_stream_early_is_asked_to_go_on() {
    let stage = Stage::start().await;
    for (is_modern, path) in [(false, "/virtual/v"), (true, "/virtual/v"), (true, "/a")] {
        let client = stage.client(is_modern, path).await;
        for accept in ["application/json, text/event-stream", "application/json"] {
            stage.backend.forget_history();
            let params = json!({ "name": "polled", "_meta": { "progressToken": "p" } });
            let message = client.message("tools/call", params);
            let mut headers = client.headers_for(&message);
            headers.insert("accept", accept.parse().unwrap());
            let answer = client.post_bytes(headers, message.to_string()).await;
            let messages: Vec<_> = answer.messages().await.into_iter().filter(|one| !one.is_null()).collect();
            let what = format!("modern: {is_modern}, {path}, {accept}: {messages:?}");
            assert_eq!(messages.last().unwrap()["result"]["content"][0]["text"], "done", "{what}");
            assert_eq!(messages.len(), if accept.contains("event") { 3 } else { 1 }, "{what}");
            assert_eq!((stage.backend.calls().len(), stage.backend.runs("polled")), (1, 1), "{what}");
            let resumed: Vec<_> = stage.backend.seen();
            let resumed: Vec<_> =
                resumed.iter().filter(|seen| !seen.header("last-event-id").is_empty()).collect();
            assert_eq!(resumed.len(), 2, "{what}");
            assert!(resumed.iter().all(|seen| seen.session == stage.backend.ran()[0].session), "{what}");
        }
    }
}

fn long() -> Value {
    named("long")
}

fn named(tool: &str) -> Value {
    json!({ "name": tool, "_meta": { "progressToken": "p" } })
}

#[tokio::test]
async fn a_client_that_lost_a_stream_goes_on_with_it() {
    let stage = Stage::start().await;
    for (path, tool) in [("/virtual/v", "long"), ("/virtual/v", "longer"), ("/new", "long")] {
        let client = stage.client(false, path).await;
        let mut stream = client.request("tools/call", named(tool)).await;
        let primer = stream.block().await.unwrap();
        assert!(primer.data.is_empty() && primer.retry.is_some(), "a place to come back to before all else");
        let progress = stream.event().await.unwrap();
        assert_eq!(progress.json()["params"]["progress"], 10, "{path} {tool}");
        drop(stream);
        for (from, missed) in [(&progress, 2), (&primer, 3)] {
            let messages = client.resume(from.id.as_ref().unwrap()).await.messages().await;
            assert_eq!(messages.len(), missed, "{path} {tool}: {messages:?}");
            assert_eq!(messages.last().unwrap()["result"]["content"][0]["text"], "done");
            assert_eq!(messages[missed - 2]["params"]["progress"], 50);
        }
    }
    assert_eq!((stage.backend.calls().len(), stage.backend.runs("long")), (1, 1), "it ran once");
    assert_eq!(stage.new.runs("long"), 2, "and there once for each path");
}

#[tokio::test]
async fn a_question_finds_a_client_that_was_away() {
    let stage = Stage::start().await;
    let mut client = stage.app.client("/new", &stage.caller).askable();
    client.initialize().await;
    let mut stream = client.try_call("ask", json!({})).await;
    let primer = stream.block().await.unwrap().id.unwrap();
    drop(stream);
    let mut stream = client.resume(&primer).await;
    let question = stream.message().await;
    assert_eq!(question["method"], "elicitation/create");
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    client.answer(&question["id"], answer).await;
    assert!(stream.message().await["result"].to_string().contains("Ada"));
}

#[tokio::test]
async fn a_get_stream_is_gone_on_with_too() {
    let stage = Stage::start().await;
    for (path, method) in
        [("/virtual/v", "notifications/message"), ("/new", "notifications/tools/list_changed")]
    {
        let client = stage.client(false, path).await;
        let mut stream = client.get().await;
        let primer = stream.block().await.unwrap();
        assert!(primer.data.is_empty() && primer.retry.is_some(), "{path}");
        if path == "/new" {
            stage.new.until("it is listened to", |new| new.listens() == 1).await;
        } else {
            client.request("logging/setLevel", json!({ "level": "info" })).await.result().await;
            stage.backend.until("its stream is open", |old| old.streams() == 1).await;
            stage.backend.until("it knows the level", |old| !old.asked("logging/setLevel").is_empty()).await;
        }
        let happens = || match path {
            "/new" => stage.new.tools_changed(),
            _ => stage.backend.log("warning", "something"),
        };
        happens();
        let first = stream.event().await.unwrap();
        assert_eq!(first.json()["method"], method, "{path}");
        drop(stream);
        happens();
        let mut stream = client.resume(first.id.as_ref().unwrap()).await;
        let missed = stream.event().await.unwrap();
        assert_eq!(missed.json()["method"], method, "{path}");
        // The older connection ends, and what comes next comes once.
        let mut again = client.resume(missed.id.as_ref().unwrap()).await;
        assert!(stream.event().await.is_none(), "{path}");
        happens();
        assert_eq!(again.message().await["method"], method, "{path}");
        // Another session gets a stream of its own, which tells nothing of that one.
        let other = stage.client(false, path).await;
        let mut fresh = other.resume(first.id.as_ref().unwrap()).await;
        assert_eq!(fresh.status, 200, "{path}");
        assert!(fresh.block().await.unwrap().data.is_empty(), "{path}");
        for client in [client, other] {
            client.delete().await;
        }
        stage.new.until("nobody listens", |new| new.listens() == 0).await;
        stage.backend.until("nobody listens", |old| old.streams() == 0).await;
    }
}

#[tokio::test]
async fn a_stream_is_its_sessions_own() {
    let stage = Stage::start().await;
    let client = stage.client(false, "/virtual/v").await;
    let mut stream = client.request("tools/call", long()).await;
    let id = stream.event().await.unwrap().id.unwrap();
    let another_session = stage.client(false, "/virtual/v").await;
    let other = stage.app.holder("other", &[]).await;
    let mut another_caller = stage.app.client("/virtual/v", &other);
    another_caller.initialize().await;
    let unknown = id.replace('-', "0-");
    for (who, id) in [(&another_session, &id), (&another_caller, &id), (&client, &unknown)] {
        let refused = who.resume(id).await;
        assert_eq!(refused.status, 400);
        assert_eq!(refused.error().await["code"], -32600);
    }
    assert_eq!(client.resume(&id).await.messages().await.len(), 2);
}

#[tokio::test]
async fn older_clients_get_ids_and_no_event_without_a_message() {
    let stage = Stage::start().await;
    let mut client = stage.app.client("/virtual/v", &stage.caller).revision("2025-06-18");
    client.initialize().await;
    let mut stream = client.request("tools/call", long()).await;
    let first = stream.block().await.unwrap();
    assert!(first.id.is_some() && !first.data.is_empty(), "{first:?}");
}
