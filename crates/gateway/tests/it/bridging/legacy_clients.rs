//! Clients of the older revisions with a backend of 2026-07-28.

use serde_json::{Value, json};
use testkit::Tool;
use testkit::script::Reply;

use super::Stage;

/// The two ways to the backend: its own path, and the virtual server.
const WAYS: [(&str, &str); 2] = [("/new", ""), ("/virtual/both", "new_")];

#[tokio::test]
async fn the_client_is_greeted_for_the_backend() {
    let stage = Stage::start().await;
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = stage.app.client("/new", &stage.caller).revision(revision);
        let greeting = client.initialize().await;
        assert_eq!(greeting["protocolVersion"], revision);
        assert_eq!(
            (&greeting["serverInfo"]["name"], &greeting["instructions"]),
            (&json!("new"), &json!("New rules."))
        );
        assert!(greeting["capabilities"]["tools"].is_object(), "{greeting}");
        assert!(client.session.is_some());
        assert_eq!(client.request("ping", json!({})).await.result().await, json!({}));
    }
    for asked in stage.new.asked("initialize") {
        assert_eq!(asked.params()["clientInfo"]["name"], "switchyard", "only to learn whether it knows it");
    }
}

#[tokio::test]
async fn lists_and_answers_lose_what_the_client_would_not_know() {
    let stage = Stage::start().await;
    let odd = Tool::new("odd").member("outputSchema", json!({ "type": "array" }));
    stage.new.set_tools([Tool::new("echo"), odd.answers(|_| json!({ "x": 1 }))]);
    stage.app.refresh("/new").await;
    let client = stage.legacy("/new").await;
    let result = client.request("tools/list", json!({})).await.result().await;
    for member in ["resultType", "ttlMs", "cacheScope"] {
        assert!(result[member].is_null(), "{member}: {result}");
    }
    let tools = result["tools"].as_array().unwrap();
    assert_eq!((&tools[0]["name"], &tools[1]["name"]), (&json!("echo"), &json!("odd")));
    assert!(tools[1]["outputSchema"].is_null(), "only objects were allowed: {result}");
    assert_eq!(tools[0]["_meta"], json!({ "example.com/kept": { "by": "echo" } }));
    let result = client.call("echo", json!({ "x": 1 })).await;
    assert!(result["resultType"].is_null(), "{result}");
    assert_eq!(result["structuredContent"]["arguments"]["x"], 1);
}

#[tokio::test]
async fn a_call_says_who_asks() {
    let stage = Stage::start().await;
    for (path, prefix) in WAYS {
        let client = stage.legacy(path).await;
        let params = json!({ "name": format!("{prefix}echo"), "arguments": {}, "_meta": { "vendor/x": 1 } });
        client.request("tools/call", params).await.result().await;
        let call = stage.new.calls().pop().unwrap();
        let meta = &call.params()["_meta"];
        let ours = |key: &str| &meta[format!("io.modelcontextprotocol/{key}")];
        assert_eq!(ours("protocolVersion"), "2026-07-28", "{path}");
        assert_eq!(ours("clientInfo"), &json!({ "name": "testkit", "version": "1.0.0" }));
        assert_eq!(ours("clientCapabilities"), &client.capabilities);
        assert_eq!(meta["vendor/x"], 1);
        assert_eq!((call.header("mcp-method"), call.header("mcp-name")), ("tools/call", "echo"));
        assert_eq!((call.header("mcp-protocol-version"), &call.session), ("2026-07-28", &None));
    }
}

#[tokio::test]
async fn a_round_of_input_is_a_request_to_the_client() {
    let stage = Stage::start().await;
    for (path, prefix) in WAYS {
        let client = stage.legacy(path).await;
        let cases = [
            ("ask", "elicitation/create", json!({ "action": "accept", "content": { "answer": "yes" } })),
            (
                "sample",
                "sampling/createMessage",
                json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "hi" } }),
            ),
            ("roots", "roots/list", json!({ "roots": [{ "uri": "file:///home" }] })),
        ];
        for (tool, method, answer) in cases {
            let mut stream = client.try_call(&format!("{prefix}{tool}"), json!({ "message": "Sure?" })).await;
            let question = stream.message().await;
            assert_eq!(question["method"], method, "{path}");
            assert_eq!(client.answer(&question["id"], answer.clone()).await.status, 202);
            // The backend checks that its state came back byte for byte.
            let reply = stream.message().await;
            let told = &reply["result"]["structuredContent"];
            assert_eq!((&told["backend"], &told["answer"]), (&json!("new"), &answer), "{path}: {reply}");
        }
    }
    assert_eq!(stage.new.runs("ask"), 2);
}

#[tokio::test]
async fn a_refusal_of_the_client_ends_the_round() {
    let stage = Stage::start().await;
    let client = stage.legacy("/new").await;
    for (tool, told) in [("ask", json!({ "action": "cancel" })), ("roots", json!({ "roots": [] }))] {
        let mut stream = client.try_call(tool, json!({})).await;
        let question = stream.message().await;
        client.refuse(&question["id"], -1, "no").await;
        assert_eq!(stream.message().await["result"]["structuredContent"]["answer"], told, "{tool}");
    }
    let mut stream = client.try_call("sample", json!({})).await;
    let question = stream.message().await;
    client.refuse(&question["id"], -1, "no").await;
    assert_eq!(stream.message().await["result"]["isError"], true);
    assert_eq!(stage.new.runs("sample"), 0);
}

#[tokio::test]
async fn questions_of_both_eras_meet_in_one_session() {
    let stage = Stage::start().await;
    let client = stage.legacy("/virtual/both").await;
    let mut of_old = client.try_call("old_ask", json!({})).await;
    let mut of_new = client.try_call("new_ask", json!({})).await;
    let (from_old, from_new) = (of_old.message().await, of_new.message().await);
    assert_ne!(from_old["id"], from_new["id"]);
    let say = |text: &str| json!({ "action": "accept", "content": { "answer": text } });
    client.answer(&from_new["id"], say("new")).await;
    client.answer(&from_old["id"], say("old")).await;
    for (stream, name) in [(&mut of_old, "old"), (&mut of_new, "new")] {
        let told = stream.message().await["result"]["structuredContent"].take();
        assert_eq!((&told["backend"], &told["answer"]["content"]["answer"]), (&json!(name), &json!(name)));
    }
}

#[tokio::test]
async fn progress_and_logs_cross() {
    let stage = Stage::start().await;
    for (path, prefix) in WAYS {
        let client = stage.legacy(path).await;
        let params = json!({ "name": format!("{prefix}progress"), "_meta": { "progressToken": 7 } });
        let messages = client.request("tools/call", params).await.messages().await;
        assert_eq!(messages.iter().filter(|one| one["params"]["progressToken"] == 7).count(), 3, "{path}");
        assert!(messages[3]["result"]["resultType"].is_null(), "{path}: {messages:?}");
        client.request("logging/setLevel", json!({ "level": "info" })).await.result().await;
        let arguments = json!({ "level": "warning", "text": "hello" });
        let messages = client.try_call(&format!("{prefix}log"), arguments).await.messages().await;
        assert_eq!((messages.len(), &messages[0]["params"]["data"]), (2, &json!("hello")), "{path}");
        let call = stage.new.calls().pop().unwrap();
        assert_eq!(call.params()["_meta"]["io.modelcontextprotocol/logLevel"], "info", "{path}");
    }
}

#[tokio::test]
async fn errors_are_told_in_the_clients_words() {
    let stage = Stage::start().await;
    for (path, prefix) in WAYS {
        let client = stage.legacy(path).await;
        let error = client.request("resources/read", json!({ "uri": "file:///none" })).await.error().await;
        assert_eq!(
            (&error["code"], &error["data"]["uri"]),
            (&json!(-32002), &json!("file:///none")),
            "{path}"
        );
        let answer = client.request("vendor/none", json!({})).await;
        assert_eq!(
            (answer.status.as_u16(), answer.error().await["code"].clone()),
            (200, json!(-32601)),
            "{path}"
        );
        stage.new.down().await;
        let answer = client.try_call(&format!("{prefix}echo"), json!({})).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.error().await["message"], "Backend server unreachable: /new", "{path}");
        stage.new.up().await;
        let refusal = testkit::script::Reply::new(401, "text/plain", "").header("www-authenticate", "Bearer");
        stage.new.reply("tools/call", refusal);
        let answer = client.try_call(&format!("{prefix}echo"), json!({})).await;
        assert_eq!((answer.status.as_u16(), answer.header("www-authenticate")), (200, ""));
        let error = answer.error().await;
        assert_eq!(error["message"], "Backend server refused the gateway's credentials: /new", "{path}");
        stage.new.reply_normally("tools/call");
    }
}

#[tokio::test]
async fn the_session_is_the_gateways_and_ends_when_told() {
    let mut stage = Stage::start().await;
    let client = stage.legacy("/new").await;
    client.call("echo", json!({})).await;
    stage.app.restart().await;
    let client = client.at(&format!("{}/new", stage.app.url));
    client.call("echo", json!({})).await;
    let stranger = stage.app.holder("stranger", &[]).await;
    let stolen = stage.app.client("/new", &stranger).in_session(client.session.as_deref().unwrap());
    assert_eq!(stolen.try_call("echo", json!({})).await.status, 404);
    let mut stream = client.get().await;
    assert!(stream.is_events());
    assert_eq!(client.delete().await.status, 204);
    assert!(stream.event().await.is_none());
    let answer = client.try_call("echo", json!({})).await;
    assert_eq!((answer.status.as_u16(), answer.error().await["code"].clone()), (404, json!(-32001)));
    let mut missing = client.clone();
    missing.session = None;
    assert_eq!(missing.try_call("echo", Value::Null).await.status, 400);
    assert_eq!(stage.new.runs("echo"), 2);
}

#[tokio::test]
async fn what_a_lying_backend_answers_reaches_nobody() {
    let stage = Stage::start().await;
    let asks = |rest: Value| {
        let mut result = json!({ "resultType": "input_required" });
        result.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!({ "id": "<id>", "result": result })
    };
    let fault = |code: i32| json!({ "id": "<id>", "error": { "code": code, "message": "no" } });
    let lies = [
        (200, json!({ "id": "another", "result": { "content": [] } }), -31003),
        (200, asks(json!({ "inputRequests": [1], "requestState": "s" })), -31003),
        (200, asks(json!({ "inputRequests": { "a": { "method": "tools/call", "params": {} } } })), -31003),
        (200, asks(json!({ "requestState": 5 })), -31003),
        (400, fault(-32022), -32603),
        (401, fault(-32000), -32000),
    ];
    for (path, prefix) in WAYS {
        let client = stage.legacy(path).await;
        for (status, lie, code) in &lies {
            let message =
                client.message("tools/call", json!({ "name": format!("{prefix}echo"), "arguments": {} }));
            let mut lie = lie.clone();
            lie["jsonrpc"] = json!("2.0");
            if lie["id"] == "<id>" {
                lie["id"] = message["id"].clone();
            }
            stage.new.reply("tools/call", Reply::new(*status, "application/json", lie.to_string()));
            let before = stage.new.calls().len();
            let answer = client.post(&message).await;
            let told = (answer.status.as_u16(), answer.reply().await);
            assert_eq!((told.0, &told.1["error"]["code"]), (200, &json!(code)), "{path}: {lie}: {told:?}");
            assert_eq!(told.1["id"], message["id"], "{path}: {lie}");
            assert_eq!(stage.new.calls().len(), before + 1, "{path}: {lie}");
        }
        stage.new.reply_normally("tools/call");
    }
}
