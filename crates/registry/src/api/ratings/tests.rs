//! Ratings through the router: who may, what counts, what shows it, and when it ends.

use serde_json::{Value, json};

use crate::scene::Scene;

async fn rate(scene: &Scene, what: &str, user: &str, stars: i64) -> Value {
    let token = scene.token(user, false, &[]);
    scene.call(&format!("POST {what}/rate"), &token, json!({ "rating": stars }), &[]).await.expect(200)
}

async fn scene() -> Scene {
    let scene = Scene::start().await;
    let server = |path: &str| json!({ "path": path, "proxy_pass_url": "http://127.0.0.1:9/mcp" });
    for path in ["/docs", "/docs/deep/er"] {
        scene.admin("POST /api/servers/register", server(path)).await.expect(201);
    }
    let body = json!({ "server_name": "Dev Tools", "path": "/virtual/dev-tools" });
    scene.admin("POST /api/virtual-servers", body).await.expect(201);
    scene
}

#[tokio::test]
async fn every_user_has_one_rating() {
    let scene = scene().await;
    for what in ["/api/servers/docs", "/api/servers/docs/deep/er", "/api/virtual-servers/dev-tools"] {
        let before = scene.reader(&format!("GET {what}"), Value::Null).await.expect(200);
        assert_eq!(before["num_stars"], 0.0, "{what}");
        let none = scene.reader(&format!("GET {what}/rating"), Value::Null).await.expect(200);
        assert_eq!(none, json!({ "num_stars": 0.0, "rating_details": [] }));
        assert_eq!(rate(&scene, what, "grace", 4).await["num_stars"], 4.0);
        rate(&scene, what, "ada", 1).await;
        // Another mind, and the same again.
        for _ in 0..2 {
            let taken = rate(&scene, what, "ada", 3).await;
            assert_eq!((&taken["num_stars"], &taken["average_rating"]), (&json!(3.5), &json!(3.5)));
        }
        let details = json!([{ "user": "ada", "rating": 3 }, { "user": "grace", "rating": 4 }]);
        let rating = scene.reader(&format!("GET {what}/rating"), Value::Null).await.expect(200);
        assert_eq!(rating, json!({ "num_stars": 3.5, "rating_details": details }));
        let after = scene.reader(&format!("GET {what}"), Value::Null).await.expect(200);
        assert_eq!(after["num_stars"], 3.5, "{what}");
        for name in ["revision", "updated_at"] {
            assert_eq!(after[name], before[name], "a rating is no write of {what}");
        }
    }
    let list = scene.reader("GET /api/servers?include_disabled=true", Value::Null).await.expect(200);
    assert_eq!(list["servers"][0]["num_stars"], 3.5);
    let list = scene.reader("GET /api/virtual-servers?include_disabled=true", Value::Null).await.expect(200);
    assert_eq!(list["virtual_servers"][0]["num_stars"], 3.5);
}

#[tokio::test]
async fn only_whole_stars_from_one_to_five_count() {
    let scene = scene().await;
    for rating in
        [json!(0), json!(6), json!(-1), json!(3.5), json!(3.0), json!("3"), json!(true), json!(null)]
    {
        for what in ["/api/servers/docs", "/api/virtual-servers/dev-tools"] {
            let answer = scene.reader(&format!("POST {what}/rate"), json!({ "rating": rating })).await;
            assert_eq!(answer.expect(422)["errors"][0]["field"], "rating", "{rating}");
        }
    }
    let answer = scene.reader("POST /api/servers/docs/rate", json!({})).await;
    assert_eq!(answer.expect(422)["errors"][0]["field"], "rating");
    scene.reader("GET /api/servers/docs/rating", Value::Null).await.expect(200);
}

#[tokio::test]
async fn a_token_and_an_object_are_needed() {
    let scene = scene().await;
    let stars = json!({ "rating": 3 });
    scene.call("POST /api/servers/docs/rate", "", stars.clone(), &[]).await.expect(401);
    scene.call("GET /api/servers/docs/rating", "", Value::Null, &[]).await.expect(401);
    let private = json!({ "visibility": "private" });
    scene.admin("PATCH /api/servers/docs/deep/er", private).await.expect(200);
    for what in ["/api/servers/none", "/api/servers/docs/deep/er", "/api/virtual-servers/none"] {
        scene.reader(&format!("POST {what}/rate"), stars.clone()).await.expect(404);
        scene.reader(&format!("GET {what}/rating"), Value::Null).await.expect(404);
    }
}

#[tokio::test]
async fn ratings_outlive_a_restart_and_end_with_their_object() {
    let scene = scene().await;
    let all = ["/api/servers/docs", "/api/servers/docs/deep/er", "/api/virtual-servers/dev-tools"];
    for what in all {
        rate(&scene, what, "ada", 5).await;
    }
    let scene = scene.restart().await;
    for what in all {
        let rating = scene.reader(&format!("GET {what}/rating"), Value::Null).await.expect(200);
        assert_eq!(rating["rating_details"], json!([{ "user": "ada", "rating": 5 }]), "{what}");
    }
    scene.admin("DELETE /api/servers/docs", Value::Null).await.expect(200);
    scene.admin("DELETE /api/virtual-servers/dev-tools", Value::Null).await.expect(204);
    let again = json!({ "path": "/docs", "proxy_pass_url": "http://127.0.0.1:9/mcp" });
    scene.admin("POST /api/servers/register", again).await.expect(201);
    let body = json!({ "server_name": "Dev Tools", "path": "/virtual/dev-tools" });
    scene.admin("POST /api/virtual-servers", body).await.expect(201);
    let scene = scene.restart().await;
    for (what, stars) in all.into_iter().zip([0.0, 5.0, 0.0]) {
        let rating = scene.reader(&format!("GET {what}/rating"), Value::Null).await.expect(200);
        assert_eq!(rating["num_stars"], stars, "{what}");
    }
}
