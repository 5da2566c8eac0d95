//! The official registry's API through the router.

use serde_json::{Value, json};

use crate::scene::Scene;

async fn register(scene: &Scene, path: &str, more: Value) {
    let mut body = json!({ "path": path, "proxy_pass_url": "http://127.0.0.1:1/mcp", "is_enabled": true });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    scene.admin("POST /api/servers/register", body).await.expect(201);
}

fn names(list: &Value) -> Vec<&str> {
    list["servers"].as_array().unwrap().iter().map(|one| one["server"]["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn servers_are_read_as_from_the_official_registry() {
    let scene = Scene::start().await;
    register(&scene, "/context7", json!({ "server_name": "Context Seven", "description": "Docs" })).await;
    register(&scene, "/team/github", json!({ "description": "x".repeat(150) })).await;
    register(&scene, "/off", json!({ "is_enabled": false })).await;
    register(&scene, "/hidden", json!({ "visibility": "private" })).await;
    let reader = scene.token("reader", false, &[]);
    let host = [("host", "gateway.test:8080")];
    let list = scene.call("GET /v0/servers", &reader, Value::Null, &host).await.expect(200);
    assert_eq!(names(&list), ["switchyard.local/context7", "switchyard.local.team/github"]);
    assert_eq!(list["metadata"], json!({ "count": 2 }));
    let one = &list["servers"][0];
    assert_eq!(
        (&one["server"]["title"], &one["server"]["description"]),
        (&json!("Context Seven"), &json!("Docs"))
    );
    assert_eq!(one["server"]["version"], "v1.0.0");
    let remotes = json!([{ "type": "streamable-http", "url": "http://gateway.test:8080/context7" }]);
    assert_eq!(one["server"]["remotes"], remotes);
    let official = &one["_meta"]["io.modelcontextprotocol.registry/official"];
    assert_eq!((&official["status"], &official["isLatest"]), (&json!("active"), &json!(true)));
    let github = &list["servers"][1]["server"];
    assert_eq!(github["description"].as_str().unwrap().chars().count(), 100);
    for what in [
        "GET /v0/servers/switchyard.local/context7",
        "GET /v0/servers/switchyard.local%2Fcontext7",
        "GET /v0/servers/switchyard.local%2fcontext7/versions/latest",
        "GET /v0/servers/switchyard.local/context7/versions/v1.0.0",
    ] {
        let shown = scene.call(what, &reader, Value::Null, &host).await.expect(200);
        assert_eq!(&shown, one, "{what}");
    }
    for what in [
        "GET /v0/servers/switchyard.local/none",
        "GET /v0/servers/switchyard.local/off",
        "GET /v0/servers/switchyard.local/hidden",
        "GET /v0/servers/switchyard.local/context7/versions/v9",
        "GET /v0/nothing",
    ] {
        scene.call(what, &reader, Value::Null, &host).await.expect(404);
    }
    scene.call("GET /v0/servers", "", Value::Null, &[]).await.expect(401);
}

#[tokio::test]
async fn a_list_goes_on_behind_its_cursor() {
    let scene = Scene::start().await;
    for path in ["/a", "/b", "/c"] {
        register(&scene, path, json!({})).await;
    }
    let first = scene.reader("GET /v0/servers?limit=2", Value::Null).await.expect(200);
    assert_eq!(names(&first), ["switchyard.local/a", "switchyard.local/b"]);
    let cursor = first["metadata"]["nextCursor"].as_str().unwrap().replace('/', "%2F");
    let rest =
        scene.reader(&format!("GET /v0/servers?limit=2&cursor={cursor}"), Value::Null).await.expect(200);
    assert_eq!((names(&rest), &rest["metadata"]), (vec!["switchyard.local/c"], &json!({ "count": 1 })));
    let found = scene.reader("GET /v0/servers?search=local/B", Value::Null).await.expect(200);
    assert_eq!(names(&found), ["switchyard.local/b"]);
    scene.reader("GET /v0/servers?limit=101", Value::Null).await.expect(422);
}
