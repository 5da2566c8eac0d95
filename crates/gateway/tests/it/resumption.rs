//! Event streams that end before the answer, and go on where they were left.

use serde_json::{Value, json};
use testkit::steps::{Step, Steps};
use testkit::tool::Tool;
use testkit::{Client, LegacyBackend};

use crate::app::App;
use crate::caller::Caller;
use crate::compose::row;

struct Stage {
    app: App,
    caller: Caller,
    backend: LegacyBackend,
}

impl Stage {
    /// A backend whose tool `polled` ends the stream of its call twice; `long` takes its time.
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
        let backend = backend.tools([Tool::new("polled").plays(Steps::new(steps, end)), long]).await;
        let app = App::start().await;
        app.serve("/a", &backend.url()).await;
        app.compose("v", &[row("polled", "/a", ""), row("long", "/a", "")]).await;
        let caller = app.reader().await;
        Self { app, caller, backend }
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
    json!({ "name": "long", "_meta": { "progressToken": "p" } })
}

#[tokio::test]
async fn a_client_that_lost_a_stream_goes_on_with_it() {
    let stage = Stage::start().await;
    let client = stage.client(false, "/virtual/v").await;
    let mut stream = client.request("tools/call", long()).await;
    let primer = stream.block().await.unwrap();
    assert!(primer.data.is_empty() && primer.retry.is_some(), "a place to come back to before all else");
    let progress = stream.event().await.unwrap();
    assert_eq!(progress.json()["params"]["progress"], 10);
    drop(stream);
    for (from, missed) in [(&progress, 2), (&primer, 3)] {
        let messages = client.resume(from.id.as_ref().unwrap()).await.messages().await;
        assert_eq!(messages.len(), missed, "{messages:?}");
        assert_eq!(messages.last().unwrap()["result"]["content"][0]["text"], "done");
        assert_eq!(messages[missed - 2]["params"]["progress"], 50);
    }
    assert_eq!((stage.backend.calls().len(), stage.backend.runs("long")), (1, 1), "it ran once");
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
