//! Versions through the router: adding, switching, going back, retiring; inventories and reported versions.

use serde_json::{Value, json};
use testkit::{LegacyBackend, ModernBackend, Tool};

use crate::scene::Scene;

#[tokio::test]
async fn a_second_label_adds_an_inactive_version() {
    let scene = Scene::start().await;
    let first = LegacyBackend::start("one").tool("echo").await;
    let second = ModernBackend::start("two").tool("echo").tool("more").await;
    scene.register("/team/ctx", &first.url()).await;
    let body = json!({ "path": "/team/ctx", "proxy_pass_url": second.url(), "version": "v2.0.0", "tags": ["ignored"] });
    let added = scene.admin("POST /api/servers/register", body.clone()).await.expect(201);
    assert_eq!((&added["is_new_version"], &added["is_active"]), (&json!(true), &json!(false)));
    assert_eq!(
        (&added["_id"], &added["active_version_id"]),
        (&json!("/team/ctx:v2.0.0"), &json!("/team/ctx"))
    );
    let list = scene.reader("GET /api/servers/team/ctx/versions", Value::Null).await.expect(200);
    assert_eq!((&list["path"], &list["default_version"]), (&json!("/team/ctx"), &json!("v1.0.0")));
    let flags: Vec<_> =
        list["versions"].as_array().unwrap().iter().map(|one| one["is_default"].clone()).collect();
    assert_eq!(flags, [json!(true), json!(false)]);
    let problem = scene.admin("POST /api/servers/register", body.clone()).await.expect(409);
    assert!(problem["detail"].as_str().unwrap().contains("v2.0.0"), "{problem}");
    let mut overwrite = body;
    overwrite["overwrite"] = json!(true);
    overwrite["description"] = json!("edited");
    let edited = scene.admin("POST /api/servers/register", overwrite).await.expect(200);
    assert_eq!((&edited["description"], &edited["tags"]), (&json!("edited"), &json!([])));
    let server = scene.reader("GET /api/servers/team/ctx", Value::Null).await.expect(200);
    assert_eq!(server["other_version_ids"], json!(["/team/ctx:v2.0.0"]));
    assert_eq!(server["proxy_pass_url"], first.url());
    let listed = scene.reader("GET /api/servers?query=CTX", Value::Null).await.expect(200);
    assert_eq!(listed["total_count"], 1);
}

#[tokio::test]
async fn a_switch_holds_for_the_next_look_and_goes_back() {
    let scene = Scene::start().await;
    let first = LegacyBackend::start("one").tool("echo").await;
    let second = ModernBackend::start("two").tool("echo").tool("more").await;
    scene.register("/a", &first.url()).await;
    scene.add_version("/a", "v2.0.0", &second.url()).await;
    let before = scene.admin("GET /api/servers/a/versions", Value::Null).await.expect(200);
    for (label, tools) in [("v2.0.0", 2), ("v1.0.0", 1), ("v1.0.0", 1)] {
        let switch = json!({ "version": label });
        let switched = scene.admin("PUT /api/servers/a/versions/default", switch).await.expect(200);
        assert_eq!(switched["default_version"], label);
        let table = scene.registry.parts.live.full();
        assert_eq!(table.server("/a").unwrap().active().key.label.as_str(), label);
        let server = scene.admin("GET /api/servers/a", Value::Null).await.expect(200);
        assert_eq!((&server["version"], &server["num_tools"]), (&json!(label), &json!(tools)));
    }
    let after = scene.admin("GET /api/servers/a/versions", Value::Null).await.expect(200);
    for (old, new) in before["versions"].as_array().unwrap().iter().zip(after["versions"].as_array().unwrap())
    {
        for name in ["version", "proxy_pass_url", "num_tools", "is_default", "registered_at", "status"] {
            assert_eq!(old[name], new[name], "{name}");
        }
    }
    let unknown =
        scene.admin("PUT /api/servers/a/versions/default", json!({ "version": "v7" })).await.expect(404);
    assert_eq!(unknown["known"], json!(["v1.0.0", "v2.0.0"]));
    scene.admin("PUT /api/servers/a/versions/default", json!({})).await.expect(422);
}

#[tokio::test]
async fn of_two_switches_that_read_the_same_one_wins() {
    let scene = Scene::start().await;
    scene.register("/a", &LegacyBackend::start("one").await.url()).await;
    for label in ["v2", "v3"] {
        let body = json!({ "path": "/a", "proxy_pass_url": "http://127.0.0.1:9/mcp", "version": label });
        scene.admin("POST /api/servers/register", body).await.expect(201);
    }
    let tag = scene.admin("GET /api/servers/a/versions", Value::Null).await.header("etag").to_owned();
    let headers = [("if-match", tag.as_str())];
    let (two, three) = tokio::join!(
        scene.admin_with("PUT /api/servers/a/versions/default", json!({ "version": "v2" }), &headers),
        scene.admin_with("PUT /api/servers/a/versions/default", json!({ "version": "v3" }), &headers),
    );
    let mut statuses = [two.status, three.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412]);
    let winner = if two.status == 200 { "v2" } else { "v3" };
    let list = scene.admin("GET /api/servers/a/versions", Value::Null).await.expect(200);
    assert_eq!(list["default_version"], winner);
}

#[tokio::test]
async fn a_preflight_refuses_a_version_that_does_not_answer() {
    let scene = Scene::start().await;
    let first = LegacyBackend::start("one").tool("echo").await;
    let second = LegacyBackend::start("two").tool("echo").await;
    scene.register("/a", &first.url()).await;
    scene.add_version("/a", "v2", &second.url()).await;
    second.down().await;
    let careful = json!({ "version": "v2", "preflight": true });
    let problem = scene.admin("PUT /api/servers/a/versions/default", careful.clone()).await.expect(409);
    assert!(problem["detail"].as_str().unwrap().contains("v2"), "{problem}");
    let list = scene.admin("GET /api/servers/a/versions", Value::Null).await.expect(200);
    assert_eq!(list["default_version"], "v1.0.0");
    second.up().await;
    scene.admin("PUT /api/servers/a/versions/default", careful).await.expect(200);
    second.down().await;
    // Without a preflight the operator decides, and health never takes a route away.
    scene.admin("POST /api/servers/a/refresh", Value::Null).await.expect(502);
    let server = scene.admin("GET /api/servers/a", Value::Null).await.expect(200);
    assert_eq!((&server["health_status"], &server["num_tools"]), (&json!("unhealthy"), &json!(1)));
    assert!(scene.registry.parts.live.full().server("/a").is_some());
    let board = scene.admin("GET /api/health", Value::Null).await.expect(200);
    assert!(board["servers"][0]["error"].is_string(), "{board}");
}

#[tokio::test]
async fn a_version_is_edited_and_removed() {
    let scene = Scene::start().await;
    scene.register("/a", &LegacyBackend::start("one").tool("echo").await.url()).await;
    let body = json!({ "path": "/a", "proxy_pass_url": "http://127.0.0.1:9/mcp", "version": "v2" });
    scene.admin("POST /api/servers/register", body).await.expect(201);
    let edit = json!({ "status": "deprecated", "sunset_date": "2031-06-01", "release_date": "2025-01-02T03:04:05Z" });
    let edited = scene.admin("PATCH /api/servers/a/versions/v2", edit).await.expect(200);
    assert_eq!((&edited["status"], &edited["sunset_date"]), (&json!("deprecated"), &json!("2031-06-01")));
    assert_eq!(edited["release_date"], "2025-01-02");
    assert!(edited["deprecated_at"].is_string(), "{edited}");
    let stable =
        scene.admin("PATCH /api/servers/a/versions/v2", json!({ "status": "stable" })).await.expect(200);
    assert_eq!((&stable["deprecated_at"], &stable["sunset_date"]), (&Value::Null, &json!("2031-06-01")));
    scene.admin("PATCH /api/servers/a/versions/v2", json!({ "tags": ["x"] })).await.expect(422);
    scene.admin("PATCH /api/servers/a/versions/v9", json!({ "status": "beta" })).await.expect(404);
    let active = scene.admin("DELETE /api/servers/a/versions/v1.0.0", Value::Null).await.expect(409);
    assert!(active["detail"].as_str().unwrap().contains("active"), "{active}");
    scene.admin("DELETE /api/servers/a/versions/v2", Value::Null).await.expect(200);
    scene.admin("DELETE /api/servers/a/versions/v2", Value::Null).await.expect(404);
}

#[tokio::test]
async fn a_changed_reported_version_is_noticed_once() {
    let scene = Scene::start().await;
    let legacy = LegacyBackend::start("one").tool("echo").version("2.14.4").await;
    let modern = ModernBackend::start("two").tool("echo").version("2.14.4").await;
    scene.register("/legacy", &legacy.url()).await;
    scene.register("/modern", &modern.url()).await;
    for (path, set) in [
        ("/legacy", &|v: &str| legacy.set_version(v) as _),
        ("/modern", &|v: &str| modern.set_version(v) as _),
    ] as [(&str, &dyn Fn(&str)); 2]
    {
        let refresh = format!("POST /api/servers{path}/refresh");
        set("2.14.5");
        let first = scene.admin(&refresh, Value::Null).await.expect(200);
        assert_eq!(first["mcp_server_version"], "2.14.5", "{path}");
        assert_eq!(first["mcp_server_version_previous"], "2.14.4", "{path}");
        assert!(first["mcp_server_version_updated_at"].is_string(), "{path}");
        let again = scene.admin(&refresh, Value::Null).await.expect(200);
        assert_eq!(again["mcp_server_version_updated_at"], first["mcp_server_version_updated_at"], "{path}");
        // Labels and revisions are the operator's; what software says of itself moves neither.
        assert_eq!((&again["version"], &again["revision"]), (&json!("v1.0.0"), &first["revision"]), "{path}");
    }
}

#[tokio::test]
async fn hints_and_moved_endpoints_are_read_in_the_background() {
    let scene = Scene::start().await;
    let first = LegacyBackend::start("one").tool("echo").await;
    let second = ModernBackend::start("two").tool("other").await;
    scene.register("/a", &first.url()).await;
    first.set_tools([Tool::new("echo"), Tool::new("fresh")]);
    let key = {
        let catalog = scene.registry.catalog();
        let server = catalog.servers.values().next().unwrap();
        catalog::VersionKey::new(&server.path, &server.active().label)
    };
    scene.registry.hint_changed(key);
    scene.until("GET /api/servers/a", |one| one["num_tools"] == 2).await;
    let moved = json!({ "proxy_pass_url": second.url() });
    scene.admin("PATCH /api/servers/a/versions/v1.0.0", moved).await.expect(200);
    let tools = scene.until("GET /api/servers/a/tools", |one| one["total_count"] == 1).await;
    assert_eq!(tools["tools"][0]["name"], "other");
}

#[tokio::test]
async fn a_refresh_shows_what_is_there_when_it_is_asked_for() {
    let scene = Scene::start().await;
    let backend = LegacyBackend::start("one").tool("echo").await;
    scene.register("/a", &backend.url()).await;
    backend.delay("tools/list", std::time::Duration::from_millis(150));
    let slow = scene.admin("POST /api/servers/a/refresh", Value::Null);
    let late = async {
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
        backend.set_version("9.9.9");
        let two = tokio::join!(
            scene.admin("POST /api/servers/a/refresh", Value::Null),
            scene.admin("POST /api/servers/a/refresh", Value::Null)
        );
        (two.0.expect(200), two.1.expect(200))
    };
    let before = backend.asked("tools/list").len();
    let (_, (one, two)) = tokio::join!(slow, late);
    assert_eq!((&one["mcp_server_version"], &two["mcp_server_version"]), (&json!("9.9.9"), &json!("9.9.9")));
    assert_eq!(backend.asked("tools/list").len() - before, 2, "one for the first, one for both others");
}

#[tokio::test]
async fn a_difference_reads_what_was_never_read() {
    let scene = Scene::start().await;
    let first = LegacyBackend::start("one").tool("echo").tool("gone").await;
    let second = ModernBackend::start("two").tool("echo").tool("added").await;
    scene.register("/a/b", &first.url()).await;
    let body = json!({ "path": "/a/b", "proxy_pass_url": second.url(), "version": "v2" });
    scene.admin("POST /api/servers/register", body).await.expect(201);
    let diff = scene.reader("GET /api/servers/a/b/versions/v1.0.0/diff/v2", Value::Null).await.expect(200);
    assert_eq!((&diff["added"][0]["name"], &diff["removed"][0]["name"]), (&json!("added"), &json!("gone")));
    scene.reader("GET /api/servers/a/b/versions/v1.0.0/diff/v9", Value::Null).await.expect(404);
}

#[tokio::test]
async fn a_tool_with_half_a_surrogate_pair_is_shown_as_it_is() {
    use catalog::VersionKey;
    use catalog::inventory::{Inventory, Item};
    use store::change::{Change, Edit};
    let scene = Scene::start().await;
    let body = json!({ "path": "/x", "proxy_pass_url": "http://127.0.0.1:9/mcp", "is_enabled": true });
    scene.admin("POST /api/servers/register", body).await.expect(201);
    let json = r#"{"name":"cut","description":"half \ud83d","inputSchema":{"type":"object"}}"#;
    let written = scene.registry.apply(|catalog| {
        let server = catalog.servers.values().next().expect("it was registered");
        let inventory = Inventory {
            tools: vec![Item { name: "cut".into(), json: json.into() }],
            ..Inventory::empty(catalog::endpoint::Era::Legacy, "2025-11-25", catalog::time::Timestamp::now())
        };
        let key = VersionKey::new(&server.path, &server.active().label);
        Ok((Change::new(vec![Edit::PutInventory(key, std::sync::Arc::new(inventory))]), ()))
    });
    written.await.unwrap();
    // Such a text does not fit a `Value`, so the answers are looked at as they are.
    let raw = async |what: &str| {
        let request = http::Request::get(what)
            .header("authorization", format!("Bearer {}", scene.token("admin", true, &[])))
            .body(axum::body::Body::empty())
            .unwrap();
        scene.send(request).await.body.to_string().replace("\\\"", "\"")
    };
    let shown = raw("/api/servers/x/tools").await;
    assert!(shown.contains(r#"{"server_path":"/x","name":"cut","#), "{shown}");
    let shown = raw("/api/tool-catalog").await;
    assert!(shown.contains(r#""input_schema":{"type":"object"}"#), "{shown}");
}

#[tokio::test]
async fn a_damaged_version_is_named_and_not_overwritten() {
    let scene = Scene::start().await;
    let mut body = json!({ "path": "/x", "proxy_pass_url": "http://127.0.0.1:9/mcp" });
    scene.admin("POST /api/servers/register", body.clone()).await.expect(201);
    body["version"] = "v2".into();
    scene.admin("POST /api/servers/register", body.clone()).await.expect(201);
    scene.damage("UPDATE versions SET record = '{' WHERE label = 'v2'");
    let scene = scene.restart().await;
    let board = scene.admin("GET /api/health", Value::Null).await.expect(200);
    assert_eq!(board["left_out"][0]["what"], "version v2 of /x");
    let refused = scene.admin("POST /api/servers/register", body.clone()).await.expect(409);
    assert!(refused["detail"].as_str().unwrap().contains("DELETE /api/servers/x/versions/v2"), "{refused}");
    scene.admin("DELETE /api/servers/x/versions/v2", Value::Null).await.expect(200);
    let board = scene.admin("GET /api/health", Value::Null).await.expect(200);
    assert_eq!(board["left_out"], json!([]));
    scene.admin("POST /api/servers/register", body).await.expect(201);
}
