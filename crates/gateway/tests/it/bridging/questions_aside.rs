//! Questions that an older backend asks beside the stream of the call, on the GET stream of the session.

use serde_json::{Value, json};
use testkit::steps::{Question, Step, Steps};
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
    /// A backend whose tools `ask` and `talk` ask on the GET stream; `talk` says something on its own stream first.
    async fn start() -> Self {
        let question = Question {
            key: "name",
            method: "elicitation/create",
            params: |arguments| {
                let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
                json!({ "mode": "form", "message": arguments["message"], "requestedSchema": schema })
            },
        };
        let end = |arguments: &Value, answers: &Value| {
            let told = json!({ "asked": arguments["message"], "answer": answers["name"] });
            json!({ "content": [{ "type": "text", "text": told.to_string() }], "structuredContent": told })
        };
        let ask = Steps::new([Step::Ask(vec![question.clone()])], end).asking_aside();
        let talk = [Step::Progress(10), Step::Ask(vec![question])];
        let talk = Steps::new(talk, end).asking_aside();
        let backend = LegacyBackend::start("a");
        let backend = backend.tools([Tool::new("ask").plays(ask), Tool::new("talk").plays(talk)]).await;
        let app = App::start().await;
        app.serve("/a", &backend.url()).await;
        app.compose("v", &[row("ask", "/a", ""), row("talk", "/a", "")]).await;
        let caller = app.reader().await;
        Self { app, caller, backend }
    }

    fn client(&self, path: &str) -> Client {
        self.app.modern(path, &self.caller).askable()
    }
}

fn call(tool: &str, message: &str) -> Value {
    json!({ "name": tool, "arguments": { "message": message }, "_meta": { "progressToken": "p" } })
}

/// Comes back with an answer to each question.
fn answered(mut params: Value, result: &Value, name: &str) -> Value {
    let questions = result["inputRequests"].as_object().unwrap();
    let answer = json!({ "action": "accept", "content": { "name": name } });
    let answers: serde_json::Map<_, _> = questions.keys().map(|key| (key.clone(), answer.clone())).collect();
    params["inputResponses"] = Value::Object(answers);
    params["requestState"] = result["requestState"].clone();
    params
}

/// Plays a call to its end; the tool is told the name that the client gives.
async fn play(client: &Client, tool: &str, message: &str) {
    let params = call(tool, message);
    let asked = client.request("tools/call", params.clone()).await.result().await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = asked["inputRequests"].as_object().unwrap().values().next().unwrap();
    assert_eq!(question["params"]["message"], message);
    let name = format!("the name for {message}");
    let told = client.request("tools/call", answered(params, &asked, &name)).await.result().await;
    let told = &told["structuredContent"];
    assert_eq!((&told["asked"], &told["answer"]["content"]["name"]), (&json!(message), &json!(name)));
}

#[tokio::test]
async fn a_question_beside_the_call_is_a_round_of_it() {
    let stage = Stage::start().await;
    for path in ["/a", "/virtual/v"] {
        for tool in ["ask", "talk"] {
            play(&stage.client(path), tool, &format!("{tool} at {path}")).await;
        }
    }
    assert_eq!((stage.backend.runs("ask"), stage.backend.runs("talk")), (2, 2), "each ran once");
    assert_eq!(stage.backend.streams(), 1, "one session after the other serves the same calls");
}

#[tokio::test]
async fn calls_at_once_are_asked_each_its_own_question() {
    let stage = Stage::start().await;
    let client = stage.client("/a");
    let messages: Vec<_> = (0..6).map(|number| format!("number {number}")).collect();
    let calls = messages.iter().map(|message| play(&client, "ask", message));
    futures_util::future::join_all(calls).await;
    assert_eq!(stage.backend.runs("ask"), 6);
    // Sessions are free again when their calls are over.
    let sessions = stage.backend.sessions().len();
    play(&client, "ask", "later").await;
    assert_eq!(stage.backend.sessions().len(), sessions);
}
