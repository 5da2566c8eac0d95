//! How processes end: with their session, their version, the gateway, or on their own.

use std::process::Command;
use std::time::Duration;

use super::*;

fn kill(process: &str) {
    assert!(Command::new("kill").args(["-9", process]).status().unwrap().success());
}

#[tokio::test]
async fn a_command_that_dies_costs_its_calls_and_its_session() {
    let app = start(&["legacy", "modern"]).await;
    let client = app.visit_askable("/legacy").await;
    let victim = process(&client, "process").await;
    let hanging = tokio::spawn({
        let client = client.clone();
        async move { client.try_call("hang", json!({})).await.error().await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    kill(&victim);
    let error = hanging.await.unwrap();
    assert_eq!(error["message"], "Backend server unreachable: /legacy", "{error}");
    assert!(error["data"]["reason"].as_str().unwrap().contains("signal: 9"), "{error}");
    assert_eq!(client.try_call("echo", json!({})).await.status, 404, "the session is gone");
    let next = app.visit_askable("/legacy").await;
    assert_ne!(process(&next, "process").await, victim);
    until("it is reaped", || !is_there(&victim)).await;

    // For the others the next request has a process again.
    for path in ["/legacy", "/modern"] {
        let client = modern(&app, path).await;
        let victim = process(&client, "process").await;
        kill(&victim);
        until("it is reaped", || !is_there(&victim)).await;
        assert_ne!(process(&client, "process").await, victim, "{path}");
    }
    app.compose("tools", &[row("process", "/legacy", "")]).await;
    let client = app.visit_askable("/virtual/tools").await;
    let victim = process(&client, "process").await;
    kill(&victim);
    until("it is reaped", || !is_there(&victim)).await;
    assert_ne!(process(&client, "process").await, victim);
}

/// A number of `/metrics`.
async fn metric(app: &App, name: &str) -> u64 {
    let metrics = app.anonymous().get("/metrics").await.text;
    let line =
        metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{metrics}"));
    line.trim().parse().unwrap()
}

#[tokio::test]
async fn processes_and_restarts_are_counted() {
    let app = start(&["legacy", "modern"]).await;
    let running = |mode| format!("switchyard_stdio_processes{{command=\"{mode}\"}}");
    let restarts = |mode| format!("switchyard_stdio_restarts_total{{command=\"{mode}\"}}");
    let (first, second) = (app.visit_askable("/legacy").await, app.visit_askable("/legacy").await);
    let victim = process(&first, "process").await;
    process(&second, "process").await;
    let before = metric(&app, &running("legacy")).await;
    assert!(before >= 2, "{before}");
    kill(&victim);
    until("it is reaped", || !is_there(&victim)).await;
    second.delete().await;
    let fewer = async || {
        while metric(&app, &running("legacy")).await > before - 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::app::PATIENCE, fewer()).await.expect("neither is counted any more");
    assert_eq!(metric(&app, &restarts("legacy")).await, 0, "none was started since");
    for _ in 0..2 {
        process(&app.visit_askable("/legacy").await, "process").await;
    }
    assert_eq!(metric(&app, &restarts("legacy")).await, 1, "one was lost, the other ended as it should");
    assert_eq!(metric(&app, &restarts("modern")).await, 0);
}

#[tokio::test]
async fn a_command_ends_with_its_session_and_all_it_started_too() {
    let app = start(&["legacy", "stubborn"]).await;
    app.compose("tools", &[row("process", "/legacy", ""), row("offspring", "/legacy", "")]).await;
    for path in ["/legacy", "/virtual/tools", "/stubborn"] {
        let client = app.visit_askable(path).await;
        let (parent, child) = (process(&client, "process").await, process(&client, "offspring").await);
        assert!(runs(&parent) && runs(&child), "{path}");
        assert!(client.delete().await.status.is_success(), "{path}");
        until("the child ends", || !runs(&child)).await;
        until("the parent is reaped", || !is_there(&parent)).await;
    }
}

#[tokio::test]
async fn a_command_ends_with_its_version() {
    let app = start(&["legacy", "modern"]).await;
    for path in ["/legacy", "/modern"] {
        let process = process(&modern(&app, path).await, "process").await;
        assert!(runs(&process));
        app.admin().send(&format!("DELETE /api/servers{path}"), Value::Null).await.expect(200);
        until("it is reaped", || !is_there(&process)).await;
    }
}

/// Starts processes of each kind, one of them in the middle of a call.
async fn crowd(app: &App) -> Vec<String> {
    let (old, stubborn) = (app.visit_askable("/legacy").await, app.visit_askable("/stubborn").await);
    let all = vec![
        process(&old, "process").await,
        process(&old, "offspring").await,
        process(&stubborn, "process").await,
        process(&modern(app, "/modern").await, "process").await,
    ];
    tokio::spawn(async move { old.try_call("hang", json!({})).await });
    all
}

#[tokio::test]
async fn nothing_is_left_when_the_gateway_stops() {
    let modes = ["legacy", "modern", "stubborn"];
    let mut app = App::configured(&configuration(&modes, "[server]\nshutdown_grace = \"1s\"")).await;
    for mode in modes {
        app.serve(&format!("/{mode}"), &format!("stdio:{mode}")).await;
    }
    let crowd = crowd(&app).await;
    app.terminate();
    assert!(app.ended().await.success());
    until("all end", || !crowd.iter().any(|process| runs(process))).await;
}

#[tokio::test]
async fn nothing_is_left_when_the_gateway_is_told_twice() {
    let mut app = start(&["legacy", "modern", "stubborn"]).await;
    let crowd = crowd(&app).await;
    app.terminate();
    until("it stops", || app.log().contains("stopping")).await;
    app.terminate();
    app.ended().await;
    until("all end", || !crowd.iter().any(|process| runs(process))).await;
}

/// Nothing can be ended by a gateway that is killed; those who heed the end of their input end.
#[tokio::test]
async fn commands_notice_that_the_gateway_was_killed() {
    let mut app = start(&["legacy", "modern"]).await;
    let old = process(&app.visit_askable("/legacy").await, "process").await;
    let new = process(&modern(&app, "/modern").await, "process").await;
    app.signal("KILL");
    until("both end", || !runs(&old) && !runs(&new)).await;
    app.crash().await;
    assert!(runs(&process(&modern(&app, "/modern").await, "process").await));
}

#[tokio::test]
async fn idle_commands_end() {
    let configuration =
        configuration(&["legacy", "modern"], "").replace("[stdio]", "[stdio]\nidle_timeout = \"1s\"");
    let app = App::configured(&configuration).await;
    for mode in ["legacy", "modern"] {
        app.serve(&format!("/{mode}"), &format!("stdio:{mode}")).await;
    }
    let client = app.visit_askable("/legacy").await;
    let old = process(&client, "process").await;
    let new = process(&modern(&app, "/modern").await, "process").await;
    until("both end", || !is_there(&old) && !is_there(&new)).await;
    assert_eq!(client.try_call("echo", json!({})).await.status, 404);
}

#[tokio::test]
async fn there_are_only_so_many() {
    let configuration = configuration(&["legacy"], "")
        .replace("[stdio]", "[stdio]\nmax_processes = 2\nstart_timeout = \"3s\"");
    let app = App::configured(&configuration).await;
    app.serve("/legacy", "stdio:legacy").await;
    let (one, _two) = (app.visit_askable("/legacy").await, app.visit_askable("/legacy").await);
    let third = app.client("/legacy", &app.reader().await);
    let error = third.try_initialize().await.error().await;
    assert!(error["data"]["reason"].as_str().unwrap().contains("too many commands"), "{error}");
    assert!(one.delete().await.status.is_success());
    app.visit_askable("/legacy").await;
}

#[tokio::test]
async fn hostile_commands_cost_little() {
    let app = start(&["legacy"]).await;
    let before = app.resident_mib();
    let client = app.visit_askable("/legacy").await;
    assert_eq!(text(&client.call("garbage", json!({})).await), "after the garbage");
    assert_eq!(text(&client.call("large", json!({})).await).len(), 3 << 20);
    let error = client.try_call("endless", json!({})).await.error().await;
    assert!(error["data"]["reason"].as_str().unwrap().contains("16 MiB"), "{error}");
    // A flood that nobody reads: the client takes one message of its stream and no more.
    let client = app.visit_askable("/legacy").await;
    let params = json!({ "name": "flood", "arguments": {}, "_meta": { "progressToken": 1 } });
    let mut flood = client.request("tools/call", params).await;
    flood.message().await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        app.admin().send("GET /api/servers", Value::Null).await.expect(200);
    }
    let grown = app.resident_mib().saturating_sub(before);
    assert!(grown < 150, "grown by {grown} MiB");
    drop(flood);
    client.delete().await;
}

#[tokio::test]
async fn faults_of_a_command_are_told() {
    let toml = "[stdio.commands.missing]\ncommand = \"/nowhere/at/all\"\n[stdio.commands.ends]\ncommand = \"false\"\n";
    let app = App::configured(toml).await;
    for (name, reason) in [("missing", "cannot be started"), ("ends", "exit status: 1")] {
        let body = json!({ "path": format!("/{name}"), "proxy_pass_url": format!("stdio:{name}"), "is_enabled": true });
        app.admin().send("POST /api/servers/register", body).await.expect(201);
        let refresh = format!("POST /api/servers/{name}/refresh");
        let told = app.admin().send(&refresh, json!({})).await;
        assert!(told.text.contains(reason), "{}", told.text);
        let client = app.client(&format!("/{name}"), &app.reader().await);
        let error = client.try_initialize().await.error().await;
        assert!(error["data"]["reason"].as_str().unwrap().contains(reason), "{error}");
    }
}
