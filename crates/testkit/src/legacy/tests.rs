//! The legacy backend seen by the client.

use std::time::{Duration, Instant};

use super::*;
use crate::script::Reply;
use crate::{Client, LegacyBackend, Tool};

async fn greeted(backend: &LegacyBackend) -> Client {
    let mut client = Client::legacy(&backend.url()).askable();
    client.initialize().await;
    client
}

fn said(result: &Value) -> &Value {
    &result["structuredContent"]
}

#[tokio::test]
async fn an_echo_tells_what_reached_the_backend() {
    let github = LegacyBackend::start("github").tool("search").tool("create_pr").version("3.1.4").await;
    let client = greeted(&github).await;
    assert_eq!(client.tools().await, ["search", "create_pr"]);
    let result = client.call("search", json!({ "query": "bug fixes" })).await;
    assert_eq!(said(&result)["backend"], "github");
    assert_eq!(said(&result)["version"], "3.1.4");
    assert_eq!(said(&result)["tool"], "search");
    assert_eq!(said(&result)["arguments"]["query"], "bug fixes");
    assert_eq!(said(&result)["session"], github.sessions()[0]);
    assert_eq!(github.runs("search"), 1);
    assert_eq!(github.runs("create_pr"), 0);
    assert_eq!(github.calls()[0].header("mcp-protocol-version"), "2025-11-25");
    assert_eq!(client.try_call("nothing", json!({})).await.error().await["code"], -32602);
}

#[tokio::test]
async fn the_revision_is_negotiated() {
    for (speaks, asked, agreed) in [
        ("2025-11-25", "2024-11-05", "2024-11-05"),
        ("2025-11-25", "2026-07-28", "2025-11-25"),
        ("2025-03-26", "2025-11-25", "2025-03-26"),
    ] {
        let backend = LegacyBackend::start("old").speaks(speaks).await;
        let mut client = Client::legacy(&backend.url()).revision(asked);
        assert_eq!(client.initialize().await["protocolVersion"], agreed);
        assert_eq!(backend.revisions(), [agreed]);
    }
}

#[tokio::test]
async fn sessions_are_demanded_forgotten_and_ended() {
    let backend = LegacyBackend::start("github").tool("count").await;
    assert_eq!(Client::legacy(&backend.url()).request("ping", json!({})).await.status, 400);
    let client = greeted(&backend).await;
    let other = greeted(&backend).await;
    client.call("count", json!({})).await;
    assert_eq!(said(&client.call("count", json!({})).await)["count"], 2);
    assert_eq!(said(&other.call("count", json!({})).await)["count"], 1);
    assert_eq!(other.delete().await.status, 200);
    assert_eq!(other.try_call("count", json!({})).await.status, 404);
    assert_eq!(backend.sessions().len(), 1);
    backend.forget_sessions();
    assert_eq!(client.try_call("count", json!({})).await.status, 404);
    backend.refuse_sessions_with(400);
    assert_eq!(client.try_call("count", json!({})).await.status, 400);
    assert_eq!(backend.runs("count"), 3);
}

#[tokio::test]
async fn a_backend_without_sessions_needs_none() {
    let backend = LegacyBackend::start("plain").tool("search").without_sessions().without_get_stream().await;
    let mut client = Client::legacy(&backend.url());
    client.initialize().await;
    assert_eq!(client.session, None);
    assert_eq!(said(&client.call("search", json!({})).await)["session"], Value::Null);
    assert_eq!(client.get().await.status, 405);
}

#[tokio::test]
async fn lists_come_in_pages_and_cursors_may_loop() {
    let backend = LegacyBackend::start("github").tools(["a", "b", "c"]).await;
    let client = greeted(&backend).await;
    backend.page_size(2);
    assert_eq!(client.tools().await, ["a", "b", "c"]);
    assert_eq!(backend.asked("tools/list").len(), 2);
    let unknown = client.request("tools/list", json!({ "cursor": "x" })).await;
    assert_eq!(unknown.error().await["code"], -32602);
    backend.loop_cursors(true);
    let page = client.request("tools/list", json!({ "cursor": "page-0" })).await.result().await;
    assert_eq!(page["nextCursor"], "page-0");
}

#[tokio::test]
async fn prompts_resources_and_completion_answer() {
    let backend =
        LegacyBackend::start("docs").prompt("review").resource("file:///a").template("db://{t}").await;
    let client = greeted(&backend).await;
    assert_eq!(client.list("prompts/list").await[0]["name"], "review");
    assert_eq!(client.list("resources/list").await[0]["uri"], "file:///a");
    assert_eq!(client.list("resources/templates/list").await[0]["uriTemplate"], "db://{t}");
    let ask = async |method, params| client.request(method, params).await.reply().await;
    let prompt = ask("prompts/get", json!({ "name": "review", "arguments": { "topic": "x" } })).await;
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "docs review {\"topic\":\"x\"}");
    let row = ask("resources/read", json!({ "uri": "db://users" })).await;
    assert_eq!(row["result"]["contents"][0]["text"], "docs db://users");
    let missing = ask("resources/read", json!({ "uri": "file:///b" })).await;
    assert_eq!(missing["error"]["code"], -32002);
    let reference = json!({ "type": "ref/prompt", "name": "review" });
    let params = json!({ "ref": reference, "argument": { "name": "topic", "value": "te" } });
    assert_eq!(
        ask("completion/complete", params).await["result"]["completion"]["values"],
        json!(["te-docs-review"])
    );
    assert_eq!(ask("ping", json!({})).await["result"], json!({}));
    assert_eq!(ask("no/such", json!({})).await["error"]["code"], -32601);
}

#[tokio::test]
async fn progress_and_logs_travel_on_the_calls_stream() {
    let backend = LegacyBackend::start("github").tool("progress").tool("log").await;
    let client = greeted(&backend).await;
    let params =
        json!({ "name": "progress", "arguments": { "steps": 2 }, "_meta": { "progressToken": "t" } });
    let mut answer = client.request("tools/call", params).await;
    assert!(answer.is_events());
    assert_eq!(answer.message().await["params"], json!({ "progressToken": "t", "progress": 1, "total": 2 }));
    assert_eq!(answer.message().await["params"]["progress"], 2);
    assert_eq!(answer.message().await["result"]["isError"], false);
    assert_eq!(answer.event().await, None);

    assert!(!client.try_call("log", json!({ "text": "unwanted" })).await.is_events());
    client.request("logging/setLevel", json!({ "level": "info" })).await.result().await;
    let mut messages = client.try_call("log", json!({ "text": "wanted" })).await.messages().await;
    assert_eq!(messages.remove(0)["params"]["data"], "wanted");
    let none = client.request("logging/setLevel", json!({ "level": "loud" })).await;
    assert_eq!(none.error().await["code"], -32602);
}

#[tokio::test]
async fn questions_wait_for_the_posted_answer() {
    let backend = LegacyBackend::start("github").tools(["ask", "sample", "roots"]).await;
    let client = greeted(&backend).await;
    for (tool, method) in
        [("ask", "elicitation/create"), ("sample", "sampling/createMessage"), ("roots", "roots/list")]
    {
        let mut answer = client.try_call(tool, json!({})).await;
        let question = answer.message().await;
        assert_eq!(question["method"], method);
        assert_eq!(client.answer(&question["id"], json!({ "action": "accept" })).await.status, 202);
        let reply = answer.message().await;
        assert_eq!(said(&reply["result"])["answer"], json!({ "action": "accept" }));
        assert_eq!(client.answer(&question["id"], json!({})).await.status, 400, "answered twice");
    }
    let mut shy = Client::legacy(&backend.url());
    shy.initialize().await;
    assert_eq!(shy.call("ask", json!({})).await["isError"], true);
}

#[tokio::test]
async fn faults_of_a_tool_are_as_ordered() {
    let backend = LegacyBackend::start("github").tools(["crash", "break", "fail", "error", "big"]).await;
    let client = greeted(&backend).await;
    assert_eq!(client.try_call("crash", json!({})).await.status, 500);
    assert_eq!(backend.runs("crash"), 1);
    assert_eq!(client.call("fail", json!({})).await["isError"], true);
    assert_eq!(client.try_call("error", json!({ "code": -7 })).await.error().await["code"], -7);
    let big = client.call("big", json!({ "bytes": 300_000 })).await;
    assert_eq!(big["content"][0]["text"].as_str().unwrap().len(), 300_000);
    let lost = client.clone();
    assert!(tokio::spawn(async move { lost.try_call("break", json!({})).await.status }).await.is_err());
    assert_eq!(backend.runs("break"), 1);
}

#[tokio::test]
async fn a_slow_call_outlives_its_connection_and_ends_when_cancelled() {
    let backend = LegacyBackend::start("github").tool("slow").await;
    let client = greeted(&backend).await;
    let call =
        tokio::spawn(async move { client.try_call("slow", json!({ "seconds": 60 })).await.messages().await });
    backend.until("the call runs", |backend| backend.runs("slow") == 1).await;
    let client = Client::legacy(&backend.url()).in_session(&backend.sessions()[0]);
    let id = backend.ran()[0].id.clone();
    assert_eq!(client.notify("notifications/cancelled", json!({ "requestId": id })).await.status, 202);
    backend.until("the call was stopped", |backend| backend.cancelled() == [id.clone()]).await;
    assert_eq!(call.await.unwrap(), Vec::<Value>::new());
}

#[tokio::test]
async fn pushes_arrive_on_the_get_stream() {
    let backend = LegacyBackend::start("github").resource("file:///a").await;
    let client = greeted(&backend).await;
    let mut stream = client.get().await;
    assert_eq!(backend.streams(), 1);
    backend.tools_changed();
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
    backend.resource_updated("file:///a");
    client.request("resources/subscribe", json!({ "uri": "file:///a" })).await.result().await;
    backend.resource_updated("file:///a");
    backend.log("info", "unwanted");
    backend.resources_changed();
    assert_eq!(stream.message().await["params"]["uri"], "file:///a");
    assert_eq!(stream.message().await["method"], "notifications/resources/list_changed");
    drop(stream);
    backend.until("the stream is closed", |backend| backend.streams() == 0).await;
}

#[tokio::test]
async fn answers_may_be_events_with_ids_and_an_opening() {
    let backend = LegacyBackend::start("github").tool("search").with_events().await;
    backend.set(|script| (script.has_event_ids, script.opening) = (true, ": hello\nretry: 1500\n\n".into()));
    let client = greeted(&backend).await;
    let mut answer = client.try_call("search", json!({})).await;
    let opening = answer.block().await.unwrap();
    assert_eq!(
        (opening.comments.as_slice(), opening.retry.as_deref()),
        (&["hello".to_owned()][..], Some("1500"))
    );
    let event = answer.event().await.unwrap();
    assert!(event.id.is_some());
    assert_eq!(said(&event.json()["result"])["tool"], "search");
}

#[tokio::test]
async fn it_goes_down_and_comes_back_on_its_port() {
    let backend = LegacyBackend::start("github").tool("search").await;
    let client = greeted(&backend).await;
    let mut stream = client.get().await;
    let url = backend.url();
    let address = crate::client::split_url(&url).0.to_owned();
    backend.down().await;
    assert!(tokio::net::TcpStream::connect(&address).await.is_err());
    assert!(tokio::spawn(async move { stream.event().await }).await.is_err(), "the open stream broke");
    backend.up().await;
    assert_eq!(client.tools().await, ["search"], "the session is still known");
    backend.restart().await;
    assert_eq!(client.try_call("search", json!({})).await.status, 404);
    drop(backend);
    tokio::task::yield_now().await;
    let gone = async { while tokio::net::TcpStream::connect(&address).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(5), gone).await.expect("a dropped backend closes its port");
}

#[tokio::test]
async fn switches_work_while_it_runs() {
    let backend = LegacyBackend::start("github").tool("search").bearer("secret").await;
    assert_eq!(Client::legacy(&backend.url()).try_initialize().await.status, 401);
    let mut client = Client::legacy(&backend.url()).bearer("secret");
    client.initialize().await;
    backend.set_tools(["one", "two"]);
    backend
        .set_tools([Tool::new("three").description("changed").answers(|arguments| arguments["x"].clone())]);
    assert_eq!(client.list("tools/list").await[0]["description"], "changed");
    assert_eq!(client.call("three", json!({ "x": "text" })).await["content"][0]["text"], "text");
    backend.set_version("9.9.9");
    backend.delay("ping", Duration::from_millis(60));
    let start = Instant::now();
    client.request("ping", json!({})).await.result().await;
    assert!(start.elapsed() >= Duration::from_millis(60));
    backend.reply("tools/list", Reply::new(502, "text/html", "<h1>no</h1>").header("retry-after", "1"));
    let raw = client.request("tools/list", json!({})).await;
    assert_eq!((raw.status.as_u16(), raw.header("retry-after")), (502, "1"));
    assert_eq!(raw.text().await, "<h1>no</h1>");
    backend.reply_normally("tools/list");
    assert_eq!(client.tools().await, ["three"]);
    assert_eq!(client.try_initialize().await.result().await["serverInfo"]["version"], "9.9.9");
}

#[tokio::test]
async fn what_is_no_proper_request_is_refused() {
    let backend = LegacyBackend::start("github").tool("search").await;
    let client = greeted(&backend).await;
    let ping = client.message("ping", json!({}));
    let with = |name: &'static str, value: &str| {
        let mut headers = client.headers_for(&ping);
        headers.insert(name, value.parse().unwrap());
        headers
    };
    let cases = [
        (with("accept", "application/json"), ping.to_string(), 406),
        (with("content-type", "text/plain"), ping.to_string(), 415),
        (with("mcp-protocol-version", "1999-01-01"), ping.to_string(), 400),
        (with("x", "y"), "{\"cut".into(), 400),
        (with("accept", "*/*"), ping.to_string(), 200),
        (with("x", "y"), format!("[{ping},{ping}]"), 200),
    ];
    for (headers, body, expected) in cases {
        assert_eq!(client.post_bytes(headers, body.clone()).await.status, expected, "{body}");
    }
    let elsewhere = client.clone().at(&(backend.url() + "x"));
    assert_eq!(elsewhere.request("ping", json!({})).await.status, 404);
    assert_eq!(backend.seen().last().unwrap().path, "/mcpx");
}
