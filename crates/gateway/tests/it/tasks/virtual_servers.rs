//! Tasks at virtual servers: one list of all, and only for those who may use the tools that began them.

use serde_json::{Value, json};
use testkit::stub::Stub;
use testkit::{Client, LegacyBackend, ModernBackend};

use super::{EXTENSION, RELATED, begin, begin_with, changed, get, list};
use crate::app::App;
use crate::caller::Caller;
use crate::compose::row;

fn capabilities() -> Value {
    json!({ "tools": {}, "tasks": { "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } } })
}

async fn backend(name: &str) -> LegacyBackend {
    LegacyBackend::start(name).tools(["echo", "drop"]).capabilities(capabilities()).await
}

/// `/virtual/all` with the tools of both.
async fn stage(one: &LegacyBackend, two: &LegacyBackend) -> App {
    let app = App::start().await;
    app.serve("/one", &one.url()).await;
    app.serve("/two", &two.url()).await;
    app.compose(
        "all",
        &[row("echo", "/one", "one_echo"), row("echo", "/two", "two_echo"), row("drop", "/two", "")],
    )
    .await;
    app
}

async fn visit(app: &App, caller: &Caller) -> Client {
    let mut client = app.client("/virtual/all", caller);
    let greeting = client.initialize().await;
    assert_eq!(greeting["capabilities"]["tasks"], capabilities()["tasks"]);
    client
}

#[tokio::test]
async fn tasks_of_all_backends_are_one_list() {
    let (one, two) = (backend("one").await, backend("two").await);
    let app = stage(&one, &two).await;
    let reader = app.reader().await;
    let client = visit(&app, &reader).await;
    let stranger = visit(&app, &app.holder("stranger", &[]).await).await;
    assert!(list(&client).await.is_empty(), "none is theirs");
    let first = begin(&client, "one_echo").await;
    let second = begin_with(&client, "two_echo", json!({ "task": "x" })).await;
    let third = begin(&client, "two_echo").await;
    two.set(|script| script.tasks = vec!["somebody's", "x"]);
    let all = [first.clone(), third.clone(), second.clone()];
    for backend in [&one, &two] {
        backend.forget_history();
    }
    assert_eq!(list(&client).await, all);
    assert!(list(&stranger).await.is_empty());
    assert_eq!((one.asked("tasks/list").len(), two.asked("tasks/list").len()), (2, 2));
    // A client that comes back in a new session finds its tasks.
    assert_eq!(list(&visit(&app, &reader).await).await, all);

    two.page_size(1);
    assert_eq!(list(&client).await, all, "page by page");
    let page = client.request("tasks/list", json!({})).await.result().await;
    assert_eq!(page["tasks"].as_array().unwrap().len(), 2);
    for (client, cursor) in [
        (&client, changed(&page["nextCursor"])),
        (&client, json!("page-1")),
        (&stranger, page["nextCursor"].clone()),
    ] {
        let answer = client.request("tasks/list", json!({ "cursor": cursor })).await;
        assert_eq!(answer.error().await["code"], -32602, "{cursor}");
    }
    two.page_size(100);

    // One that is down costs its own.
    one.down().await;
    assert_eq!(list(&client).await, all[1..]);
    one.up().await;
    assert_eq!(list(&client).await, all);
    let events = |uses_events| one.set(|script| script.uses_events = uses_events);
    events(true);
    assert_eq!(list(&client).await, all, "whichever way it is told");

    // One that was switched away from is asked where the session was there.
    let newer = backend("newer").await;
    app.serve_version("/one", "v2", &newer.url()).await;
    app.activate("/one", "v2").await;
    let fourth = begin(&client, "one_echo").await;
    assert_eq!(list(&client).await, [&[fourth], &all[1..], &all[..1]].concat());
}

/// Somebody with a group of scopes that are taken and given.
async fn carol(app: &App) -> Caller {
    let admin = app.admin();
    admin.send("POST /api/groups", json!({ "name": "dev", "scopes": ["write"] })).await.expect(201);
    let issued =
        admin.send("POST /api/tokens", json!({ "subject": "carol", "groups": ["dev"] })).await.expect(201);
    Caller::new(app.authority(), issued["token"].as_str())
}

async fn grant(app: &App, scopes: &[&str]) {
    app.admin().send("PATCH /api/groups/dev", json!({ "scopes": scopes })).await.expect(200);
}

#[tokio::test]
async fn a_task_needs_what_its_tool_needs_now() {
    let (one, two) = (backend("one").await, backend("two").await);
    let app = stage(&one, &two).await;
    let overrides = json!([{ "tool_alias": "drop", "required_scopes": ["write"] }]);
    app.recompose("all", json!({ "tool_scope_overrides": overrides })).await;
    let client = visit(&app, &carol(&app).await).await;
    let free = begin(&client, "two_echo").await;
    let guarded = begin_with(&client, "drop", json!({ "task": "x" })).await;
    two.set(|script| script.tasks = vec!["x"]);
    assert_eq!(list(&client).await, [free.clone(), guarded.clone()]);

    grant(&app, &[]).await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        client.request(method, json!({ "taskId": free })).await.result().await;
        let answer = client.request(method, json!({ "taskId": guarded })).await;
        assert_eq!(answer.status, 403, "{method}");
        assert!(answer.header("www-authenticate").contains("scope=\"write\""), "{method}");
        assert_eq!(answer.error().await["message"], "Missing required scope: write", "{method}");
        assert_eq!(two.asked(method).len(), 1, "{method}");
    }
    assert_eq!(list(&client).await, std::slice::from_ref(&free), "lists leave out what may not be used");
    grant(&app, &["write"]).await;
    assert_eq!(get(&client, &guarded).await.result().await["status"], "working");

    // Of a tool that is not mapped any more, it is not known what it needed.
    app.recompose("all", json!({ "tool_mappings": [row("echo", "/two", "other"), row("drop", "/two", "")] }))
        .await;
    for id in [&free, &guarded] {
        assert_eq!(get(&client, id).await.result().await["status"], "working");
    }
    grant(&app, &[]).await;
    for id in [&free, &guarded] {
        assert_eq!(get(&client, id).await.status, 403);
    }
    grant(&app, &["write"]).await;
    let elsewhere = json!({ "tool_mappings": [row("echo", "/one", "")], "tool_scope_overrides": [] });
    app.recompose("all", elsewhere).await;
    assert_eq!(
        get(&client, &free).await.error().await["code"],
        -32602,
        "its server is not behind it any more"
    );
}

#[tokio::test]
async fn a_task_of_the_newer_design_needs_what_its_tool_needs_now() {
    let capabilities = json!({ "tools": {}, "extensions": { EXTENSION: {} } });
    let backend = ModernBackend::start("new").tools(["echo", "drop"]).capabilities(capabilities).await;
    let app = App::start().await;
    app.serve("/new", &backend.url()).await;
    let overrides = json!([{ "tool_alias": "new_drop", "required_scopes": ["write"] }]);
    let rows = [row("echo", "/new", "drop"), row("drop", "/new", "new_drop")];
    app.compose_with("all", json!({ "tool_mappings": rows, "tool_scope_overrides": overrides })).await;
    let client = app.modern("/virtual/all", &carol(&app).await);
    let client = client.capabilities(json!({ "extensions": { EXTENSION: {} } }));
    let free = begin(&client, "drop").await;
    let guarded = begin_with(&client, "new_drop", json!({ "task": "x" })).await;
    grant(&app, &[]).await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        client.request(method, json!({ "taskId": free })).await.result().await;
        let answer = client.request(method, json!({ "taskId": guarded })).await;
        assert_eq!(answer.status, 403, "{method}");
        let seen = backend.asked(method);
        assert_eq!((seen.len(), seen[0].header("mcp-name")), (1, "task of new"), "{method}");
    }
    grant(&app, &["write"]).await;
    let told = get(&client, &guarded).await.result().await["taskId"].take();
    assert_eq!(told, guarded);
    // What an endpoint gave is good at no other.
    let direct = client.clone().at(&format!("{}/new", app.url));
    assert_eq!(get(&direct, &guarded).await.error().await["code"], -32602);
    let there = begin(&direct, "echo").await;
    assert_eq!(get(&client, &there).await.error().await["code"], -32602);
    assert_eq!(client.request("tasks/list", json!({})).await.error().await["code"], -32601);
}

#[tokio::test]
async fn what_a_client_says_of_a_task_reaches_its_backend() {
    let (one, two) = (backend("one").await, backend("two").await);
    let app = stage(&one, &two).await;
    let mut client = app.client("/virtual/all", &app.reader().await).askable();
    client.initialize().await;
    let id = begin(&client, "one_echo").await;
    let mut stream = client.get().await;
    one.until("its stream is open", |one| one.streams() == 1).await;
    let note = json!({ "taskId": "task of one", "status": "working" });
    one.push(&json!({ "jsonrpc": "2.0", "method": "notifications/tasks/status", "params": note }));
    assert_eq!(stream.message().await["params"]["taskId"], id, "clients compare ids");
    let meta = |id: &Value| json!({ "progressToken": 5, RELATED: { "taskId": id } });
    let own = json!("task of one");
    one.push(&json!({ "jsonrpc": "2.0", "id": 77, "method": "elicitation/create",
        "params": { "message": "Sure?", "_meta": meta(&own) } }));
    let question = stream.message().await;
    assert_eq!(question["params"]["_meta"], meta(&id));
    client
        .notify("notifications/progress", json!({ "progressToken": 5, "progress": 1, "_meta": meta(&id) }))
        .await;
    let told = |one: &Stub| one.asked("notifications/progress").len() == 1;
    one.until("the progress is told", told).await;
    assert_eq!(one.asked("notifications/progress")[0].params()["_meta"], meta(&own));
    client.answer(&question["id"], json!({ "action": "accept", "_meta": meta(&id) })).await;
    let answered = |one: &Stub| {
        one.seen()
            .iter()
            .any(|seen| seen.message["id"] == 77 && seen.message["result"]["_meta"] == meta(&own))
    };
    one.until("the answer names the task as the backend does", answered).await;
    let call = json!({ "name": "one_echo", "arguments": {}, "_meta": meta(&id) });
    client.request("tools/call", call).await.result().await;
    assert_eq!(one.asked("tools/call").last().unwrap().params()["_meta"], meta(&own));
}
