//! Tasks of backends: their ids are sealed, and come back to the version that made them.

use serde_json::{Value, json};
use testkit::{Client, LegacyBackend, ModernBackend};

use crate::app::App;
use crate::caller::Caller;
use crate::compose::row;

mod virtual_servers;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Asks for a task in either era; returns its id as the client sees it.
async fn begin(client: &Client, tool: &str) -> Value {
    begin_with(client, tool, json!({})).await
}

async fn begin_with(client: &Client, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments, "task": { "ttl": 60_000 } });
    let mut result = client.request("tools/call", params).await.result().await;
    let id = match result["resultType"] == "task" {
        true => result["taskId"].take(),
        false => result["task"]["taskId"].take(),
    };
    assert!(!id.as_str().unwrap().contains("task of"), "nobody reads what it holds: {id}");
    id
}

/// Lists tasks, page by page; returns their ids.
async fn list(client: &Client) -> Vec<Value> {
    let tasks = client.list("tasks/list").await;
    tasks.into_iter().map(|mut task| task["taskId"].take()).collect()
}

async fn get(client: &Client, id: &Value) -> testkit::events::Answer {
    client.request("tasks/get", json!({ "taskId": id })).await
}

fn modern(app: &App, caller: &Caller) -> Client {
    app.modern("/docs", caller).capabilities(json!({ "extensions": { EXTENSION: {} } }))
}

/// Changes a digit of an id.
fn changed(id: &Value) -> Value {
    let id = id.as_str().unwrap();
    json!(format!("{}{}", &id[1..], &id[..1]))
}

#[tokio::test]
async fn a_task_stays_with_its_version_its_server_and_its_caller() {
    let capabilities = json!({ "tools": {}, "extensions": { EXTENSION: {} } });
    let (v1, v2) = (ModernBackend::start("v1"), ModernBackend::start("v2"));
    let v1 = v1.tool("echo").capabilities(capabilities.clone()).await;
    let v2 = v2.tool("echo").capabilities(capabilities).await;
    let app = App::start().await;
    for backend in [&v1, &v2] {
        app.serve_version("/docs", &backend.name(), &backend.url()).await;
    }
    let client = modern(&app, &app.reader().await);
    let stranger = modern(&app, &app.holder("stranger", &[]).await);
    for events in [false, true] {
        app.activate("/docs", "v1").await;
        v1.set(|script| script.uses_events = events);
        let id = begin(&client, "echo").await;
        app.activate("/docs", "v2").await;
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let answer = client.request(method, json!({ "taskId": id })).await;
            assert_eq!(answer.header("x-mcp-server-version"), "v1", "{method}");
            answer.result().await;
            let seen = v1.asked(method).last().unwrap().clone();
            assert_eq!(
                (&seen.params()["taskId"], seen.header("mcp-name")),
                (&json!("task of v1"), "task of v1")
            );
        }
        let told = get(&client, &id).await.result().await["taskId"].take();
        assert_eq!(told, id, "it is told under the same id");
        for (client, id) in [(&stranger, id.clone()), (&client, changed(&id)), (&client, json!("task of v1"))]
        {
            assert_eq!(get(client, &id).await.error().await["code"], -32602, "{id}");
        }
    }
    assert!(v2.asked("tasks/get").is_empty());
    let plain = client.call("echo", json!({})).await;
    assert_eq!(plain["resultType"], "task");
}

#[tokio::test]
async fn a_task_of_a_session_is_told_sealed_wherever_it_is_named() {
    let capabilities = json!({ "tools": {}, "tasks": { "list": {}, "cancel": {} } });
    let backend = LegacyBackend::start("docs").tool("echo").capabilities(capabilities).await;
    let app = App::start().await;
    app.serve("/docs", &backend.url()).await;
    let mut client = app.client("/docs", &app.reader().await);
    client.initialize().await;
    let mut stranger = app.client("/docs", &app.holder("stranger", &[]).await);
    stranger.initialize().await;
    let id = begin(&client, "echo").await;
    backend.set(|script| script.tasks = vec!["somebody's"]);
    assert_eq!(list(&client).await, std::slice::from_ref(&id), "the one that is the caller's");
    assert!(list(&stranger).await.is_empty(), "backends take all for one");
    let result = client.request("tasks/result", json!({ "taskId": id })).await.result().await;
    let related = result["_meta"][RELATED]["taskId"].clone();
    assert_eq!(related, id, "clients compare ids");
    assert_eq!(get(&client, &id).await.result().await["status"], "working");
    assert_eq!(get(&stranger, &id).await.error().await["code"], -32602);
    assert_eq!(get(&client, &changed(&id)).await.error().await["code"], -32602);
    assert_eq!(get(&client, &json!("task of docs")).await.error().await["code"], -32602);
    // Also on the stream of the session, which is left alone otherwise.
    let mut stream = client.get().await;
    backend.until("the stream is open", |one| one.streams() == 1).await;
    let note =
        |params: Value| json!({ "jsonrpc": "2.0", "method": "notifications/tasks/status", "params": params });
    backend.push(&note(json!({ "taskId": "task of docs", "status": "working" })));
    assert_eq!(stream.message().await["params"]["taskId"], id);
    // What the client says of the task comes to the backend under the backend's own id, wherever it says so.
    let meta = |id: &Value| json!({ RELATED: { "taskId": id } });
    backend.push(&json!({ "jsonrpc": "2.0", "id": 77, "method": "elicitation/create",
        "params": { "message": "Sure?", "_meta": meta(&json!("task of docs")) } }));
    let question = stream.message().await;
    assert_eq!(question["params"]["_meta"], meta(&id));
    client.answer(&question["id"], json!({ "action": "accept", "_meta": meta(&id) })).await;
    client.notify("notifications/progress", json!({ "progressToken": 1, "_meta": meta(&id) })).await;
    client
        .request("tools/call", json!({ "name": "echo", "arguments": {}, "_meta": meta(&id) }))
        .await
        .result()
        .await;
    client.notify("notifications/cancelled", json!({ "requestId": 1, "_meta": meta(&json!("own")) })).await;
    backend.until("all has come", |one| one.asked("notifications/cancelled").len() == 1).await;
    let seen = backend.seen();
    let answer = seen.iter().find(|one| one.message["id"] == 77).unwrap();
    assert_eq!(answer.message["result"]["_meta"], meta(&json!("task of docs")));
    let last = |method: &str| backend.asked(method).last().unwrap().params()["_meta"].clone();
    assert_eq!(last("notifications/progress"), meta(&json!("task of docs")));
    assert_eq!(last("tools/call"), meta(&json!("task of docs")));
    assert_eq!(last("notifications/cancelled"), meta(&json!("own")), "clients have tasks of their own");
}

#[tokio::test]
async fn a_virtual_server_knows_by_the_id_whose_task_it_is() {
    let legacy = json!({ "tools": {}, "tasks": { "cancel": {}, "requests": { "tools": { "call": {} } } } });
    let newer = json!({ "tools": {}, "extensions": { EXTENSION: {} } });
    let one = LegacyBackend::start("one").tool("echo").capabilities(legacy.clone()).await;
    let two = LegacyBackend::start("two").tool("echo").capabilities(legacy).await;
    let new = ModernBackend::start("new").tool("echo").capabilities(newer.clone()).await;
    let other = ModernBackend::start("other").tool("echo").capabilities(newer).await;
    let app = App::start().await;
    for (path, url) in
        [("/one", one.url()), ("/two", two.url()), ("/new", new.url()), ("/other", other.url())]
    {
        app.serve(path, &url).await;
    }
    let rows: Vec<_> = ["one", "two", "new", "other"]
        .map(|name| row("echo", &format!("/{name}"), &format!("{name}_echo")))
        .into();
    app.compose("all", &rows).await;
    let (reader, stranger) = (app.reader().await, app.holder("stranger", &[]).await);
    let (mut old, mut foreign) = (app.client("/virtual/all", &reader), app.client("/virtual/all", &stranger));
    let greeting = old.initialize().await;
    let offered = json!({ "cancel": {}, "requests": { "tools": { "call": {} } } });
    assert_eq!(greeting["capabilities"]["tasks"], offered, "what the backends can do");
    assert_eq!(old.request("tasks/list", json!({})).await.error().await["code"], -32601);
    assert!(greeting["capabilities"]["extensions"].is_null(), "tasks of one era are not those of another");
    foreign.initialize().await;
    let url = format!("{}/virtual/all", app.url);
    let modern = modern(&app, &reader).at(&url);
    let told = modern.request("server/discover", json!({})).await.result().await;
    assert!(told["capabilities"]["extensions"][EXTENSION].is_object(), "{told}");
    for (client, name) in [(&old, "one"), (&old, "two"), (&modern, "new"), (&modern, "other")] {
        let id = begin(client, &format!("{name}_echo")).await;
        for method in ["tasks/get", "tasks/cancel"] {
            client.request(method, json!({ "taskId": id })).await.result().await;
        }
        assert_eq!(get(client, &changed(&id)).await.error().await["code"], -32602);
        assert_eq!(get(&foreign, &id).await.error().await["code"], -32602);
    }
    let got = |asked: Vec<testkit::record::Seen>| -> Vec<Value> {
        asked.iter().map(|seen| seen.params()["taskId"].clone()).collect()
    };
    assert_eq!(got(one.asked("tasks/get")), ["task of one"]);
    assert_eq!(got(two.asked("tasks/cancel")), ["task of two"]);
    assert_eq!(got(new.asked("tasks/get")), ["task of new"]);
    assert_eq!(got(other.asked("tasks/cancel")), ["task of other"]);
}
