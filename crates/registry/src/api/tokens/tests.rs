//! Tokens through the router: issue, use, revoke.

use serde_json::{Value, json};

use crate::scene::Scene;

#[tokio::test]
async fn a_token_is_shown_once_works_and_ends_when_revoked() {
    let scene = Scene::start().await;
    let body = json!({ "subject": "alice", "groups": ["devs"], "scopes": ["a", "b"], "expires_in": 3600, "description": "ci" });
    let answer = scene.admin("POST /api/tokens", body).await;
    assert_eq!(answer.header("cache-control"), "no-store");
    let issued = answer.expect(201);
    let (text, id) = (issued["token"].as_str().unwrap(), issued["id"].as_str().unwrap());
    assert_eq!((&issued["subject"], &issued["expires_in"]), (&json!("alice"), &json!(3600)));
    assert_eq!((&issued["created_by"], &issued["is_live"]), (&json!("admin"), &json!(true)));
    assert_eq!(issued["warnings"], json!(["there is no group devs yet; it grants nothing"]));
    scene.call("GET /api/virtual-servers", text, Value::Null, &[]).await.expect(200);
    scene.call("GET /api/tokens", text, Value::Null, &[]).await.expect(403);

    let scene = scene.restart().await;
    scene.call("GET /api/virtual-servers", text, Value::Null, &[]).await.expect(200);
    let shown = scene.admin(&format!("GET /api/tokens/{id}"), Value::Null).await.expect(200);
    assert_eq!((shown.get("token"), &shown["scopes"]), (None, &json!(["a", "b"])));
    let list = scene.admin("GET /api/tokens?subject=alice", Value::Null).await.expect(200);
    assert_eq!((&list["total_count"], &list["tokens"][0]["id"]), (&json!(1), &json!(id)));
    assert!(!list.to_string().contains(text));

    for _ in 0..2 {
        assert_eq!(scene.admin(&format!("DELETE /api/tokens/{id}"), Value::Null).await.status, 204);
    }
    let refused = scene.call("GET /api/virtual-servers", text, Value::Null, &[]).await.expect(401);
    assert!(refused["detail"].as_str().unwrap().contains("revoked"), "{refused}");
    assert_eq!(scene.admin("GET /api/tokens", Value::Null).await.expect(200)["total_count"], 0);
    let kept = scene.admin("GET /api/tokens?include_revoked=true", Value::Null).await.expect(200);
    assert_eq!((&kept["total_count"], &kept["tokens"][0]["is_live"]), (&json!(1), &json!(false)));
    scene.admin("DELETE /api/tokens/none", Value::Null).await.expect(404);
}

#[tokio::test]
async fn an_administrators_token_may_everything() {
    let scene = Scene::start().await;
    let issued =
        scene.admin("POST /api/tokens", json!({ "username": "root", "admin": true })).await.expect(201);
    assert_eq!(issued["expires_in"], 30 * 24 * 3600);
    let text = issued["token"].as_str().unwrap();
    scene
        .call("POST /api/tokens", text, json!({ "name": "x", "expires_in_seconds": 60 }), &[])
        .await
        .expect(201);
}

#[tokio::test]
async fn a_bound_token_is_kept_in_the_form_that_is_compared() {
    let scene = Scene::start().await;
    for (given, kept) in [
        ("/virtual/dev-tools/mcp", "/virtual/dev-tools"),
        ("/virtual/dev-tools", "/virtual/dev-tools"),
        ("/GitHub/", "/github"),
        ("/github/mcp", "/github"),
    ] {
        let issued =
            scene.admin("POST /api/tokens", json!({ "subject": "a", "resource": given })).await.expect(201);
        assert_eq!(issued["resource"], kept, "{given}");
        assert_eq!(issued["warnings"], json!([format!("there is nothing at {kept} yet")]));
        let text = issued["token"].as_str().unwrap();
        scene.call("GET /api/servers", text, Value::Null, &[]).await.expect(401);
    }
}

#[tokio::test]
async fn every_bad_field_is_named() {
    let scene = Scene::start().await;
    let body = json!({ "expires_in": 0, "groups": ["", "ok"], "scopes": ["a b"], "resource": "/api/x" });
    let problem = scene.admin("POST /api/tokens", body).await.expect(422);
    let fields: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|one| one["field"].clone()).collect();
    assert_eq!(fields, ["subject", "expires_in", "resource", "groups[0]", "scopes[0]"]);
    let long = json!({ "subject": "a", "expires_in": i64::MAX });
    scene.admin("POST /api/tokens", long).await.expect(422);
    for what in ["POST /api/tokens", "GET /api/tokens", "DELETE /api/tokens/x"] {
        scene.reader(what, json!({ "subject": "root", "admin": true })).await.expect(403);
    }
}

#[tokio::test]
async fn no_token_is_issued_that_would_be_refused() {
    let scene = Scene::start().await;
    let many = |count: usize, length: usize| -> Vec<String> {
        (0..count).map(|index| format!("{index:0>length$}")).collect()
    };
    for (body, field) in [
        (json!({ "subject": "a", "scopes": many(101, 4) }), "scopes"),
        (json!({ "subject": "a", "groups": many(101, 4) }), "groups"),
        (json!({ "subject": "a", "groups": vec!["same"; 101] }), "groups"),
        (json!({ "subject": "a", "scopes": many(60, 200) }), "scopes"),
        (json!({ "subject": "a", "groups": many(60, 200), "scopes": ["x"] }), "groups"),
        (json!({ "subject": "a", "description": "x".repeat(16 * 1024 + 1) }), "description"),
        (json!({ "subject": "a", "description": "\u{1b}[2K" }), "description"),
        (json!({ "subject": "a".repeat(257) }), "subject"),
        (json!({ "subject": "a", "groups": [".."] }), "groups[0]"),
        (json!({ "subject": "a", "scopes": ["."] }), "scopes[0]"),
    ] {
        let problem = scene.admin("POST /api/tokens", body).await.expect(422);
        assert_eq!(problem["errors"][0]["field"], field, "{problem}");
    }
    assert_eq!(scene.admin("GET /api/tokens", Value::Null).await.expect(200)["total_count"], 0);
    let body = json!({ "subject": "a", "groups": many(100, 20), "scopes": many(100, 20) });
    let issued = scene.admin("POST /api/tokens", body).await.expect(201);
    let text = issued["token"].as_str().unwrap();
    scene.call("GET /api/servers", text, Value::Null, &[]).await.expect(200);
}

#[tokio::test]
async fn a_token_whose_record_is_damaged_is_refused() {
    let scene = Scene::start().await;
    let issued = scene.admin("POST /api/tokens", json!({ "subject": "a" })).await.expect(201);
    let (text, id) = (issued["token"].as_str().unwrap(), issued["id"].as_str().unwrap());
    assert_eq!(scene.admin(&format!("DELETE /api/tokens/{id}"), Value::Null).await.status, 204);
    scene.damage("UPDATE tokens SET record = '{'");
    let scene = scene.restart().await;
    scene.call("GET /api/servers", text, Value::Null, &[]).await.expect(401);
    assert!(scene.registry.parts.live.full().is_revoked(id));
    let shown = scene.admin(&format!("GET /api/tokens/{id}"), Value::Null).await.expect(200);
    assert_eq!(shown["is_live"], false);
    let board = scene.admin("GET /api/health", Value::Null).await.expect(200);
    assert_eq!(board["left_out"][0]["what"], format!("token {id}"));
}
