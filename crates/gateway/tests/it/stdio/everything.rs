//! Servers made by others, by standard input and output, where they are installed.

use super::*;
use crate::peers::peers;

#[tokio::test]
async fn everything_is_a_command() {
    let Some(peers) = peers() else { return };
    let script = peers.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let toml = format!("[stdio.commands.everything]\ncommand = \"node\"\nargs = [{script:?}, \"stdio\"]\n");
    let app = App::configured(&toml).await;
    app.serve("/everything", "stdio:everything").await;
    app.compose(
        "some",
        &[row("get-sum", "/everything", ""), row("trigger-long-running-operation", "/everything", "")],
    )
    .await;
    for path in ["/everything", "/virtual/some"] {
        // It asks for roots a moment after the greeting, in whatever call then runs.
        let modern = modern(&app, path).await.capabilities(json!({}));
        for client in [app.visit_askable(path).await, modern] {
            let way = format!("{} at {path}", client.revision);
            let sum = client.call("get-sum", json!({ "a": 20, "b": 22 })).await;
            assert_eq!(text(&sum), "The sum of 20 and 22 is 42.", "{way}");
            let params = json!({ "name": "trigger-long-running-operation", "arguments": { "duration": 1, "steps": 4 },
                "_meta": { "progressToken": "p" } });
            let messages = client.request("tools/call", params).await.messages().await;
            let steps = messages.iter().filter(|one| one["method"] == "notifications/progress").count();
            assert_eq!(steps, 4, "{way}: {messages:?}");
        }
    }
    let client = app.visit_askable("/everything").await;
    let uri = "demo://resource/static/document/features.md";
    let read = client.request("resources/read", json!({ "uri": uri })).await.result().await;
    assert!(read.to_string().contains("Everything Server"), "{read}");
    let mut asked = client.try_call("trigger-sampling-request", json!({ "prompt": "hello" })).await;
    let question = loop {
        let message = asked.message().await;
        if message["method"] == "sampling/createMessage" {
            break message;
        }
    };
    let sample =
        json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "sampled here" } });
    client.answer(&question["id"], sample).await;
    assert!(asked.messages().await.last().unwrap().to_string().contains("sampled here"));
}

/// A server of both eras: modern clients share a process, a session has one of its own.
#[tokio::test]
async fn fastmcp_is_a_command() {
    let Some(peers) = peers() else { return };
    let python = peers.join(".venv/bin/python");
    let script = "import fastmcp_server; fastmcp_server.server.run('stdio', show_banner=False)";
    let toml = format!(
        "[stdio.commands.fastmcp]\ncommand = {python:?}\nargs = [\"-c\", {script:?}]\ncwd = {peers:?}\n"
    );
    let app = App::configured(&toml).await;
    app.serve("/fastmcp", "stdio:fastmcp").await;
    let known = app.admin().get("/api/servers/fastmcp").await.expect(200);
    assert_eq!(known["protocol_era"], "both", "{known}");
    app.compose("some", &[row("add", "/fastmcp", ""), row("count", "/fastmcp", "")]).await;
    for path in ["/fastmcp", "/virtual/some"] {
        for client in [app.visit_askable(path).await, modern(&app, path).await] {
            let way = format!("{} at {path}", client.revision);
            let sum = client.call("add", json!({ "a": 20, "b": 22 })).await;
            assert_eq!(text(&sum), "42", "{way}");
            let params =
                json!({ "name": "count", "arguments": { "to": 4 }, "_meta": { "progressToken": "p" } });
            let messages = client.request("tools/call", params).await.messages().await;
            let steps = messages.iter().filter(|one| one["method"] == "notifications/progress").count();
            assert_eq!(steps, 4, "{way}: {messages:?}");
        }
    }
}
