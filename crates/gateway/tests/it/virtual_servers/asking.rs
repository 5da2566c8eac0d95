//! Requests of backends to the client, through the gateway and back.

use serde_json::{Value, json};
use testkit::{Client, LegacyBackend};

use crate::app::App;
use crate::compose::row;
use crate::heard::greetings;

const TOOLS: [&str; 4] = ["ask", "sample", "roots", "echo"];

/// Two backends that both count their requests from 1.
async fn stage() -> (App, LegacyBackend, LegacyBackend) {
    let a = LegacyBackend::start("a").tools(TOOLS).await;
    let b = LegacyBackend::start("b").tools(TOOLS).await;
    let app = App::start().await;
    app.serve("/a", &a.url()).await;
    app.serve("/b", &b.url()).await;
    let rows: Vec<_> = ["a", "b"]
        .iter()
        .flat_map(|name| TOOLS.map(|tool| row(tool, &format!("/{name}"), &format!("{name}_{tool}"))))
        .collect();
    app.compose("v", &rows).await;
    (app, a, b)
}

/// Calls a tool, answers its question, and returns the question and what the tool told.
async fn converse(client: &Client, tool: &str, answer: Value) -> (Value, Value) {
    let mut stream = client.try_call(tool, json!({ "message": "Sure?", "prompt": "Say" })).await;
    let question = stream.message().await;
    let told = client.answer(&question["id"], answer).await;
    assert_eq!(told.status, 202);
    let mut reply = stream.message().await;
    (question, reply["result"]["structuredContent"].take())
}

#[tokio::test]
async fn elicitation_sampling_and_roots_go_to_the_client_and_back() {
    let (app, _a, _b) = stage().await;
    let client = app.visit_askable("/virtual/v").await;
    let accepted = json!({ "action": "accept", "content": { "answer": "yes" } });
    let (question, told) = converse(&client, "a_ask", accepted.clone()).await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Sure?");
    assert_eq!((&told["backend"], &told["answer"]), (&json!("a"), &accepted));
    let sampled = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "hi" } });
    let (question, told) = converse(&client, "b_sample", sampled.clone()).await;
    assert_eq!(question["method"], "sampling/createMessage");
    assert_eq!(question["params"]["messages"][0]["content"]["text"], "Say");
    assert_eq!((&told["backend"], &told["answer"]), (&json!("b"), &sampled));
    let roots = json!({ "roots": [{ "uri": "file:///home" }] });
    let (question, told) = converse(&client, "a_roots", roots.clone()).await;
    assert_eq!(question["method"], "roots/list");
    assert_eq!(told["answer"], roots);
}

#[tokio::test]
async fn questions_of_two_backends_with_one_id_do_not_cross() {
    let (app, _a, _b) = stage().await;
    let client = app.visit_askable("/virtual/v").await;
    let mut of_a = client.try_call("a_ask", json!({})).await;
    let mut of_b = client.try_call("b_ask", json!({})).await;
    let (from_a, from_b) = (of_a.message().await, of_b.message().await);
    assert_ne!(from_a["id"], from_b["id"], "the client can tell them apart");
    let say = |text: &str| json!({ "action": "accept", "content": { "answer": text } });
    client.answer(&from_b["id"], say("for b")).await;
    client.answer(&from_a["id"], say("for a")).await;
    for (stream, name) in [(&mut of_b, "b"), (&mut of_a, "a")] {
        let told = stream.message().await["result"]["structuredContent"].take();
        assert_eq!(told["backend"], name);
        assert_eq!(told["answer"]["content"]["answer"], format!("for {name}"));
    }
}

#[tokio::test]
async fn a_refusal_of_the_client_goes_back_too() {
    let (app, _a, _b) = stage().await;
    let client = app.visit_askable("/virtual/v").await;
    let mut stream = client.try_call("a_sample", json!({})).await;
    let question = stream.message().await;
    assert_eq!(client.refuse(&question["id"], -1, "the user said no").await.status, 202);
    let reply = stream.message().await;
    assert_eq!(
        reply["result"]["structuredContent"]["answer"],
        json!({ "code": -1, "message": "the user said no" })
    );
}

#[tokio::test]
async fn backends_know_what_the_client_can_do() {
    let (app, a, b) = stage().await;
    let asked = json!({ "elicitation": { "form": {} }, "roots": { "listChanged": true }, "experimental": { "x": {} } });
    let mut client = app.client("/virtual/v", &app.reader().await).capabilities(asked.clone());
    client.initialize().await;
    client.call("a_echo", json!({})).await;
    assert_eq!(greetings(&a).last().unwrap().params()["capabilities"], asked);
    let plain = app.visit("/virtual/v").await;
    let told = plain.call("b_ask", json!({})).await;
    assert_eq!(
        (&told["isError"], &told["content"][0]["text"]),
        (&json!(true), &json!("the client has no elicitation"))
    );
    assert_eq!(greetings(&b).last().unwrap().params()["capabilities"], json!({}));
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_harms_nobody() {
    let (app, a, _b) = stage().await;
    let client = app.visit_askable("/virtual/v").await;
    let mut stream = client.try_call("a_ask", json!({})).await;
    let question = stream.message().await;
    for id in [json!(1), json!("ask-999"), json!("x"), Value::Null] {
        assert_eq!(client.answer(&id, json!({})).await.status, 202, "{id}");
    }
    // Somebody else's session cannot answer it.
    let other = app.visit_askable("/virtual/v").await;
    other.answer(&question["id"], json!({ "action": "decline" })).await;
    client.answer(&question["id"], json!({ "action": "accept" })).await;
    let reply = stream.message().await;
    assert_eq!(reply["result"]["structuredContent"]["answer"]["action"], "accept");
    client.answer(&question["id"], json!({ "action": "decline" })).await;
    assert_eq!(a.runs("ask"), 1);
}

#[tokio::test]
async fn a_changed_root_is_told_to_the_backends_in_use() {
    let (app, a, b) = stage().await;
    let client = app.visit_askable("/virtual/v").await;
    client.call("a_echo", json!({})).await;
    client.notify("notifications/roots/list_changed", json!({})).await;
    a.until("it hears of it", |a| a.asked("notifications/roots/list_changed").len() == 1).await;
    assert!(b.asked("notifications/roots/list_changed").is_empty(), "it knows nothing of this client");
}

#[tokio::test]
async fn a_question_outside_a_call_comes_on_the_get_stream() {
    let (app, a, _b) = stage().await;
    let client = app.visit_askable("/virtual/v").await;
    let mut stream = client.get().await;
    a.until("its stream is open", |a| a.streams() == 1).await;
    a.push(&json!({ "jsonrpc": "2.0", "id": 77, "method": "roots/list" }));
    let question = stream.message().await;
    assert_eq!(question["method"], "roots/list");
    client.answer(&question["id"], json!({ "roots": [] })).await;
    let answered = |a: &testkit::stub::Stub| {
        a.seen().iter().any(|seen| seen.message["id"] == 77 && seen.message["result"]["roots"].is_array())
    };
    a.until("the answer comes back under its own id", answered).await;
    a.push(&json!({ "jsonrpc": "2.0", "id": 78, "method": "ping" }));
    let ponged = |a: &testkit::stub::Stub| {
        a.seen().iter().any(|seen| seen.message["id"] == 78 && seen.message["result"].is_object())
    };
    a.until("a ping is answered by the gateway", ponged).await;
}
