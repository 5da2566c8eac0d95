//! Resources that no backend lists: found by a route that was set, by results that named them, else by asking around.

use serde_json::{Value, json};
use testkit::backend::{Backend, Era};
use testkit::legacy::Legacy;
use testkit::modern::Modern;
use testkit::script::Reply;
use testkit::steps::Steps;
use testkit::{Client, Tool};

use crate::app::App;
use crate::compose::row;

/// Two backends of one era. What is hidden is the first's; the second is mapped first, and so asked first.
struct Stage<E> {
    app: App,
    first: Backend<E>,
    second: Backend<E>,
}

/// A tool that links to the resource it is told.
fn link() -> Tool {
    Tool::new("link").plays(Steps::none(|arguments, _| {
        let link = json!({ "type": "resource_link", "uri": arguments["uri"], "name": "there" });
        json!({ "content": [{ "type": "text", "text": "not \"uri\":\"hidden://no\"" }, link] })
    }))
}

/// A tool that answers a large resource.
fn embed() -> Tool {
    Tool::new("embed").plays(Steps::none(|arguments, _| {
        let resource = json!({ "text": "x".repeat(300_000), "uri": arguments["uri"] });
        json!({ "content": [{ "type": "resource", "resource": resource }] })
    }))
}

impl<E: Era> Stage<E> {
    async fn start(uses_events: bool) -> Self {
        let backend = |name: &str| {
            let prompt = Steps::none(|arguments, _| {
                let resource = json!({ "uri": arguments["uri"], "text": "here" });
                json!({ "messages": [{ "role": "user", "content": { "type": "resource", "resource": resource } }] })
            });
            let setup = Backend::<E>::start(name).tools([link(), embed()]).prompt(&format!("show-{name}"));
            let setup = setup.resource(&format!("file:///{name}"));
            setup.with(|script| {
                script.prompt_steps.insert(format!("show-{name}"), prompt);
                script.uses_events = uses_events;
            })
        };
        let (first, second) = (backend("first").await, backend("second").await);
        let app = App::start().await;
        app.serve("/first", &first.url()).await;
        app.serve("/second", &second.url()).await;
        let tools = ["link", "embed"].map(|tool| {
            let named = |server: &str| row(tool, &format!("/{server}"), &format!("{server}_{tool}"));
            [named("second"), named("first")]
        });
        app.compose("v", &tools.concat()).await;
        first.set(|script| script.templates.push(json!({ "uriTemplate": "hidden://{x}", "name": "h" })));
        Self { app, first, second }
    }

    /// Reads a resource and returns how often each was asked.
    async fn read(&self, client: &Client, uri: &str) -> (usize, usize) {
        let asked = || (self.first.asked("resources/read").len(), self.second.asked("resources/read").len());
        let before = asked();
        let result = client.request("resources/read", json!({ "uri": uri })).await.result().await;
        assert!(result.to_string().contains(&format!("first {uri}")), "{result}");
        let after = asked();
        (after.0 - before.0, after.1 - before.1)
    }
}

/// Has each kind of result name a resource, which is then asked for only where it came from.
async fn names_and_reads<E: Era>(stage: &Stage<E>, client: &Client) {
    assert_eq!(stage.read(client, "hidden://never-named").await, (1, 1));
    for tool in ["link", "embed"] {
        let uri = format!("hidden://{tool}/{}", client.url.len());
        client.call(&format!("first_{tool}"), json!({ "uri": uri })).await;
        assert_eq!(stage.read(client, &uri).await, (1, 0), "{tool}");
    }
    let arguments = json!({ "uri": "hidden://of-a-prompt" });
    let params = json!({ "name": "show-first", "arguments": arguments });
    client.request("prompts/get", params).await.result().await;
    assert_eq!(stage.read(client, "hidden://of-a-prompt").await, (1, 0));
    // The one that named it last need not be the one that has it.
    client.call("second_link", json!({ "uri": "hidden://of-a-prompt" })).await;
    assert_eq!(stage.read(client, "hidden://of-a-prompt").await, (1, 1));
    assert_eq!(stage.read(client, "hidden://of-a-prompt").await, (1, 0), "what was read was named, too");
    assert_eq!(stage.read(client, "hidden://no").await, (1, 1), "text names nothing");
}

#[tokio::test]
async fn results_of_legacy_backends_tell_where_a_resource_is() {
    for uses_events in [false, true] {
        let stage = Stage::<Legacy>::start(uses_events).await;
        let caller = stage.app.reader().await;
        names_and_reads(&stage, &stage.app.greeted("/virtual/v", &caller).await).await;
        names_and_reads(&stage, &stage.app.modern("/virtual/v", &caller)).await;
    }
}

#[tokio::test]
async fn results_of_modern_backends_tell_where_a_resource_is() {
    for uses_events in [false, true] {
        let stage = Stage::<Modern>::start(uses_events).await;
        let caller = stage.app.reader().await;
        names_and_reads(&stage, &stage.app.greeted("/virtual/v", &caller).await).await;
        names_and_reads(&stage, &stage.app.modern("/virtual/v", &caller)).await;
    }
}

#[tokio::test]
async fn what_one_client_was_told_is_nothing_to_another() {
    let stage = Stage::<Modern>::start(false).await;
    let [ann, bob] = [stage.app.holder("ann", &[]).await, stage.app.holder("bob", &[]).await];
    let modern = stage.app.modern("/virtual/v", &ann);
    modern.call("first_link", json!({ "uri": "hidden://1" })).await;
    let again = stage.app.modern("/virtual/v", &ann);
    assert_eq!(stage.read(&again, "hidden://1").await, (1, 0), "the same caller");
    assert_eq!(stage.read(&stage.app.modern("/virtual/v", &bob), "hidden://1").await, (1, 1));
    let session = stage.app.greeted("/virtual/v", &ann).await;
    assert_eq!(stage.read(&session, "hidden://1").await, (1, 1), "a session remembers for itself");
    assert_eq!(stage.read(&session, "hidden://1").await, (1, 0));
}

#[tokio::test]
async fn a_subscription_goes_where_the_resource_was_named() {
    let stage = Stage::<Legacy>::start(false).await;
    let client = stage.app.visit("/virtual/v").await;
    client.call("first_link", json!({ "uri": "hidden://1" })).await;
    client.request("resources/subscribe", json!({ "uri": "hidden://1" })).await.result().await;
    let subscribed = |one: &Backend<Legacy>| one.asked("resources/subscribe").len();
    assert_eq!((subscribed(&stage.first), subscribed(&stage.second)), (1, 0));
    // A change of the virtual server moves it nowhere.
    let mut stream = client.get().await;
    stage.app.recompose("v", json!({ "description": "another" })).await;
    stage
        .app
        .recompose("v", json!({ "tool_mappings": [row("link", "/second", "s"), row("link", "/first", "f")] }))
        .await;
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
    stage.first.resource_updated("hidden://1");
    assert_eq!(stream.message().await["params"]["uri"], "hidden://1");
    assert_eq!((subscribed(&stage.first), subscribed(&stage.second)), (1, 0));
}

#[tokio::test]
async fn a_route_says_whose_a_resource_is() {
    let stage = Stage::<Legacy>::start(false).await;
    let client = stage.app.visit("/virtual/v").await;
    let route = |prefix: &str, server: &str| json!({ "prefix": prefix, "backend_server_path": server });
    let shown = stage.app.recompose("v", json!({ "resource_routes": [route("hidden://", "/first")] })).await;
    assert_eq!(shown["resource_routes"], json!([route("hidden://", "/first")]));
    assert_eq!(stage.read(&client, "hidden://1").await, (1, 0));
    client.request("resources/subscribe", json!({ "uri": "hidden://1" })).await.result().await;
    assert_eq!(stage.first.asked("resources/subscribe").len(), 1);
    client.call("first_link", json!({ "uri": "hidden://x/1" })).await;
    let routes = json!([route("hidden:", "/first"), route("hidden://x/", "/second")]);
    stage.app.recompose("v", json!({ "resource_routes": routes })).await;
    assert_eq!(stage.read(&client, "hidden://1").await, (1, 0));
    let error = client.request("resources/read", json!({ "uri": "hidden://x/1" })).await.error().await;
    assert_eq!(
        error["code"], -32002,
        "the longer prefix counts, and what is set is not asked around: {error}"
    );
    let wrong = json!({ "resource_routes": [route("hidden", "/first"), route("a:", "/third"), route("a:", "/first")] });
    let refused = stage.app.admin().send("PATCH /api/virtual-servers/v", wrong).await.expect(422);
    let fields: Vec<_> =
        refused["errors"].as_array().unwrap().iter().map(|one| one["field"].clone()).collect();
    let expected =
        ["resource_routes[0].prefix", "resource_routes[1].backend_server_path", "resource_routes[2].prefix"];
    assert_eq!(fields, expected, "{refused}");
}

#[tokio::test]
async fn a_backend_with_an_error_of_its_own_keeps_nobody_from_the_resource() {
    let stage = Stage::<Modern>::start(false).await;
    let client = stage.app.modern("/virtual/v", &stage.app.reader().await);
    let error =
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": 0, "message": "Unknown resource" } });
    stage.second.reply("resources/read", Reply::json(&error));
    assert_eq!(stage.read(&client, "hidden://1").await, (1, 1));
    let read = |uri: &'static str| client.request("resources/read", json!({ "uri": uri }));
    let answer: Value = read("nowhere://1").await.error().await;
    assert_eq!(answer["message"], "Unknown resource", "where nobody has it, what was said is passed on");
}
