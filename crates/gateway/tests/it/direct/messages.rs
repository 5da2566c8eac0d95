//! What passes through untouched, in both directions.

use http::HeaderValue;
use serde_json::{Value, json};
use testkit::LegacyBackend;
use testkit::script::Reply;

use super::Stage;

#[tokio::test]
async fn a_message_arrives_byte_for_byte() {
    let stage = Stage::start(&["echo"]).await;
    let shape = stage.client.message("tools/call", json!({}));
    let bodies = [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":1.0}}}"#,
        r#" { "vendor" : [ 1.50, 1E5, -0 ], "id" : 0.5e1 , "method":"tools/call", "params" : {"name":"echo", "x":{"\u0041":"\/é😀"}} , "jsonrpc":"2.0" } "#,
        r#"{"jsonrpc":"2.0","id":"\u0061 b","method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"jsonrpc":"2.0","id":"","method":"vendor/unknown","params":{"deep":[[[[]]]]}}"#,
        r#"{"jsonrpc":"2.0","id":-7,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","method":"vendor/told","params":{"x":1.0}}"#,
    ];
    for body in bodies {
        stage.client.post_bytes(stage.client.headers_for(&shape), body).await.bytes().await;
        let seen = stage.backend.seen().pop().unwrap();
        assert_eq!(String::from_utf8(seen.body.to_vec()).unwrap(), body);
    }
}

#[tokio::test]
async fn a_plain_answer_comes_back_byte_for_byte() {
    let stage = Stage::start(&["echo"]).await;
    let message = stage.client.message("tools/call", json!({ "name": "echo" }));
    let id = &message["id"];
    let bodies = [
        format!(r#" {{"result":{{"n":1.50e3,"s":"\u00e9\/"}}, "id":{id}, "jsonrpc":"2.0", "vendor":null}} "#),
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no","data":[1.0]}}}}"#),
    ];
    for body in bodies {
        for status in [200, 400, 404] {
            stage
                .backend
                .reply("tools/call", Reply::new(status, "application/json; charset=utf-8", body.clone()));
            let answer = stage.client.post(&message).await;
            assert_eq!((answer.status.as_u16(), answer.header("content-type")), (status, "application/json"));
            assert_eq!(answer.text().await, body);
        }
    }
}

#[tokio::test]
async fn a_stream_comes_back_byte_for_byte() {
    let stage = Stage::start(&["echo"]).await;
    let message = stage.client.message("tools/call", json!({ "name": "echo" }));
    let id = &message["id"];
    let body = format!(
        ": a comment\nretry: 1500\n\nid: e-1\nevent: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"vendor/x\",\ndata: \"params\":{{\"n\":1.0}}}}\n\n\
         event: vendor\nid: e-2\ndata:x\n\nid: e-3\r\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"n\":1.50}}}}\r\n\r\n"
    );
    stage.backend.reply("tools/call", Reply::new(200, "text/event-stream", body.clone()));
    let answer = stage.client.post(&message).await;
    assert!(answer.is_events());
    assert_eq!(
        (answer.header("x-accel-buffering"), answer.header("cache-control")),
        ("no", "no-cache, no-transform")
    );
    assert_eq!(answer.text().await, body);
}

#[tokio::test]
async fn a_client_that_takes_only_json_gets_the_answer_out_of_a_stream() {
    let stage = Stage::of(LegacyBackend::start("a").tool("progress").with_events().await).await;
    let params = json!({ "name": "progress", "_meta": { "progressToken": 1 } });
    let message = stage.client.message("tools/call", params);
    let mut headers = stage.client.headers_for(&message);
    headers.insert("accept", HeaderValue::from_static("application/json"));
    let answer = stage.client.post_bytes(headers, message.to_string()).await;
    assert_eq!(answer.header("content-type"), "application/json");
    let reply = answer.json().await;
    assert_eq!(reply["id"], message["id"]);
    assert_eq!(reply["result"]["structuredContent"]["tool"], "progress");
}

#[tokio::test]
async fn events_come_as_they_happen() {
    let stage = Stage::start(&["progress"]).await;
    let params = json!({ "name": "progress", "arguments": { "steps": 2, "pause_ms": 60_000 },
        "_meta": { "progressToken": "p" } });
    let mut answer = stage.client.request("tools/call", params).await;
    assert_eq!(answer.message().await["params"], json!({ "progressToken": "p", "progress": 1, "total": 2 }));
}

#[tokio::test]
async fn a_question_of_the_backend_keeps_its_id() {
    let stage = Stage::start(&["ask"]).await;
    let mut client = stage.client.clone().askable();
    client.session = None;
    client.initialize().await;
    let mut stream = client.try_call("ask", json!({})).await;
    let question = stream.message().await;
    assert_eq!((&question["method"], &question["id"]), (&json!("elicitation/create"), &json!(1)));
    assert_eq!(client.answer(&question["id"], json!({ "action": "decline" })).await.status, 202);
    let reply = stream.message().await;
    assert_eq!(reply["result"]["structuredContent"]["answer"]["action"], "decline");
}

#[tokio::test]
async fn large_bodies_pass_both_ways() {
    let stage = Stage::start(&["big", "echo"]).await;
    let big = stage.client.call("big", json!({ "bytes": 30_000_000 })).await;
    assert_eq!(big["content"][0]["text"].as_str().unwrap().len(), 30_000_000);
    let text = "ü\"\\".repeat(1_000_000);
    stage.client.call("echo", json!({ "text": text })).await;
    assert_eq!(stage.backend.ran().pop().unwrap().arguments["text"], text);
}

#[tokio::test]
async fn two_requests_of_one_id_never_cross() {
    let stage = Stage::start(&["slow"]).await;
    let call = |seconds: f64| {
        let params = json!({ "name": "slow", "arguments": { "seconds": seconds } });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
    };
    let (slow, quick) = (call(0.5), call(0.0));
    let (slow, quick) = tokio::join!(stage.client.post(&slow), stage.client.post(&quick));
    for (answer, seconds) in [(slow, 0.5), (quick, 0.0)] {
        let reply = answer.reply().await;
        assert_eq!(reply["id"], 1);
        assert_eq!(reply["result"]["structuredContent"]["arguments"]["seconds"], seconds);
    }
    let ids: Vec<Value> = stage.backend.ran().into_iter().map(|run| run.id).collect();
    assert_ne!(ids[0], ids[1], "the backend can tell them apart");
}

#[tokio::test]
async fn a_cancellation_means_the_clients_own_request() {
    let stage = Stage::start(&["slow"]).await;
    let params = json!({ "name": "slow", "arguments": { "seconds": 600 } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let mut calls = Vec::new();
    for running in 1..=2 {
        let (client, call) = (stage.client.clone(), call.clone());
        calls.push(tokio::spawn(async move { client.post(&call).await.try_bytes().await }));
        stage.backend.until("it runs", |a| a.runs("slow") == running).await;
    }
    for (stopped, call) in calls.into_iter().enumerate() {
        let told = stage.client.notify("notifications/cancelled", json!({ "requestId": 1 })).await;
        assert_eq!(told.status, 202);
        stage.backend.until("one is stopped", |a| a.cancelled().len() == stopped + 1).await;
        call.await.unwrap();
    }
    let ran: Vec<Value> = stage.backend.ran().into_iter().map(|run| run.id).collect();
    assert_eq!(stage.backend.cancelled(), ran);
}
