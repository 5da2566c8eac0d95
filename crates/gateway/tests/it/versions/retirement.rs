//! The end of a version: said in advance, refused where it is needed, and 404 for its sessions.

use serde_json::{Value, json};

use super::Context7;

const OLD: &str = "/api/servers/context7/versions/v1.5.0";

#[tokio::test]
async fn a_deprecated_version_says_so_and_when_it_goes() {
    let stage = Context7::start().await;
    let edit = async |body: Value| stage.app.admin().send(&format!("PATCH {OLD}"), body).await.expect(200);
    let answer = async || stage.client(Some("v1.5.0")).await.try_initialize().await;
    edit(json!({ "sunset_date": "2027-06-01" })).await;
    assert_eq!(answer().await.header("sunset"), "", "not deprecated yet");
    edit(json!({ "status": "deprecated" })).await;
    let said = answer().await;
    assert_eq!(said.header("sunset"), "Tue, 01 Jun 2027 00:00:00 GMT");
    let since: u64 = said.header("deprecation").strip_prefix('@').unwrap().parse().unwrap();
    assert!(since > 1_600_000_000, "{since} are seconds since 1970");
    let mut client = stage.client(Some("v1.5.0")).await;
    client.initialize().await;
    assert_eq!(client.try_call("search", json!({})).await.header("deprecation"), format!("@{since}"));
    let other = stage.client(None).await.try_initialize().await;
    assert_eq!((other.header("deprecation"), other.header("sunset")), ("", ""));
    edit(json!({ "status": "stable" })).await;
    assert_eq!(answer().await.header("deprecation"), "");
}

#[tokio::test]
async fn the_active_version_cannot_be_removed() {
    let stage = Context7::start().await;
    let delete = "DELETE /api/servers/context7/versions/v1.0.0";
    stage.app.admin().send(delete, Value::Null).await.expect(409);
    stage.app.admin().send(&format!("{delete}?force=true"), Value::Null).await.expect(409);
    assert_eq!(stage.answers(None).await, "v1.0.0");
    stage.app.activate("/context7", "v2.0.0").await;
    stage.app.admin().send(delete, Value::Null).await.expect(200);
    assert_eq!(stage.answers(Some("v1.0.0")).await, "v2.0.0", "an unknown label by now");
    stage.app.admin().send(delete, Value::Null).await.expect(404);
}

#[tokio::test]
async fn a_pinned_version_is_removed_only_by_force() {
    let stage = Context7::start().await;
    let row =
        json!({ "tool_name": "search", "backend_server_path": "/context7", "backend_version": "v1.5.0" });
    stage.app.compose("pinning", &[row]).await;
    let delete = format!("DELETE {OLD}");
    let problem = stage.app.admin().send(&delete, Value::Null).await.expect(409);
    assert_eq!(problem["virtual_servers"], json!(["/virtual/pinning"]));
    let client = stage.app.visit("/virtual/pinning").await;
    assert_eq!(client.call("search", json!({})).await["structuredContent"]["backend"], "v1.5.0");
    let removed = stage.app.admin().send(&format!("{delete}?force=true"), Value::Null).await.expect(200);
    assert_eq!(removed["virtual_servers"], json!(["/virtual/pinning"]));
    assert_eq!(client.tools().await, [""; 0]);
    let shown = stage.app.admin().get("/api/virtual-servers/pinning/tools").await.expect(200);
    assert_eq!(shown["missing"], json!(["search"]));
}

#[tokio::test]
async fn the_sessions_of_a_removed_version_are_unknown() {
    let stage = Context7::start().await;
    let mut client = stage.client(Some("v1.5.0")).await;
    client.initialize().await;
    client.call("search", json!({})).await;
    stage.app.admin().send(&format!("DELETE {OLD}"), Value::Null).await.expect(200);
    let answer = client.try_call("search", json!({})).await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.error().await["code"], -32001);
    client.session = None;
    client.initialize().await;
    let told = client.call("search", json!({})).await;
    assert_eq!(told["structuredContent"]["backend"], "v1.0.0", "the client goes on with the active one");
}

#[tokio::test]
async fn an_edited_url_holds_for_the_next_request() {
    let stage = Context7::start().await;
    let url = stage.backend("v2.0.0").url();
    let edit = json!({ "proxy_pass_url": url });
    stage.app.admin().send(&format!("PATCH {OLD}"), edit).await.expect(200);
    assert_eq!(stage.answers(Some("v1.5.0")).await, "v2.0.0");
}

#[tokio::test]
async fn a_disabled_server_is_not_served_until_it_is_enabled() {
    let stage = Context7::start().await;
    let toggle = async |enabled: bool| {
        let body = json!({ "enabled": enabled });
        stage.app.admin().send("POST /api/servers/context7/toggle", body).await.expect(200);
    };
    let mut client = stage.client(None).await;
    client.initialize().await;
    toggle(false).await;
    assert_eq!(client.try_call("search", json!({})).await.status, 404);
    assert_eq!(stage.backend("v1.0.0").runs("search"), 0);
    toggle(true).await;
    client.call("search", json!({})).await;
}
