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
    let own = scene.call("GET /api/tokens", text, Value::Null, &[]).await.expect(200);
    assert_eq!((&own["total_count"], &own["tokens"][0]["id"]), (&json!(1), &json!(id)));

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
    scene.reader("POST /api/tokens", json!({ "subject": "root", "admin": true })).await.expect(403);
    scene.reader("DELETE /api/tokens/x", Value::Null).await.expect(404);
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

/// A caller's token: its text and its id.
async fn issued(scene: &Scene, by: &str, body: Value) -> (String, String) {
    let issued = scene.call("POST /api/tokens", by, body, &[]).await.expect(201);
    (issued["token"].as_str().unwrap().into(), issued["id"].as_str().unwrap().into())
}

#[tokio::test]
async fn others_make_tokens_for_themselves_that_allow_no_more_than_they_may() {
    let scene = Scene::start().await;
    let group = json!({ "name": "devs", "scopes": ["read", "write"] });
    scene.admin("POST /api/groups", group).await.expect(201);
    let root = scene.token("root", true, &[]);
    let body = json!({ "subject": "alice", "groups": ["devs"], "scopes": ["own"], "expires_in": 600 });
    let (alice, id) = issued(&scene, &root, body).await;
    let make = async |body: Value| scene.call("POST /api/tokens", &alice, body, &[]).await;
    let made =
        make(json!({ "scopes": ["write", "own"], "groups": ["devs"], "resource": "/virtual/dev" })).await;
    let made = made.expect(201);
    assert_eq!((&made["subject"], &made["made_with"]), (&json!("alice"), &json!(id)));
    assert!(made["expires_in"].as_i64().unwrap() <= 600, "{made}");
    make(json!({ "subject": "alice", "expires_in": 60 })).await.expect(201);
    for (body, part) in [
        (json!({ "subject": "bob" }), "for themselves only"),
        (json!({ "name": "root" }), "for themselves only"),
        (json!({ "admin": true }), "no administrator's token"),
        (json!({ "groups": ["devs", "ops"] }), "not in these groups: ops"),
        (json!({ "scopes": ["read", "rule", "own"] }), "does not hold these scopes: rule"),
    ] {
        let problem = make(body).await.expect(403);
        assert!(problem["detail"].as_str().unwrap().contains(part), "{problem}");
    }
    let longer = make(json!({ "expires_in": 3600 })).await.expect(422);
    assert_eq!(longer["errors"][0]["field"], "expires_in");
    // What the group no longer grants can no longer be handed on.
    scene.admin("PATCH /api/groups/devs", json!({ "scopes": ["read"] })).await.expect(200);
    make(json!({ "scopes": ["write"] })).await.expect(403);
    let trail = scene.admin("GET /api/audit?action=token&outcome=refused", Value::Null).await.expect(200);
    assert_eq!(trail["total_count"], 6);
}

#[tokio::test]
async fn callers_see_and_revoke_their_own_and_nothing_outlives_what_it_was_made_with() {
    let scene = Scene::start().await;
    let root = scene.token("root", true, &[]);
    let (alice, first) = issued(&scene, &root, json!({ "subject": "alice" })).await;
    let (bob, bobs) = issued(&scene, &root, json!({ "subject": "bob" })).await;
    let (second, second_id) = issued(&scene, &alice, json!({})).await;
    let (third, _) = issued(&scene, &second, json!({})).await;
    let seen = scene.call("GET /api/tokens", &bob, Value::Null, &[]).await.expect(200);
    assert_eq!((&seen["total_count"], &seen["tokens"][0]["id"]), (&json!(1), &json!(bobs)));
    for what in ["GET", "DELETE"] {
        let what = format!("{what} /api/tokens/{first}");
        scene.call(&what, &bob, Value::Null, &[]).await.expect(404);
    }
    assert_eq!(scene.call("GET /api/tokens", &third, Value::Null, &[]).await.expect(200)["total_count"], 3);
    let what = format!("DELETE /api/tokens/{second_id}");
    assert_eq!(scene.call(&what, &alice, Value::Null, &[]).await.status, 204);
    for (token, status) in [(&alice, 200), (&second, 401), (&third, 401), (&bob, 200)] {
        scene.call("GET /api/servers", token, Value::Null, &[]).await.expect(status);
    }
    // Of an administrator's, only those that others made go with it.
    let (admin, admins) = issued(&scene, &root, json!({ "subject": "adm", "admin": true })).await;
    let (carol, _) = issued(&scene, &admin, json!({ "subject": "carol" })).await;
    scene.admin(&format!("DELETE /api/tokens/{admins}"), Value::Null).await;
    scene.call("GET /api/servers", &carol, Value::Null, &[]).await.expect(200);
}

#[tokio::test]
async fn a_caller_has_so_many_live_tokens() {
    let scene = Scene::start().await;
    let reader = scene.token("reader", false, &[]);
    for _ in 0..100 {
        issued(&scene, &reader, json!({})).await;
    }
    let problem = scene.call("POST /api/tokens", &reader, json!({}), &[]).await.expect(422);
    assert!(problem["detail"].as_str().unwrap().contains("100 live tokens already"), "{problem}");
}

#[tokio::test]
async fn the_last_use_is_shown_and_kept() {
    let scene = Scene::start().await;
    let root = scene.token("root", true, &[]);
    let (alice, id) = issued(&scene, &root, json!({ "subject": "alice" })).await;
    let last_use = async |scene: &Scene| {
        let shown = scene.admin(&format!("GET /api/tokens/{id}"), Value::Null).await.expect(200);
        let listed = scene.admin("GET /api/tokens?subject=alice", Value::Null).await.expect(200);
        assert_eq!(shown["last_used_at"], listed["tokens"][0]["last_used_at"]);
        shown["last_used_at"].clone()
    };
    assert_eq!(last_use(&scene).await, Value::Null);
    scene.call("GET /api/servers", &alice, Value::Null, &[]).await.expect(200);
    let used = last_use(&scene).await;
    assert!(used.as_str().unwrap().ends_with('Z'));
    scene.registry.keep_uses().await;
    let scene = scene.restart().await;
    assert_eq!(last_use(&scene).await, used);
}
