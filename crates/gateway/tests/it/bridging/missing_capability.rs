//! An older backend asks what the client of 2026-07-28 did not declare.

use serde_json::{Value, json};
use testkit::LegacyBackend;
use testkit::steps::{Question, Step, Steps};
use testkit::tool::Tool;

use crate::app::App;
use crate::compose::row;

#[tokio::test]
async fn the_client_is_told_what_its_request_needs() {
    let question =
        Question { key: "model", method: "sampling/createMessage", params: |_| json!({ "messages": [] }) };
    let end = |_: &Value, _: &Value| json!({ "content": [] });
    let need = |name: &str, first: &[Step]| {
        let steps = first.iter().cloned().chain([Step::Need(question.clone())]);
        Tool::new(name).plays(Steps::new(steps, end))
    };
    let backend = LegacyBackend::start("a");
    let backend = backend.tools([need("early", &[]), need("late", &[Step::Progress(10)])]).await;
    let app = App::start().await;
    app.serve("/a", &backend.url()).await;
    app.compose("v", &[row("early", "/a", ""), row("late", "/a", "")]).await;
    let caller = app.reader().await;
    for path in ["/a", "/virtual/v"] {
        let client = app.modern(path, &caller);
        let client = client.capabilities(json!({ "elicitation": {} }));
        for (tool, accept, status) in [
            ("early", "application/json, text/event-stream", 400),
            ("early", "application/json", 400),
            // Its stream has begun with status 200.
            ("late", "application/json, text/event-stream", 200),
        ] {
            let stopped = backend.cancelled().len();
            let params = json!({ "name": tool, "_meta": { "progressToken": "p" } });
            let message = client.message("tools/call", params);
            let mut headers = client.headers_for(&message);
            headers.insert("accept", accept.parse().unwrap());
            let answer = client.post_bytes(headers, message.to_string()).await;
            assert_eq!(answer.status, status, "{path} {tool} {accept}");
            let reply = answer.reply().await;
            assert_eq!(reply["id"], message["id"]);
            assert_eq!(reply["error"]["code"], -32021, "{reply}");
            assert_eq!(reply["error"]["data"], json!({ "requiredCapabilities": { "sampling": {} } }));
            backend.until("the call is stopped", |one| one.cancelled().len() == stopped + 1).await;
        }
    }
}
