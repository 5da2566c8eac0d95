//! Groups and scopes through the router.

use serde_json::{Value, json};

use crate::scene::Scene;

#[tokio::test]
async fn a_group_is_made_changed_and_deleted() {
    let scene = Scene::start().await;
    let body = json!({ "name": "devs", "description": "build", "scopes": ["a", "b", "a"] });
    let made = scene.admin("POST /api/groups", body.clone()).await.expect(201);
    assert_eq!(made, json!({ "name": "devs", "description": "build", "scopes": ["a", "b"], "revision": 1 }));
    scene.admin("POST /api/groups", body).await.expect(409);
    let patched = scene.admin("PATCH /api/groups/devs", json!({ "scopes": ["c"] })).await.expect(200);
    assert_eq!((&patched["description"], &patched["scopes"]), (&json!("build"), &json!(["c"])));
    let put = json!({ "name": "devs", "scopes": ["d"] });
    let replaced = scene.admin_with("PUT /api/groups/devs", put.clone(), &[("if-match", "\"2\"")]).await;
    assert_eq!(replaced.header("etag"), "\"3\"");
    assert_eq!(replaced.expect(200)["description"], "");
    scene.admin_with("PUT /api/groups/devs", put, &[("if-match", "\"2\"")]).await.expect(412);
    let renamed = scene.admin("PUT /api/groups/devs", json!({ "name": "ops" })).await.expect(422);
    assert_eq!(renamed["errors"][0]["field"], "name");
    let scene = scene.restart().await;
    let list = scene.admin("GET /api/groups", Value::Null).await.expect(200);
    assert_eq!((&list["total_count"], &list["groups"][0]["scopes"]), (&json!(1), &json!(["d"])));
    assert_eq!(scene.admin("DELETE /api/groups/devs", Value::Null).await.status, 204);
    for what in ["GET", "DELETE"] {
        scene.admin(&format!("{what} /api/groups/devs"), Value::Null).await.expect(404);
    }
}

#[tokio::test]
async fn names_of_identity_providers_are_taken_and_bad_fields_named() {
    let scene = Scene::start().await;
    let body = json!({ "name": "/Entwicklung/Büro 2" });
    scene.admin("POST /api/groups", body).await.expect(201);
    scene.admin("GET /api/groups/%2FEntwicklung%2FB%C3%BCro%202", Value::Null).await.expect(200);
    let bad = scene
        .admin("POST /api/groups", json!({ "name": "a,b", "scopes": ["ok", "not ok"] }))
        .await
        .expect(422);
    let fields: Vec<_> = bad["errors"].as_array().unwrap().iter().map(|one| one["field"].clone()).collect();
    assert_eq!(fields, ["name", "scopes[1]"]);
    scene.admin("POST /api/groups", json!({})).await.expect(422);
}

#[tokio::test]
async fn scopes_are_described() {
    let scene = Scene::start().await;
    let body = json!({ "name": "github-write", "description": "change repositories" });
    assert_eq!(scene.admin("POST /api/scopes", body.clone()).await.expect(201), body);
    scene.admin("POST /api/scopes", body.clone()).await.expect(409);
    scene.admin("POST /api/scopes", json!({ "name": "a b" })).await.expect(422);
    scene.admin("POST /api/scopes", json!({})).await.expect(422);
    let list = scene.reader("GET /api/scopes", Value::Null).await.expect(200);
    assert_eq!((&list["scopes"][0], &list["total_count"]), (&body, &json!(1)));
    assert_eq!(scene.admin("DELETE /api/scopes/github-write", Value::Null).await.status, 204);
    scene.admin("DELETE /api/scopes/github-write", Value::Null).await.expect(404);
}

#[tokio::test]
async fn groups_are_for_administrators() {
    let scene = Scene::start().await;
    let body = json!({ "name": "g", "scopes": ["x"] });
    for what in [
        "POST /api/groups",
        "PUT /api/groups/g",
        "PATCH /api/groups/g",
        "POST /api/scopes",
        "GET /api/groups",
    ] {
        scene.reader(what, body.clone()).await.expect(403);
        scene.call(what, "", body.clone(), &[]).await.expect(401);
    }
}

#[tokio::test]
async fn what_urls_logs_and_memory_suffer_from_is_refused() {
    let scene = Scene::start().await;
    let many: Vec<String> = (0..1001).map(|index| index.to_string()).collect();
    for (what, body, field) in [
        ("POST /api/groups", json!({ "name": ".." }), "name"),
        ("POST /api/groups", json!({ "name": "g", "description": "\u{1b}[2K" }), "description"),
        ("POST /api/groups", json!({ "name": "g", "scopes": many }), "scopes"),
        ("POST /api/scopes", json!({ "name": "." }), "name"),
        ("POST /api/scopes", json!({ "name": "s", "description": "a\rb" }), "description"),
    ] {
        let problem = scene.admin(what, body).await.expect(422);
        assert_eq!(problem["errors"][0]["field"], field, "{problem}");
    }
}

#[tokio::test]
async fn a_damaged_group_is_named_and_not_overwritten() {
    let scene = Scene::start().await;
    scene.admin("POST /api/groups", json!({ "name": "devs", "scopes": ["a"] })).await.expect(201);
    scene.damage("UPDATE groups SET record = '{'");
    let scene = scene.restart().await;
    let refused = scene.admin("POST /api/groups", json!({ "name": "devs" })).await.expect(409);
    assert!(refused["detail"].as_str().unwrap().contains("DELETE /api/groups/devs"), "{refused}");
    assert_eq!(scene.admin("DELETE /api/groups/devs", Value::Null).await.status, 204);
    scene.admin("POST /api/groups", json!({ "name": "devs" })).await.expect(201);
}

#[tokio::test]
async fn scope_documents_are_kept_with_the_groups_that_have_them() {
    let scene = Scene::start().await;
    scene.admin("POST /api/groups", json!({ "name": "old", "scopes": ["readers", "x"] })).await.expect(201);
    let access = json!([{ "server": "/github", "methods": ["tools/list"], "tools": "get_*" }]);
    let body = json!({ "scope_name": "readers", "server_access": access, "group_mappings": ["new", "old"],
        "ui_permissions": { "list_service": ["all"] }, "create_in_idp": true });
    let made = scene.admin("POST /api/scopes", body).await.expect(201);
    assert_eq!(made["warnings"], json!(["nothing is registered at /github"]));
    let scene = scene.restart().await;
    let shown = scene.admin("GET /api/scopes/readers", Value::Null).await.expect(200);
    let expected = json!({ "name": "readers", "description": "",
        "server_access": [{ "server": "/github", "methods": ["tools/list"], "tools": ["get_*"] }],
        "ui_permissions": { "list_service": ["all"] }, "group_mappings": ["new", "old"] });
    assert_eq!(shown, expected);
    let replaced = json!({ "description": "d", "group_mappings": ["new"] });
    let replaced = scene.admin("PUT /api/scopes/readers", replaced).await.expect(200);
    assert_eq!(replaced, json!({ "name": "readers", "description": "d", "group_mappings": ["new"] }));
    let old = scene.admin("GET /api/groups/old", Value::Null).await.expect(200);
    assert_eq!((&old["scopes"], &old["revision"]), (&json!(["x"]), &json!(2)));
    scene.admin("PUT /api/scopes/readers", json!({ "name": "others" })).await.expect(422);
    scene.admin("PUT /api/scopes/none", json!({})).await.expect(404);
    scene.admin("GET /api/scopes/none", Value::Null).await.expect(404);
    scene.reader("GET /api/scopes/readers", Value::Null).await.expect(403);
    scene.reader("POST /api/scopes/import", json!([])).await.expect(403);
    let seen = scene.reader("GET /api/scopes", Value::Null).await.expect(200);
    assert_eq!(seen["scopes"], json!([{ "name": "readers", "description": "d" }]));
}

#[tokio::test]
async fn bad_scope_documents_are_refused_as_a_whole() {
    let scene = Scene::start().await;
    let many: Vec<String> = (0..1001).map(|index| index.to_string()).collect();
    let entry =
        |server: &str, tools: Value| json!([{ "server": server, "methods": ["all"], "tools": tools }]);
    for (body, field) in [
        (json!({ "name": "s", "server_access": entry("/", json!("all")) }), "server_access[0].server"),
        (json!({ "name": "s", "server_access": entry("a", json!(many)) }), "server_access[0].tools"),
        (json!({ "name": "s", "server_access": entry("a", json!([""])) }), "server_access[0].tools"),
        (json!({ "name": "s", "group_mappings": ["a,b"] }), "group_mappings[0]"),
    ] {
        let problem = scene.admin("POST /api/scopes", body).await.expect(422);
        assert_eq!(problem["errors"][0]["field"], field, "{problem}");
    }
    let list = json!([{ "name": "good" }, { "name": "b d" }]);
    scene.admin("POST /api/scopes/import", list).await.expect(422);
    scene.admin("POST /api/scopes/import", json!({ "UI-Scopes": 7 })).await.expect(422);
    let left = scene.admin("GET /api/scopes", Value::Null).await.expect(200);
    assert_eq!(left["total_count"], 0);
}
