//! The examples of "MCP Server Version Routing", word for word.

use serde_json::{Value, json};
use testkit::LegacyBackend;

use super::Context7;
use crate::app::App;

#[tokio::test]
async fn the_second_registration_of_a_path_adds_a_version() {
    let (old, new) =
        (LegacyBackend::start("old").tool("a").await, LegacyBackend::start("new").tool("b").await);
    let app = App::start().await;
    let register = async |version: &str, url: String| {
        let body = json!({ "server_name": "Context7", "path": "/context7", "version": version, "proxy_pass_url": url });
        app.admin().send("POST /api/servers/register", body).await
    };
    let first = register("v1.0.0", old.url()).await.expect(201);
    assert_eq!((&first["is_new_version"], &first["is_active"]), (&json!(false), &json!(true)));
    let second = register("v2.0.0", new.url()).await.expect(201);
    assert_eq!((&second["is_new_version"], &second["is_active"]), (&json!(true), &json!(false)));
    register("v2.0.0", old.url()).await.expect(409);
    let listed = app.admin().get("/api/servers/context7/versions").await.expect(200);
    assert_eq!((&listed["path"], &listed["default_version"]), (&json!("/context7"), &json!("v1.0.0")));
    let labels: Vec<_> = listed["versions"].as_array().unwrap().iter().map(|one| &one["version"]).collect();
    assert_eq!(labels, ["v1.0.0", "v2.0.0"]);
    assert_eq!(
        listed["versions"][1]["proxy_pass_url"],
        new.url(),
        "the refused registration changed nothing"
    );
}

#[tokio::test]
async fn the_documents_have_the_fields_of_the_original() {
    let stage = Context7::start().await;
    let edit = json!({ "server_name": "Context7 MCP Server", "tags": ["documentation", "search", "libraries"],
        "description": "Up-to-date Docs for LLMs and AI code editors" });
    stage.app.activate("/context7", "v2.0.0").await;
    stage.app.admin().send("PATCH /api/servers/context7", edit).await.expect(200);
    let edit = json!({ "status": "deprecated", "sunset_date": "2026-06-01",
        "description": "Legacy version for backward compatibility" });
    stage.app.admin().send("PATCH /api/servers/context7/versions/v1.5.0", edit).await.expect(200);
    let (active, inactive) = (stage.document("").await, stage.document("/versions/v1.5.0").await);
    let expected = json!({
        "_id": "/context7", "server_name": "Context7 MCP Server", "version": "v2.0.0", "is_active": true,
        "proxy_pass_url": stage.backend("v2.0.0").url(), "version_group": "context7",
        "other_version_ids": ["/context7:v1.0.0", "/context7:v1.5.0"],
        "description": "Up-to-date Docs for LLMs and AI code editors",
        "tags": ["documentation", "search", "libraries"], "supported_transports": ["streamable-http"],
        "num_tools": 2, "num_stars": 0.0, "is_enabled": true, "mcp_server_version": "2.14.4",
    });
    assert_has(&active, &expected);
    let expected = json!({
        "_id": "/context7:v1.5.0", "server_name": "Context7 MCP Server", "version": "v1.5.0", "is_active": false,
        "proxy_pass_url": stage.backend("v1.5.0").url(), "version_group": "context7",
        "active_version_id": "/context7", "status": "deprecated", "sunset_date": "2026-06-01",
        "description": "Legacy version for backward compatibility",
        "tags": ["documentation", "search", "libraries"], "supported_transports": ["streamable-http"],
        "num_tools": 2, "is_enabled": true,
    });
    assert_has(&inactive, &expected);
    assert_eq!((&active["active_version_id"], &inactive["other_version_ids"]), (&Value::Null, &Value::Null));
    for date in ["registered_at", "updated_at"] {
        assert!(active[date].is_string() && inactive[date].is_string(), "{date}");
    }
}

fn assert_has(document: &Value, expected: &Value) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&document[name], value, "{name}");
    }
}

#[tokio::test]
async fn a_software_version_that_changed_is_told_and_routes_nothing() {
    let stage = Context7::start().await;
    stage.backend("v1.0.0").set_version("2.14.5");
    stage.app.refresh("/context7").await;
    let document = stage.document("").await;
    assert_eq!(document["mcp_server_version"], "2.14.5");
    assert_eq!(document["mcp_server_version_previous"], "2.14.4");
    assert!(document["mcp_server_version_updated_at"].is_string(), "{document}");
    assert_eq!(document["version"], "v1.0.0", "the label is the administrator's");
    assert_eq!(stage.answers(None).await, "v1.0.0");
}

#[tokio::test]
async fn listings_show_the_active_version_only() {
    let stage = Context7::start().await;
    for active in ["v1.0.0", "v2.0.0"] {
        stage.app.activate("/context7", active).await;
        let listed = stage.app.admin().get("/api/servers").await.expect(200);
        assert_eq!(listed["total_count"], 1);
        assert_eq!(
            (&listed["servers"][0]["_id"], &listed["servers"][0]["version"]),
            (&json!("/context7"), &json!(active))
        );
    }
}

#[tokio::test]
async fn a_server_goes_with_all_its_versions_and_with_no_other() {
    let stage = Context7::start().await;
    let other = LegacyBackend::start("other").tool("search").await;
    stage.app.serve("/context7-pro", &other.url()).await;
    stage.app.serve("/context7/docs", &other.url()).await;
    let gone = stage.app.admin().send("DELETE /api/servers/context7", Value::Null).await.expect(200);
    assert_eq!(gone["removed_versions"], json!(["v1.0.0", "v1.5.0", "v2.0.0"]));
    let client = stage.client(None).await;
    assert_eq!(client.try_initialize().await.status, 404);
    for path in ["/context7-pro", "/context7/docs"] {
        let mut client = client.clone().at(&format!("{}{path}", stage.app.url));
        client.initialize().await;
        client.call("search", json!({})).await;
    }
}
