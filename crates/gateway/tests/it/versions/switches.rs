//! The switch: at once, for all, without a lost request, and back to exactly what was.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::Context7;

#[tokio::test]
async fn a_switch_holds_for_the_next_request_and_goes_back() {
    let stage = Context7::start().await;
    let before = stage.document("/versions").await;
    for label in ["v2.0.0", "v1.5.0", "v1.0.0"] {
        let switched = stage.app.activate("/context7", label).await;
        assert_eq!(switched["default_version"], label);
        assert_eq!(stage.answers(None).await, label);
        assert_eq!(stage.answers(Some("latest")).await, label);
    }
    let after = stage.document("/versions").await;
    for (old, new) in before["versions"].as_array().unwrap().iter().zip(after["versions"].as_array().unwrap())
    {
        for member in
            ["_id", "version", "proxy_pass_url", "is_active", "registered_at", "num_tools", "status"]
        {
            assert_eq!(old[member], new[member], "{member}");
        }
    }
}

#[tokio::test]
async fn a_switch_looks_at_the_new_version_at_once() {
    let stage = Context7::start().await;
    let backend = stage.backend("v2.0.0");
    backend.forget_history();
    stage.app.activate("/context7", "v2.0.0").await;
    backend.until("its tools are read", |one| !one.asked("tools/list").is_empty()).await;
}

#[tokio::test]
async fn a_switch_with_preflight_needs_an_answer() {
    let stage = Context7::start().await;
    stage.backend("v2.0.0").down().await;
    let switch = |label: &str| json!({ "version": label, "preflight": true });
    let put = "PUT /api/servers/context7/versions/default";
    stage.app.admin().send(put, switch("v2.0.0")).await.expect(409);
    assert_eq!(stage.answers(None).await, "v1.0.0");
    stage.app.admin().send(put, switch("v1.5.0")).await.expect(200);
    assert_eq!(stage.answers(None).await, "v1.5.0");
    stage.app.admin().send(put, json!({ "version": "v3.0.0" })).await.expect(404);
    stage.app.reader().await.send(put, json!({ "version": "v1.0.0" })).await.expect(403);
}

#[tokio::test]
async fn of_two_switches_at_once_one_wins_and_the_other_is_told() {
    let stage = Context7::start().await;
    let revision = stage.document("").await["revision"].to_string();
    let switch = async |label: &str| {
        let admin = stage.app.admin();
        let mut request =
            admin.request("PUT /api/servers/context7/versions/default", &json!({ "version": label }));
        request.headers_mut().insert("if-match", format!("\"{revision}\"").parse().unwrap());
        let mut connection = testkit::client::Connection::open(stage.app.authority()).await.unwrap();
        connection.send(request).await.unwrap().status.as_u16()
    };
    let (one, two) = tokio::join!(switch("v2.0.0"), switch("v1.5.0"));
    let winner = match (one, two) {
        (200, 412) => "v2.0.0",
        (412, 200) => "v1.5.0",
        both => panic!("one wins and the other is told: {both:?}"),
    };
    assert_eq!(stage.answers(None).await, winner);
}

#[tokio::test]
async fn a_hundred_switches_under_load_lose_no_request() {
    let stage = Context7::start().await;
    let is_over = Arc::new(AtomicBool::new(false));
    let caller = |client: testkit::Client| {
        let is_over = is_over.clone();
        tokio::spawn(async move {
            let mut calls = 0;
            while !is_over.load(Ordering::Relaxed) {
                let mut client = client.clone();
                client.initialize().await;
                for _ in 0..3 {
                    let answer = client.try_call("search", json!({})).await;
                    let label = answer.header("x-mcp-server-version").to_owned();
                    assert_eq!(answer.result().await["structuredContent"]["backend"], label);
                    calls += 1;
                }
            }
            calls
        })
    };
    let client = stage.client(None).await;
    let callers: Vec<_> = (0..8).map(|_| caller(client.clone())).collect();
    for round in 0..100 {
        stage.app.activate("/context7", ["v2.0.0", "v1.0.0"][round % 2]).await;
    }
    is_over.store(true, Ordering::Relaxed);
    let mut calls = 0;
    for caller in callers {
        calls += caller.await.expect("no request failed");
    }
    assert!(calls >= 20, "there was load: {calls}");
    for label in ["v1.0.0", "v2.0.0"] {
        assert!(stage.backend(label).runs("search") > 0, "{label} had its share");
    }
}

#[tokio::test]
async fn a_call_that_runs_is_not_disturbed() {
    let stage = Context7::start().await;
    let mut client = stage.client(None).await;
    client.initialize().await;
    let calling = tokio::spawn(async move { client.call("slow", json!({ "seconds": 0.5 })).await });
    stage.backend("v1.0.0").until("it runs", |one| one.runs("slow") == 1).await;
    stage.app.activate("/context7", "v2.0.0").await;
    assert_eq!(calling.await.unwrap()["structuredContent"]["backend"], "v1.0.0");
    assert_eq!(stage.answers(None).await, "v2.0.0");
}
