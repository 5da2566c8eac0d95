//! Which version answers: the table of the header.

use http::HeaderValue;
use serde_json::json;
use testkit::LegacyBackend;

use super::Context7;
use crate::app::App;

#[tokio::test]
async fn the_header_chooses() {
    let stage = Context7::start().await;
    let table = [
        (None, "v1.0.0", "enabled"),
        (Some(""), "v1.0.0", "enabled"),
        (Some("latest"), "v1.0.0", "enabled"),
        (Some("v1.0.0"), "v1.0.0", "enabled"),
        (Some("v1.5.0"), "v1.5.0", "enabled"),
        (Some("  v2.0.0\t"), "v2.0.0", "enabled"),
        (Some("V2.0.0"), "v1.0.0", "fallback"),
        (Some("v3.0.0"), "v1.0.0", "fallback"),
        (Some("2.0.0"), "v1.0.0", "fallback"),
        (Some("v2.0"), "v1.0.0", "fallback"),
    ];
    for (wanted, label, routing) in table {
        let mut client = stage.client(wanted).await;
        client.initialize().await;
        let answer = client.try_call("search", json!({})).await;
        assert_eq!(answer.header("x-mcp-version-routing"), routing, "{wanted:?}");
        assert_eq!(answer.header("x-mcp-server-version"), label, "{wanted:?}");
        assert_eq!(answer.result().await["structuredContent"]["backend"], label, "{wanted:?}");
    }
    for (_, backend) in &stage.backends {
        assert!(backend.seen().iter().all(|seen| !seen.headers.contains_key("x-mcp-server-version")));
    }
}

#[tokio::test]
async fn more_than_one_value_is_refused() {
    let stage = Context7::start().await;
    let client = stage.client(None).await;
    let message = client.message("initialize", json!({}));
    for values in [&["v1.0.0", "v1.0.0"][..], &["v1.0.0", "v2.0.0"], &["v1.0.0, v2.0.0"], &["v1.0.0,"]] {
        let mut headers = client.headers_for(&message);
        for value in values {
            headers.append("x-mcp-server-version", HeaderValue::from_static(value));
        }
        let answer = client.post_bytes(headers, message.to_string()).await;
        assert_eq!(answer.status, 400, "{values:?}");
        let reply = answer.json().await;
        assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(-32600), &message["id"]), "{values:?}");
    }
}

#[tokio::test]
async fn a_single_version_says_nothing_of_versions() {
    let backend = LegacyBackend::start("a").tool("search").await;
    let app = App::start().await;
    app.serve("/a", &backend.url()).await;
    for wanted in ["", "latest", "v1.0.0", "v9"] {
        let mut client = app.client("/a", &app.reader().await).header("x-mcp-server-version", wanted);
        client.initialize().await;
        let answer = client.try_call("search", json!({})).await;
        assert_eq!(answer.header("x-mcp-version-routing"), "", "{wanted}");
        assert_eq!(answer.header("x-mcp-server-version"), "", "{wanted}");
        answer.result().await;
    }
}

#[tokio::test]
async fn strict_versions_refuse_an_unknown_label() {
    let stage = Context7::start().await;
    let edit = json!({ "strict_versions": true });
    stage.app.admin().send("PATCH /api/servers/context7", edit).await.expect(200);
    assert_strict(&stage).await;
}

#[tokio::test]
async fn strict_versions_can_be_configured_for_all() {
    assert_strict(&Context7::configured("[versions]\nstrict = true").await).await;
}

async fn assert_strict(stage: &Context7) {
    let answer = stage.client(Some("v3.0.0")).await.try_initialize().await;
    assert_eq!(answer.status, 404);
    let error = answer.error().await;
    assert_eq!(error["code"], -31006);
    assert_eq!(error["message"], "/context7 has no version v3.0.0; it has v1.0.0, v1.5.0, v2.0.0");
    for (wanted, label) in [(None, "v1.0.0"), (Some("latest"), "v1.0.0"), (Some("v2.0.0"), "v2.0.0")] {
        assert_eq!(stage.answers(wanted).await, label);
    }
}

#[tokio::test]
async fn a_session_keeps_its_version() {
    let stage = Context7::start().await;
    let mut client = stage.client(Some("v1.5.0")).await;
    client.initialize().await;
    stage.app.activate("/context7", "v2.0.0").await;
    let with = |wanted: &str| client.clone().header("x-mcp-server-version", wanted);
    for (wanted, routing) in
        [("", "enabled"), ("latest", "enabled"), ("v1.5.0", "enabled"), ("v7", "fallback")]
    {
        let answer = with(wanted).try_call("search", json!({})).await;
        assert_eq!(answer.header("x-mcp-version-routing"), routing, "{wanted}");
        assert_eq!(answer.header("x-mcp-server-version"), "v1.5.0", "{wanted}");
        assert_eq!(answer.result().await["structuredContent"]["backend"], "v1.5.0", "{wanted}");
    }
    let answer = with("v2.0.0").try_call("search", json!({})).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.error().await["code"], -32600);
    let mut stream = with("").get().await;
    stage.backend("v1.5.0").until("its stream is open", |one| one.streams() == 1).await;
    stage.backend("v1.5.0").tools_changed();
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
    let own = stage.backend("v1.5.0").ran()[0].session.clone().unwrap();
    assert!(stage.backend("v1.5.0").sessions().contains(&own));
    assert_eq!(with("").delete().await.status, 200);
    assert!(!stage.backend("v1.5.0").sessions().contains(&own), "it ended where it was");
}

#[tokio::test]
async fn even_an_error_says_which_version_gave_it() {
    let stage = Context7::start().await;
    let mut client = stage.client(Some("v2.0.0")).await;
    client.initialize().await;
    stage.backend("v2.0.0").down().await;
    let answer = client.try_call("search", json!({})).await;
    assert_eq!(answer.header("x-mcp-server-version"), "v2.0.0");
    assert_eq!(answer.error().await["code"], -32000);
    assert_eq!(stage.answers(None).await, "v1.0.0", "the others go on");
}

#[tokio::test]
async fn a_mapping_can_be_pinned_to_a_version() {
    let stage = Context7::start().await;
    let row = |alias: &str, pin: Option<&str>| json!({ "tool_name": "search", "backend_server_path": "/context7", "alias": alias, "backend_version": pin });
    let rows = [row("active", None), row("old", Some("v1.0.0")), row("new", Some("v2.0.0"))];
    stage.app.compose("v", &rows).await;
    let client = stage.app.visit("/virtual/v").await;
    // Aliases of one tool stay apart before and after the pinned version is promoted.
    for active in ["v1.0.0", "v2.0.0", "v1.5.0"] {
        stage.app.activate("/context7", active).await;
        for (alias, label) in [("active", active), ("old", "v1.0.0"), ("new", "v2.0.0")] {
            let told = client.call(alias, json!({})).await;
            assert_eq!(told["structuredContent"]["backend"], label, "{alias} while {active} is active");
        }
    }
}
