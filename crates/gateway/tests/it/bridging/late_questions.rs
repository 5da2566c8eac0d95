//! Questions that an older backend asks when its modern client has cancelled the call.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::steps::{Question, Step, Steps};
use testkit::stub::Stub;
use testkit::tool::Tool;
use testkit::{Client, LegacyBackend};

use crate::app::App;
use crate::compose::row;

/// A backend that goes on with calls that were cancelled: `early` asks a while after it said something, on the stream of
/// its call, and `aside` does so on the GET stream.
async fn backend() -> LegacyBackend {
    let question = Question {
        key: "name",
        method: "elicitation/create",
        params: |_| {
            let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            json!({ "mode": "form", "message": "Who?", "requestedSchema": schema })
        },
    };
    let end = |_: &Value, answers: &Value| json!({ "content": [], "structuredContent": answers["name"] });
    let steps = [Step::Progress(10), Step::Pause(500), Step::Ask(vec![question])];
    let early = Tool::new("early").plays(Steps::new(steps.clone(), end));
    let aside = Tool::new("aside").plays(Steps::new(steps, end).asking_aside());
    LegacyBackend::start("a").tools([early, aside]).with(|script| script.heeds_cancellation = false).await
}

/// Calls a tool and goes away once it runs.
async fn cancel(client: &Client, tool: &str) {
    let params = json!({ "name": tool, "_meta": { "progressToken": "p" } });
    let mut stream = client.request("tools/call", params).await;
    assert_eq!(stream.message().await["method"], "notifications/progress");
    drop(stream);
}

/// Answers of the gateway to questions of the backend.
fn answers(backend: &Stub) -> Vec<Value> {
    let seen = backend.seen().into_iter().map(|seen| seen.message);
    seen.filter(|message| message.get("method").is_none() && message.get("id").is_some()).collect()
}

#[tokio::test]
async fn what_a_backend_asks_behind_a_cancellation_is_refused_at_once() {
    let backend = backend().await;
    let app = App::start().await;
    app.serve("/a", &backend.url()).await;
    app.compose("v", &[row("early", "/a", ""), row("aside", "/a", "")]).await;
    let caller = app.reader().await;
    for (path, tool) in [("/a", "early"), ("/a", "aside"), ("/virtual/v", "early"), ("/virtual/v", "aside")] {
        backend.forget_history();
        let client = app.modern(path, &caller).askable();
        cancel(&client, tool).await;
        backend.until("it is told", |one| one.asked("notifications/cancelled").len() == 1).await;
        backend.until("its question is answered", |one| answers(one).len() == 1).await;
        assert_eq!(answers(&backend)[0]["error"]["code"], -32601, "{path} {tool}");
    }
}

#[tokio::test]
async fn it_is_of_no_other_call() {
    let backend = backend().await;
    let app = App::start().await;
    app.serve("/a", &backend.url()).await;
    let client = app.modern("/a", &app.reader().await).askable();
    cancel(&client, "aside").await;
    // The next call of the same caller asks later than the one that was cancelled.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let params = json!({ "name": "aside", "_meta": { "progressToken": "p" } });
    let asked = client.request("tools/call", params.clone()).await.messages().await.pop().unwrap();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let calls = backend.calls();
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0].session, calls[1].session);
    assert_eq!(answers(&backend).len(), 1, "that of the one that was cancelled, which was refused");
    let questions = asked["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(questions.len(), 1);
    let mut again = params;
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    again["inputResponses"] = questions.keys().map(|key| (key.clone(), answer.clone())).collect();
    again["requestState"] = asked["result"]["requestState"].clone();
    let told = client.request("tools/call", again).await.messages().await.pop().unwrap();
    assert_eq!(told["result"]["structuredContent"]["content"]["name"], "Ada", "{told}");
    backend.until("the session of the one that was cancelled ends", |one| one.sessions().len() == 1).await;
}
