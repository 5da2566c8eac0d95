//! The audit trail through the router: what leaves an entry, what does not, and who may read it.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use http::Request;
use serde_json::{Value, json};

use crate::scene::Scene;

async fn trail(scene: &Scene, query: &str) -> Vec<Value> {
    let page = scene.admin(&format!("GET /api/audit{query}"), Value::Null).await.expect(200);
    page["entries"].as_array().unwrap().clone()
}

/// Returns actor, action, object, outcome and detail of each entry, oldest first.
fn told(entries: &[Value]) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let line = |one: &Value| {
        ["actor", "action", "object", "outcome", "detail"].map(|name| word(&one[name])).join(" | ")
    };
    entries.iter().rev().map(line).collect()
}

fn server(path: &str, version: &str) -> Value {
    json!({ "path": path, "version": version, "proxy_pass_url": "http://127.0.0.1:9/mcp",
        "auth_scheme": "bearer", "auth_credential": "s3cret" })
}

#[tokio::test]
async fn every_accepted_write_is_told() {
    let scene = Scene::start().await;
    scene.admin("POST /api/servers/register", server("/Team/Docs", "v1")).await.expect(201);
    scene.admin("POST /api/servers/register", server("/team/docs", "v2")).await.expect(201);
    let switch = json!({ "version": "v2" });
    scene.admin("PUT /api/servers/team/docs/versions/default", switch.clone()).await.expect(200);
    // It is active already: accepted, and nothing changes.
    scene.admin("PUT /api/servers/team/docs/versions/default", switch).await.expect(200);
    let edit = json!({ "description": "x" });
    scene.admin("PATCH /api/servers/team/docs/versions/v1", edit.clone()).await.expect(200);
    scene.admin("PATCH /api/servers/team/docs", edit.clone()).await.expect(200);
    scene.admin("POST /api/servers/team/docs/toggle", json!({ "enabled": true })).await.expect(200);
    scene.reader("POST /api/servers/team/docs/rate", json!({ "rating": 4 })).await.expect(200);
    scene.admin("DELETE /api/servers/team/docs/versions/v1", Value::Null).await.expect(200);
    scene.admin("DELETE /api/servers/team/docs", Value::Null).await.expect(200);
    let body = json!({ "server_name": "Dev Tools", "path": "/virtual/dev-tools" });
    scene.admin("POST /api/virtual-servers", body.clone()).await.expect(201);
    scene.admin("PUT /api/virtual-servers/dev-tools", body).await.expect(200);
    scene.admin("PATCH /api/virtual-servers/dev-tools", edit).await.expect(200);
    scene.admin("POST /api/virtual-servers/dev-tools/toggle", json!({ "enabled": false })).await.expect(200);
    scene.reader("POST /api/virtual-servers/dev-tools/rate", json!({ "rating": 1 })).await.expect(200);
    scene.admin("DELETE /api/virtual-servers/dev-tools", Value::Null).await.expect(204);
    scene.admin("POST /api/groups", json!({ "name": "staff" })).await.expect(201);
    scene.admin("PUT /api/groups/staff", json!({ "scopes": ["a"] })).await.expect(200);
    scene.admin("PATCH /api/groups/staff", json!({ "scopes": ["b"] })).await.expect(200);
    scene.admin("DELETE /api/groups/staff", Value::Null).await.expect(204);
    scene.admin("POST /api/scopes", json!({ "name": "a" })).await.expect(201);
    scene.admin("DELETE /api/scopes/a", Value::Null).await.expect(204);
    let token = scene.admin("POST /api/tokens", json!({ "subject": "ci" })).await.expect(201);
    let id = token["id"].as_str().unwrap();
    scene.admin(&format!("DELETE /api/tokens/{id}"), Value::Null).await.expect(204);
    let entries = trail(&scene, "").await;
    let expected = [
        "admin | server.register | /team/docs | ok | version v1 with its server",
        "admin | server.register | /team/docs | ok | version v2 added",
        "admin | version.activate | /team/docs | ok | v1 -> v2",
        "admin | version.activate | /team/docs | ok | v2 -> v2",
        "admin | version.edit | /team/docs | ok | v1",
        "admin | server.edit | /team/docs | ok | ",
        "admin | server.toggle | /team/docs | ok | enabled",
        "reader | server.rate | /team/docs | ok | 4 of 5 stars",
        "admin | version.delete | /team/docs | ok | v1",
        "admin | server.delete | /team/docs | ok | ",
        "admin | virtual_server.create | dev-tools | ok | ",
        "admin | virtual_server.replace | dev-tools | ok | ",
        "admin | virtual_server.edit | dev-tools | ok | ",
        "admin | virtual_server.toggle | dev-tools | ok | disabled",
        "reader | virtual_server.rate | dev-tools | ok | 1 of 5 stars",
        "admin | virtual_server.delete | dev-tools | ok | ",
        "admin | group.create | staff | ok | ",
        "admin | group.replace | staff | ok | ",
        "admin | group.edit | staff | ok | ",
        "admin | group.delete | staff | ok | ",
        "admin | scope.describe | a | ok | ",
        "admin | scope.delete | a | ok | ",
        &format!("admin | token.issue | {id} | ok | for ci"),
        &format!("admin | token.revoke | {id} | ok | "),
    ];
    assert_eq!(told(&entries), expected);
    let text = json!(entries).to_string();
    assert!(!text.contains("s3cret") && !text.contains(token["token"].as_str().unwrap()));
    assert!(entries[0]["at"].as_str().unwrap().ends_with('Z'));
    let restarted = scene.restart().await;
    assert_eq!(trail(&restarted, "").await, entries, "it is kept");
}

#[tokio::test]
async fn what_an_administrator_alone_may_do_is_told_of_others() {
    let scene = Scene::start().await;
    scene.reader("POST /api/servers/register", server("/docs", "v1")).await.expect(403);
    scene.reader("DELETE /api/servers/Team/docs/versions/v1", Value::Null).await.expect(403);
    scene.reader("DELETE /api/groups/staff%20all", Value::Null).await.expect(403);
    // Neither accepted nor forbidden; or no write at all.
    scene.call("DELETE /api/servers/docs", "", Value::Null, &[]).await.expect(401);
    scene.admin("DELETE /api/servers/docs", Value::Null).await.expect(404);
    scene.admin("POST /api/servers/register", json!({ "path": "/docs" })).await.expect(422);
    scene.admin("GET /api/servers", Value::Null).await.expect(200);
    scene.reader("GET /api/groups", Value::Null).await.expect(403);
    let expected = [
        "reader | server.register | - | refused | ",
        "reader | version.delete | /team/docs | refused | v1",
        "reader | group.delete | staff all | refused | ",
    ];
    assert_eq!(told(&trail(&scene, "").await), expected);
}

#[tokio::test]
async fn the_list_is_narrowed_and_paged() {
    let scene = Scene::start().await;
    for version in ["v1", "v2"] {
        scene.admin("POST /api/servers/register", server("/docs", version)).await.expect(201);
    }
    scene.reader("DELETE /api/servers/docs", Value::Null).await.expect(403);
    scene.admin("POST /api/groups", json!({ "name": "staff" })).await.expect(201);
    let actions = async |query: &str| {
        let entries = trail(&scene, query).await;
        entries.iter().map(|one| one["action"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(actions("").await, "group.create server.delete server.register server.register");
    assert_eq!(actions("?actor=reader").await, "server.delete");
    assert_eq!(actions("?action=server").await, "server.delete server.register server.register");
    assert_eq!(actions("?action=group.create").await, "group.create");
    assert_eq!(actions("?object=/docs&actor=admin").await, "server.register server.register");
    assert_eq!(actions("?since=2200-01-01T00:00:00Z").await, "");
    let third = trail(&scene, "?limit=1&offset=1").await[0]["at"].as_str().unwrap().to_owned();
    assert!(actions(&format!("?since={third}")).await.starts_with("group.create server.delete"));
    let page = scene.admin("GET /api/audit?limit=3&offset=0", Value::Null).await.expect(200);
    assert_eq!((&page["total_count"], &page["has_next"]), (&json!(4), &json!(true)));
    let page = scene.admin("GET /api/audit?limit=3&offset=3", Value::Null).await.expect(200);
    assert_eq!((&page["total_count"], &page["has_next"]), (&json!(4), &json!(false)));
    for (query, field) in [("limit=1001", "limit"), ("limit=0", "limit"), ("since=yesterday", "since")] {
        let answer = scene.admin(&format!("GET /api/audit?{query}"), Value::Null).await;
        assert_eq!(answer.expect(422)["errors"][0]["field"], field);
    }
}

#[tokio::test]
async fn only_administrators_read_it() {
    let scene = Scene::start().await;
    scene.call("GET /api/audit", "", Value::Null, &[]).await.expect(401);
    scene.reader("GET /api/audit", Value::Null).await.expect(403);
    let page = scene.admin("GET /api/audit", Value::Null).await.expect(200);
    let empty = json!({ "entries": [], "total_count": 0, "limit": 100, "offset": 0, "has_next": false });
    assert_eq!(page, empty);
}

#[tokio::test]
async fn the_source_is_told_where_it_is_known() {
    let scene = Scene::start().await;
    for peer in ["192.0.2.7:4711", "[::ffff:192.0.2.8]:4711"] {
        let request = Request::post("/api/groups")
            .header("authorization", format!("Bearer {}", scene.token("admin", true, &[])))
            .header("content-type", "application/json")
            .extension(ConnectInfo(peer.parse::<SocketAddr>().unwrap()))
            .body(Body::from(json!({ "name": peer }).to_string()))
            .unwrap();
        scene.send(request).await.expect(201);
    }
    scene.admin("DELETE /api/groups/192.0.2.7:4711", Value::Null).await.expect(204);
    let entries = trail(&scene, "").await;
    let sources: Vec<&Value> = entries.iter().map(|one| &one["source"]).collect();
    assert_eq!(sources, [&Value::Null, &json!("192.0.2.8"), &json!("192.0.2.7")]);
}

#[tokio::test]
async fn what_changed_is_told_without_secrets() {
    let scene = Scene::start().await;
    scene.admin("POST /api/servers/register", server("/docs", "v1")).await.expect(201);
    scene.admin("POST /api/servers/register", server("/docs", "v2")).await.expect(201);
    scene.admin("PUT /api/servers/docs/versions/default", json!({ "version": "v2" })).await.expect(200);
    scene
        .admin(
            "PATCH /api/servers/docs",
            json!({ "auth_scheme": "bearer", "auth_credential": "0ther-s3cret" }),
        )
        .await
        .expect(200);
    let url = json!({ "proxy_pass_url": "http://127.0.0.1:9/mcp?key=s3cret" });
    scene.admin("PATCH /api/servers/docs/versions/v1", url).await.expect(200);
    scene.admin("DELETE /api/servers/docs/versions/v1", Value::Null).await.expect(200);
    scene.admin("POST /api/groups", json!({ "name": "staff", "scopes": ["a"] })).await.expect(201);
    scene.admin("PATCH /api/groups/staff", json!({ "scopes": ["a", "b"] })).await.expect(200);
    scene.admin("DELETE /api/groups/staff", Value::Null).await.expect(204);
    let entries = trail(&scene, "").await;
    assert!(!json!(entries).to_string().contains("s3cret"), "{entries:?}");
    let data: Vec<_> = entries.iter().rev().map(|one| one["data"].clone()).collect();
    assert_eq!(data[0]["before"], Value::Null);
    assert_eq!(data[0]["after"]["versions"]["v1"]["header_names"], json!(["authorization"]));
    assert_eq!(data[1]["before"], json!({}));
    assert_eq!(data[1]["after"]["versions"].as_object().unwrap().keys().collect::<Vec<_>>(), ["v2"]);
    assert_eq!(data[2], json!({ "before": { "version": "v1" }, "after": { "version": "v2" } }));
    assert_eq!(
        data[3],
        json!({ "before": { "versions": { "v2": {} } },
            "after": { "versions": { "v2": { "credentials": "changed" } } } })
    );
    let shown = &data[4]["after"]["versions"]["v1"];
    assert_eq!(shown["credentials"], "changed");
    assert!(shown["proxy_pass_url"].as_str().unwrap().starts_with("http://127.0.0.1:9/mcp?"));
    assert!(data[5]["before"]["versions"]["v1"].is_object() && data[5]["after"] == json!({}), "{}", data[5]);
    assert_eq!(data[6]["after"], json!({ "name": "staff", "description": "", "scopes": ["a"] }));
    assert_eq!(data[7], json!({ "before": { "scopes": ["a"] }, "after": { "scopes": ["a", "b"] } }));
    assert_eq!((&data[8]["before"]["scopes"], &data[8]["after"]), (&json!(["a", "b"]), &Value::Null));
}

#[tokio::test]
async fn all_of_it_is_exported_a_line_an_entry() {
    let scene = Scene::start().await;
    let entry = store::audit::Entry {
        at: catalog::time::Timestamp::now(),
        actor: "ada".into(),
        action: "mcp.tools/call".into(),
        object: Some("/docs".into()),
        outcome: store::audit::Outcome::Failed,
        detail: "search".into(),
        data: Some(r#"{"version":"v1"}"#.into()),
        source: None,
    };
    // More than is read at once, and not a whole number of pages.
    scene.registry.parts.store.append_audit(vec![entry; 450]).await.unwrap();
    scene.admin("POST /api/groups", json!({ "name": "staff" })).await.expect(201);
    let answer = scene.admin("GET /api/audit/export", Value::Null).await;
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    let lines = async |query: &str| -> Vec<Value> {
        let answer = scene.admin(&format!("GET /api/audit/export{query}"), Value::Null).await.expect(200);
        // What is one line only was read as JSON.
        match answer {
            Value::String(text) => text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
            one => vec![one],
        }
    };
    let all = lines("").await;
    assert_eq!((all.len(), &all[0]["action"]), (451, &json!("group.create")));
    assert!(all.is_sorted_by(|one, next| one["id"].as_u64() > next["id"].as_u64()));
    assert_eq!(all[1]["data"], json!({ "version": "v1" }));
    assert_eq!(lines("?action=group").await.len(), 1);
    assert_eq!(lines("?outcome=error&actor=ada").await.len(), 450);
    assert_eq!(
        scene.admin("GET /api/audit/export?since=2200-01-01T00:00:00Z", Value::Null).await.expect(200),
        ""
    );
    scene.reader("GET /api/audit/export", Value::Null).await.expect(403);
    let bad = scene.admin("GET /api/audit?outcome=good", Value::Null).await.expect(422);
    assert_eq!(bad["errors"][0]["field"], "outcome");
}
