//! Search through the router: who finds what, and when.

use serde_json::{Value, json};
use testkit::LegacyBackend;

use crate::Settings;
use crate::scene::{Answer, Scene};

async fn search(scene: &Scene, body: Value) -> Answer {
    scene.reader("POST /api/search/semantic", body).await
}

async fn paths(scene: &Scene, query: &str) -> Vec<String> {
    let found = search(scene, json!({ "query": query })).await.expect(200);
    let servers = found["servers"].as_array().unwrap();
    servers.iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_server_is_found_with_its_tools() {
    let settings = Settings { public_url: Some("https://mcp.example.com/hub".into()), ..Settings::default() };
    let scene = Scene::start_with(settings).await;
    let backend = LegacyBackend::start("a").tool("create_issue").await;
    scene.register("/tracker", &backend.url()).await;
    let edit = json!({ "server_name": "Issue Tracker", "description": "Tracks bugs", "tags": ["work"] });
    scene.admin("PATCH /api/servers/tracker", edit).await.expect(200);
    let found = search(&scene, json!({ "query": "bugs issue", "max_results": 1 })).await.expect(200);
    assert_eq!((&found["query"], &found["search_mode"]), (&json!("bugs issue"), &json!("keyword")));
    assert_eq!((&found["total_servers"], &found["total_tools"]), (&json!(1), &json!(1)));
    let server = &found["servers"][0];
    let expected = json!({ "path": "/tracker", "server_name": "Issue Tracker", "description": "Tracks bugs",
        "tags": ["work"], "num_tools": 1, "is_enabled": true, "version": "v1.0.0", "match_context": "Tracks bugs",
        "endpoint_url": "https://mcp.example.com/hub/tracker" });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&server[name], value, "{name}");
    }
    assert_eq!(server["matching_tools"][0]["tool_name"], "create_issue");
    let score = server["relevance_score"].as_f64().unwrap();
    assert!(score > 0.0 && score < 1.0, "{score}");
    let tool = &found["tools"][0];
    assert_eq!((&tool["tool_name"], &tool["server_path"]), (&json!("create_issue"), &json!("/tracker")));
    let exact =
        search(&scene, json!({ "query": "issue tracker", "entity_types": ["mcp_server"] })).await.expect(200);
    assert_eq!((&exact["servers"][0]["relevance_score"], &exact["tools"]), (&json!(1.0), &json!([])));
    let by_tag = search(&scene, json!({ "tags": ["WORK"] })).await.expect(200);
    assert_eq!(by_tag["servers"][0]["path"], "/tracker");
}

#[tokio::test]
async fn every_write_is_seen_by_the_next_search() {
    let scene = Scene::start().await;
    let one = LegacyBackend::start("one").tool("translate_quokka").await;
    let two = LegacyBackend::start("two").tool("paint_platypus").await;
    scene.register("/zoo", &one.url()).await;
    scene.add_version("/zoo", "v2", &two.url()).await;
    assert_eq!((paths(&scene, "quokka").await.len(), paths(&scene, "platypus").await.len()), (1, 0));
    scene.admin("PUT /api/servers/zoo/versions/default", json!({ "version": "v2" })).await.expect(200);
    assert_eq!((paths(&scene, "quokka").await.len(), paths(&scene, "platypus").await.len()), (0, 1));
    scene.admin("POST /api/servers/zoo/toggle", json!({ "enabled": false })).await.expect(200);
    assert_eq!(paths(&scene, "zoo platypus").await.len(), 0);
    scene.admin("POST /api/servers/zoo/toggle", json!({ "enabled": true })).await.expect(200);
    assert_eq!(paths(&scene, "zoo").await, ["/zoo"]);
    let row = json!({ "tool_name": "paint_platypus", "backend_server_path": "/zoo", "alias": "draw" });
    let body = json!({ "server_name": "Atelier", "path": "/virtual/art", "tool_mappings": [row], "is_enabled": true });
    scene.admin("POST /api/virtual-servers", body).await.expect(201);
    let found = search(&scene, json!({ "query": "atelier" })).await.expect(200);
    assert_eq!(found["virtual_servers"][0]["path"], "/virtual/art");
    let scene = scene.restart().await;
    assert_eq!(paths(&scene, "platypus").await, ["/zoo"]);
    scene.admin("DELETE /api/servers/zoo", Value::Null).await.expect(200);
    assert_eq!(paths(&scene, "zoo").await.len(), 0);
}

#[tokio::test]
async fn what_a_caller_may_not_find_is_not_counted() {
    let scene = Scene::start().await;
    let backend = LegacyBackend::start("a").tool("echo").await;
    scene.register("/secret", &backend.url()).await;
    let edit = json!({ "visibility": "group-restricted", "allowed_groups": ["inner"] });
    scene.admin("PATCH /api/servers/secret", edit).await.expect(200);
    let query = json!({ "query": "secret echo" });
    let found = search(&scene, query.clone()).await.expect(200);
    assert_eq!((&found["total_servers"], &found["total_tools"]), (&json!(0), &json!(0)));
    let member = scene.token("member", false, &["inner"]);
    let found = scene.call("POST /api/search/semantic", &member, query.clone(), &[]).await.expect(200);
    assert_eq!((&found["total_servers"], &found["total_tools"]), (&json!(1), &json!(1)));
    scene.call("POST /api/search/semantic", "", query, &[]).await.expect(401);
}

#[tokio::test]
async fn bad_queries_are_told_whole() {
    let scene = Scene::start().await;
    let body = json!({ "query": " ", "max_results": 101, "entity_types": ["tool", "person"] });
    let problem = search(&scene, body).await.expect(422);
    let fields: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|one| one["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["query", "max_results", "entity_types[1]"]);
    search(&scene, json!({ "query": "x".repeat(2001) })).await.expect(422);
    let found = search(&scene, json!({ "query": "\"); DROP * ^ ~ NOT" })).await.expect(200);
    assert_eq!(found["servers"], json!([]));
}
