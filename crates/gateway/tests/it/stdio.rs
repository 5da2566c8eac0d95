//! Backends that are commands: real processes behind both kinds of endpoints, and what is left of them.

mod everything;
mod lives;

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use testkit::Client;
use testkit::stdio::{MODE, be_backend_if_asked};

use crate::app::{App, PATIENCE};
use crate::compose::row;

/// This program is the backend, too.
#[test]
fn is_a_backend_where_asked() {
    be_backend_if_asked();
}

/// Configures a command for each way a backend can be, under the name of the way.
fn configuration(modes: &[&str], more: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let commands = modes.iter().map(|mode| {
        format!(
            "[stdio.commands.{mode}]\ncommand = {program:?}\n\
             args = [\"--exact\", \"stdio::is_a_backend_where_asked\", \"--nocapture\"]\nenv = {{ {MODE} = \"{mode}\" }}\n"
        )
    });
    format!("{more}\n[stdio]\nstop_grace = \"1s\"\n{}", commands.collect::<String>())
}

/// Starts a gateway with a server `/<mode>` for each.
async fn start(modes: &[&str]) -> App {
    let app = App::configured(&configuration(modes, "")).await;
    for mode in modes {
        app.serve(&format!("/{mode}"), &format!("stdio:{mode}")).await;
    }
    app
}

async fn modern(app: &App, path: &str) -> Client {
    app.modern(path, &app.reader().await).askable()
}

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}")).to_owned()
}

/// The id of the process that answers a client.
async fn process(client: &Client, tool: &str) -> String {
    text(&client.call(tool, json!({})).await)
}

/// Says whether a process is there at all, be it only to be reaped.
fn is_there(process: &str) -> bool {
    Path::new("/proc").join(process).exists()
}

/// Says whether a process works.
fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process).join("stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|state| !state.is_empty() && !state.starts_with('Z'))
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not in time");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn clients_of_both_eras_speak_with_commands_of_both_eras() {
    let app = start(&["legacy", "modern"]).await;
    let rows = [
        row("echo", "/legacy", "old_echo"),
        row("echo", "/modern", "new_echo"),
        row("count", "/legacy", "old_count"),
        row("count", "/modern", "new_count"),
    ];
    app.compose("both", &rows).await;
    for (path, prefix) in
        [("/legacy", ""), ("/modern", ""), ("/virtual/both", "old_"), ("/virtual/both", "new_")]
    {
        for client in [app.visit_askable(path).await, modern(&app, path).await] {
            let way = format!("{} at {path} {prefix}", client.revision);
            let echo = client.call(&format!("{prefix}echo"), json!({ "text": "a\nb \u{1f600}" })).await;
            assert_eq!(text(&echo), "a\nb \u{1f600}", "{way}");
            let params = json!({ "name": format!("{prefix}count"), "arguments": {}, "_meta": { "progressToken": "mine" } });
            let messages = client.request("tools/call", params).await.messages().await;
            let steps: Vec<_> =
                messages.iter().filter(|one| one["method"] == "notifications/progress").collect();
            assert_eq!(steps.len(), 3, "{way}: {messages:?}");
            assert!(
                steps.iter().all(|step| step["params"]["progressToken"] == "mine"),
                "{way}: {messages:?}"
            );
            assert_eq!(text(&messages.last().unwrap()["result"]), "counted", "{way}");
        }
    }
}

#[tokio::test]
async fn a_command_may_ask_the_client() {
    let app = start(&["legacy"]).await;
    app.compose("asks", &[row("ask", "/legacy", "")]).await;
    for path in ["/legacy", "/virtual/asks"] {
        let client = app.visit_askable(path).await;
        let mut asked = client.try_call("ask", json!({})).await;
        let question = asked.message().await;
        assert_eq!(question["method"], "elicitation/create", "{path}");
        client.answer(&question["id"], json!({ "action": "decline" })).await;
        assert_eq!(text(&asked.message().await["result"]), r#"{"action":"decline"}"#, "{path}");

        let client = modern(&app, path).await;
        let first = client.call("ask", json!({})).await;
        assert_eq!(first["resultType"], "input_required", "{path}: {first}");
        let (key, _) = first["inputRequests"].as_object().unwrap().iter().next().unwrap();
        let params = json!({ "name": "ask", "arguments": {}, "requestState": first["requestState"],
            "inputResponses": { key: { "action": "cancel" } } });
        let last = client.request("tools/call", params).await.result().await;
        assert_eq!(text(&last), r#"{"action":"cancel"}"#, "{path}");
    }
}

#[tokio::test]
async fn news_reach_the_stream_of_a_client() {
    let app = start(&["legacy", "modern"]).await;
    let client = app.visit_askable("/legacy").await;
    let mut stream = client.get().await;
    client.call("change", json!({})).await;
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");

    let client = modern(&app, "/modern").await;
    let mut listening = client
        .request("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }))
        .await;
    let begun = listening.message().await;
    assert_eq!(begun["method"], "notifications/subscriptions/acknowledged");
    client.call("change", json!({})).await;
    let news = listening.message().await;
    assert_eq!(news["method"], "notifications/tools/list_changed");
    assert_eq!(news["params"]["_meta"], begun["params"]["_meta"]);
}

#[tokio::test]
async fn callers_share_a_modern_command_and_no_legacy_one() {
    let app = start(&["legacy", "modern"]).await;
    let (one, two) = (app.visit_askable("/legacy").await, app.visit_askable("/legacy").await);
    assert_ne!(process(&one, "process").await, process(&two, "process").await);
    let other = app.holder("other", &[]).await;
    let other = app.modern("/legacy", &other);
    let first = process(&modern(&app, "/legacy").await, "process").await;
    assert_eq!(process(&modern(&app, "/legacy").await, "process").await, first, "one caller, one session");
    assert_ne!(process(&other, "process").await, first);
    let shared = process(&modern(&app, "/modern").await, "process").await;
    assert_eq!(process(&other.at(&format!("{}/modern", app.url)), "process").await, shared);
}

#[tokio::test]
async fn commands_are_the_operators() {
    let app = start(&["legacy"]).await;
    for body in [
        json!({ "path": "/evil", "proxy_pass_url": "stdio:none-such" }),
        json!({ "path": "/evil", "proxy_pass_url": "stdio:/bin/sh" }),
        json!({ "path": "/evil", "proxy_pass_url": "file:///bin/sh" }),
        json!({ "path": "/evil", "command": "/bin/sh", "args": ["-c", "id"], "supported_transports": ["stdio"] }),
        json!({ "path": "/evil", "proxy_pass_url": "stdio:legacy", "args": ["-c", "id"] }),
        json!({ "path": "/evil", "proxy_pass_url": "stdio:legacy", "env": { "LD_PRELOAD": "x" } }),
    ] {
        app.admin().send("POST /api/servers/register", body).await.expect(422);
    }
    let body = json!({ "path": "/mine", "proxy_pass_url": "stdio:legacy" });
    app.reader().await.send("POST /api/servers/register", body).await.expect(403);
}

#[tokio::test]
async fn a_command_sees_little_of_the_gateways_environment() {
    let app = start(&["legacy"]).await;
    let client = app.visit_askable("/legacy").await;
    let seen: Value = serde_json::from_str(&text(&client.call("environment", json!({})).await)).unwrap();
    let known = [
        MODE, "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
        "USER",
    ];
    for name in seen.as_object().unwrap().keys() {
        assert!(known.contains(&name.as_str()), "{name} is none of its business");
    }
    assert!(std::env::vars().any(|(name, _)| !known.contains(&name.as_str())), "there was something to hide");
}
