//! Clients of 2026-07-28 with backends of either era.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Stage;
use crate::compose::row;
use crate::heard::greetings;

/// Both ways to each backend: its own path and the virtual server.
const WAYS: [(&str, &str, &str); 4] = [
    ("/old", "", "old"),
    ("/new", "", "new"),
    ("/virtual/both", "old_", "old"),
    ("/virtual/both", "new_", "new"),
];

#[tokio::test]
async fn discover_tells_what_stands_behind_the_path() {
    let stage = Stage::start().await;
    for (path, instructions) in
        [("/old", "Old rules."), ("/new", "New rules."), ("/virtual/both", "Old rules.")]
    {
        let result = stage.modern(path).request("server/discover", json!({})).await.result().await;
        assert_eq!(result["supportedVersions"], json!(["2026-07-28"]), "{path}");
        assert_eq!(result["resultType"], "complete", "{path}");
        assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), "{path}: {result}");
        for kind in ["tools", "prompts", "resources"] {
            assert!(result["capabilities"][kind].is_object(), "{path}: {result}");
        }
        assert!(result["instructions"].as_str().unwrap().contains(instructions), "{path}: {result}");
        assert!(
            result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].is_string(),
            "{path}: {result}"
        );
    }
}

#[tokio::test]
async fn lists_say_how_long_they_hold() {
    let stage = Stage::start().await;
    for path in ["/old", "/new", "/virtual/both"] {
        let client = stage.modern(path);
        for (method, member) in
            [("tools/list", "tools"), ("prompts/list", "prompts"), ("resources/list", "resources")]
        {
            let result = client.request(method, json!({})).await.result().await;
            assert_eq!(result["resultType"], "complete", "{path}: {method}");
            assert!(result["ttlMs"].is_u64(), "{path}: {method}: {result}");
            assert!(
                ["public", "private"].contains(&result["cacheScope"].as_str().unwrap()),
                "{path}: {method}"
            );
            assert!(!result[member].as_array().unwrap().is_empty(), "{path}: {method}");
        }
    }
    let tools = stage.modern("/virtual/both").tools().await;
    assert_eq!((tools.len(), tools[0].as_str(), tools[8].as_str()), (16, "old_echo", "new_echo"));
}

#[tokio::test]
async fn a_call_reaches_either_backend_in_its_own_dress() {
    let stage = Stage::start().await;
    for (path, prefix, backend) in WAYS {
        let client = stage.modern(path);
        let meta = json!({ "vendor/trace": 1, "traceparent": "00-1-2-03" });
        let params = json!({ "name": format!("{prefix}echo"), "arguments": { "x": 1 }, "_meta": meta });
        let result = client.request("tools/call", params).await.result().await;
        assert_eq!(result["resultType"], "complete", "{path}");
        let told = &result["structuredContent"];
        assert_eq!(
            (&told["backend"], &told["tool"], &told["arguments"]["x"]),
            (&json!(backend), &json!("echo"), &json!(1))
        );
        assert_eq!(
            (&told["meta"]["vendor/trace"], &told["meta"]["traceparent"]),
            (&json!(1), &json!("00-1-2-03"))
        );
    }
    for call in stage.old.calls() {
        let meta = call.params()["_meta"].as_object().unwrap();
        assert!(!meta.keys().any(|key| key.starts_with("io.modelcontextprotocol/")), "reserved: {meta:?}");
        assert_eq!(call.header("mcp-protocol-version"), "2025-11-25");
        assert_eq!((call.header("mcp-method"), call.header("mcp-name")), ("", ""));
        assert!(call.session.is_some());
    }
    for call in stage.new.calls() {
        assert_eq!(call.params()["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(call.params()["_meta"]["io.modelcontextprotocol/clientInfo"]["name"], "testkit");
        assert_eq!((call.header("mcp-method"), call.header("mcp-name")), ("tools/call", "echo"));
        assert_eq!(call.session, None);
    }
}

#[tokio::test]
async fn callers_do_not_share_sessions_of_an_old_backend() {
    let stage = Stage::start().await;
    let other = stage.app.holder("other", &[]).await;
    for _ in 0..3 {
        stage.modern("/old").call("echo", json!({})).await;
        stage.modern("/old").bearer(other.token.as_deref().unwrap()).call("echo", json!({})).await;
    }
    let by_caller = |turn: usize| {
        let sessions = stage.old.ran().into_iter().skip(turn).step_by(2).map(|run| run.session.unwrap());
        sessions.collect::<HashSet<_>>()
    };
    assert!(by_caller(0).is_disjoint(&by_caller(1)), "{:?}", stage.old.ran());
    assert!(by_caller(0).len() == 1 && greetings(&stage.old).len() == 2, "and each is greeted once");
}

#[tokio::test]
async fn progress_and_logs_come_on_the_stream_of_the_call() {
    let stage = Stage::start().await;
    for (path, prefix, _) in WAYS {
        let client = stage.modern(path);
        let params = json!({ "name": format!("{prefix}progress"), "_meta": { "progressToken": "mine" } });
        let messages = client.request("tools/call", params).await.messages().await;
        let tokens: Vec<_> = messages.iter().map(|one| one["params"]["progressToken"].clone()).collect();
        assert_eq!(tokens, [json!("mine"), json!("mine"), json!("mine"), Value::Null], "{path} {prefix}");
        for (level, wanted) in [(Value::Null, 0), (json!("debug"), 1)] {
            let mut meta = json!({});
            if !level.is_null() {
                meta["io.modelcontextprotocol/logLevel"] = level;
            }
            let arguments = json!({ "level": "warning", "text": "hello" });
            let params = json!({ "name": format!("{prefix}log"), "arguments": arguments, "_meta": meta });
            let messages = client.request("tools/call", params).await.messages().await;
            assert_eq!(messages.len(), wanted + 1, "{path} {prefix}: {messages:?}");
        }
    }
}

/// Calls a tool that asks, and returns the result that holds the question.
async fn begin(client: &testkit::Client, tool: &str) -> (Value, Value) {
    let params = json!({ "name": tool, "arguments": { "message": "Sure?" } });
    let result = client.request("tools/call", params.clone()).await.result().await;
    assert_eq!(result["resultType"], "input_required", "{result}");
    (params, result)
}

/// Comes back with an answer to each question.
fn answered(mut params: Value, result: &Value, answer: &Value) -> Value {
    let questions = result["inputRequests"].as_object().unwrap();
    let answers: serde_json::Map<_, _> = questions.keys().map(|key| (key.clone(), answer.clone())).collect();
    params["inputResponses"] = Value::Object(answers);
    params["requestState"] = result["requestState"].clone();
    params
}

#[tokio::test]
async fn a_question_of_either_backend_is_a_round_of_the_call() {
    let stage = Stage::start().await;
    for (path, prefix, backend) in WAYS {
        let client = stage.modern(path).askable();
        let (params, result) = begin(&client, &format!("{prefix}ask")).await;
        assert!(result["requestState"].is_string(), "{result}");
        let questions = result["inputRequests"].as_object().unwrap();
        assert_eq!(questions.len(), 1, "{result}");
        let question = questions.values().next().unwrap();
        assert_eq!(
            (&question["method"], &question["params"]["message"]),
            (&json!("elicitation/create"), &json!("Sure?"))
        );
        let answer = json!({ "action": "accept", "content": { "answer": "yes" } });
        let message = client.message("tools/call", answered(params, &result, &answer));
        let reply = client.post(&message).await.reply().await;
        assert_eq!(reply["id"], message["id"], "the answer to the second request");
        let told = &reply["result"]["structuredContent"];
        assert_eq!((&told["backend"], &told["answer"]), (&json!(backend), &answer), "{path} {prefix}");
        assert_eq!(reply["result"]["resultType"], "complete");
    }
    assert_eq!((stage.old.runs("ask"), stage.new.runs("ask")), (2, 2), "each ran once");
}

#[tokio::test]
async fn a_state_that_is_not_of_this_call_runs_nothing() {
    let stage = Stage::start().await;
    let client = stage.modern("/old").askable();
    let (params, result) = begin(&client, "ask").await;
    let good = answered(params, &result, &json!({ "action": "decline" }));
    let state = good["requestState"].as_str().unwrap();
    let with = |key: &str, value: Value| {
        let mut params = good.clone();
        params[key] = value;
        params
    };
    let stranger = stage.app.holder("stranger", &[]).await;
    let stranger = client.clone().bearer(stranger.token.as_deref().unwrap());
    let wrong = [
        (&client, with("requestState", json!("made up"))),
        (&client, with("requestState", json!(format!("{state}A")))),
        (&client, with("requestState", json!(5))),
        (&client, with("requestState", json!({ "state": state }))),
        (&client, with("arguments", json!({ "message": "Another?" }))),
        (&client, with("name", json!("sample"))),
        (&stranger, good.clone()),
    ];
    for (client, params) in wrong {
        let error = client.request("tools/call", params.clone()).await.error().await;
        assert_eq!(error["code"], -32602, "{params}");
    }
    let told = client.request("tools/call", good.clone()).await.result().await;
    assert_eq!(
        told["structuredContent"]["answer"]["action"], "decline",
        "the call still waited for the right one"
    );
    let error = client.request("tools/call", good).await.error().await;
    assert_eq!(error["code"], -32602, "never a second run");
    assert_eq!((stage.old.runs("ask"), stage.old.runs("sample")), (1, 0));
}

#[tokio::test]
async fn an_answer_that_is_missing_is_asked_for_again() {
    let stage = Stage::start().await;
    let client = stage.modern("/old").askable();
    let (mut params, result) = begin(&client, "ask").await;
    params["requestState"] = result["requestState"].clone();
    params["inputResponses"] = json!({ "something-else": { "action": "accept" } });
    let again = client.request("tools/call", params.clone()).await.result().await;
    assert_eq!(again["resultType"], "input_required");
    assert_eq!(again["inputRequests"], result["inputRequests"]);
    let told = client.request("tools/call", answered(params, &again, &json!({ "action": "cancel" }))).await;
    assert_eq!(told.result().await["structuredContent"]["answer"]["action"], "cancel");
    assert_eq!(stage.old.runs("ask"), 1);
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_not() {
    let stage = Stage::start().await;
    let client = stage.modern("/old");
    let result = client.call("ask", json!({})).await;
    assert_eq!((&result["isError"], &result["resultType"]), (&json!(true), &json!("complete")));
    assert_eq!(greetings(&stage.old).last().unwrap().params()["capabilities"], json!({}));
    let answer = stage.modern("/new").try_call("ask", json!({})).await;
    assert_eq!(answer.error().await["code"], -32021, "as the backend says it");
}

#[tokio::test]
async fn a_client_that_goes_away_cancels() {
    let stage = Stage::start().await;
    for (path, prefix, backend) in WAYS {
        let client = stage.modern(path);
        let call = tokio::spawn(async move {
            client.try_call(&format!("{prefix}slow"), json!({ "seconds": 600 })).await
        });
        let stub: &testkit::stub::Stub = if backend == "old" { &stage.old } else { &stage.new };
        let (running, stopped) = (stub.runs("slow"), stub.cancelled().len());
        stub.until("it runs", |one| one.runs("slow") == running + 1).await;
        call.abort();
        stub.until("it is stopped", |one| one.cancelled().len() == stopped + 1).await;
    }
}

#[tokio::test]
async fn prompts_and_resources_cross_too() {
    let stage = Stage::start().await;
    let client = stage.modern("/virtual/both");
    for (prompt, uri, backend) in [("review", "file:///old", "old"), ("plan", "file:///new", "new")] {
        let got = client.request("prompts/get", json!({ "name": prompt })).await.result().await;
        assert_eq!(got["resultType"], "complete");
        assert!(got["messages"].to_string().contains(&format!("{backend} {prompt}")), "{got}");
        let read = client.request("resources/read", json!({ "uri": uri })).await.result().await;
        assert!(read["ttlMs"].is_u64() && read.to_string().contains(&format!("{backend} {uri}")), "{read}");
    }
    for path in ["/old", "/new", "/virtual/both"] {
        let error = stage
            .modern(path)
            .request("resources/read", json!({ "uri": "file:///none" }))
            .await
            .error()
            .await;
        assert_eq!(
            (&error["code"], &error["data"]["uri"]),
            (&json!(-32602), &json!("file:///none")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_header_chooses_a_version_of_either_era() {
    let stage = Stage::start().await;
    stage.app.serve_version("/old", "v2.0.0", &stage.new.url()).await;
    for (wanted, backend) in [("", "old"), ("v2.0.0", "new"), ("v1.0.0", "old"), ("latest", "old")] {
        let client = stage.modern("/old").header("x-mcp-server-version", wanted);
        let answer = client.try_call("echo", json!({})).await;
        let label = if backend == "old" { "v1.0.0" } else { "v2.0.0" };
        assert_eq!(answer.header("x-mcp-server-version"), label);
        assert_eq!(answer.result().await["structuredContent"]["backend"], backend);
    }
    stage.app.compose("w", &[row("echo", "/old", "")]).await;
    let (modern, legacy) = (stage.modern("/virtual/w"), stage.legacy("/virtual/w").await);
    for (label, backend) in [("v2.0.0", "new"), ("v1.0.0", "old")] {
        stage.app.activate("/old", label).await;
        for client in [&modern, &legacy] {
            assert_eq!(client.call("echo", json!({})).await["structuredContent"]["backend"], backend);
        }
    }
}

#[tokio::test]
async fn a_lost_session_of_an_old_backend_is_renewed() {
    let stage = Stage::start().await;
    let client = stage.modern("/old");
    client.call("echo", json!({})).await;
    stage.old.restart().await;
    client.call("echo", json!({})).await;
    assert_eq!((stage.old.runs("echo"), greetings(&stage.old).len()), (2, 2));
    stage.old.down().await;
    let answer = client.try_call("echo", json!({})).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.error().await["message"], "Backend server unreachable: /old");
}
