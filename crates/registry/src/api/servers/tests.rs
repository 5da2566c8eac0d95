//! Servers through the router: what a registration makes, what lists show, what edits change, who may.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use testkit::{LegacyBackend, ModernBackend};

use crate::scene::Scene;

fn registration(path: &str, url: &str) -> Value {
    json!({ "path": path, "server_name": "Context Seven", "proxy_pass_url": url, "description": "docs",
        "tags": ["docs", "search"], "is_enabled": true })
}

#[tokio::test]
async fn a_registration_is_read_back() {
    let scene = Scene::start().await;
    let backend = LegacyBackend::start("a").tool("echo").tool("other").version("3.1.4").await;
    let answer = scene.admin("POST /api/servers/register", registration("/Context7/", &backend.url())).await;
    assert_eq!(answer.header("location"), "/api/servers/context7");
    let made = answer.expect(201);
    assert_eq!((&made["path"], &made["is_new_version"]), (&json!("/context7"), &json!(false)));
    let document = scene
        .until("GET /api/servers/context7", |one| one["num_tools"] == 2 && one["health_status"] == "healthy")
        .await;
    let expected = json!({ "_id": "/context7", "id": "/context7", "server_name": "Context Seven", "version": "v1.0.0",
        "is_active": true, "version_group": "context7", "other_version_ids": [], "tags": ["docs", "search"],
        "is_enabled": true, "proxy_pass_url": backend.url(), "mcp_server_version": "3.1.4",
        "mcp_server_version_previous": null, "status": "stable", "auth_scheme": "none", "has_credentials": false,
        "transport": "streamable-http", "owner": "admin", "visibility": "public", "protocol_era": "legacy" });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&document[name], value, "{name}");
    }
    assert!(document["registered_at"].as_str().unwrap().ends_with('Z'), "{document}");
    let tools = scene.reader("GET /api/servers/context7/tools", Value::Null).await.expect(200);
    assert_eq!(tools["tools"][0]["name"], "echo");
    assert_eq!(tools["tools"][0]["server_path"], "/context7");
    let catalogue =
        scene.reader("GET /api/tool-catalog?server_path=/context7&limit=1", Value::Null).await.expect(200);
    assert_eq!((&catalogue["total_count"], &catalogue["has_next"]), (&json!(2), &json!(true)));
    assert_eq!(catalogue["tools"][0]["tool_name"], "echo");
    let board = scene.reader("GET /api/health", Value::Null).await.expect(200);
    assert_eq!(board["servers"][0]["status"], "healthy");
}

#[tokio::test]
async fn a_form_registers_too_and_a_bare_registration_is_disabled() {
    let scene = Scene::start().await;
    let form = "name=From+a+form&path=/form&proxy_pass_url=http%3A%2F%2F127.0.0.1%3A9%2Fmcp&tags=a,%20b,,&is_enabled=true&license=";
    let request = Request::post("/api/servers/register")
        .header("authorization", format!("Bearer {}", scene.token("admin", true, &[])))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(form))
        .unwrap();
    let made = scene.send(request).await.expect(201);
    assert_eq!((&made["server_name"], &made["tags"]), (&json!("From a form"), &json!(["a", "b"])));
    assert_eq!((&made["is_enabled"], &made["license"]), (&json!(true), &Value::Null));
    let bare = json!({ "path": "/bare", "proxy_pass_url": "http://127.0.0.1:9/mcp" });
    let made = scene.admin("POST /api/servers/register", bare).await.expect(201);
    assert_eq!((&made["is_enabled"], &made["version"]), (&json!(false), &json!("v1.0.0")));
    let listed = scene.reader("GET /api/servers", Value::Null).await.expect(200);
    assert_eq!((&listed["total_count"], &listed["servers"][0]["path"]), (&json!(1), &json!("/form")));
    let all = scene.reader("GET /api/servers?include_disabled=true&limit=1", Value::Null).await.expect(200);
    assert_eq!((&all["total_count"], &all["has_next"]), (&json!(2), &json!(true)));
}

#[tokio::test]
async fn every_bad_field_is_named_at_once() {
    let scene = Scene::start().await;
    let bad = json!({ "path": "/a b", "proxy_pass_url": "ftp://x", "version": "latest", "status": "old",
        "sunset_date": "soon", "is_enabled": "maybe", "tags": 7, "auth_scheme": "bearer\n", "headers": {"host": "x"},
        "visibility": "secret", "supported_transports": ["pigeon"] });
    let problem = scene.admin("POST /api/servers/register", bad.clone()).await.expect(422);
    let fields: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|one| one["field"].as_str().unwrap()).collect();
    for name in bad.as_object().unwrap().keys().filter(|name| *name != "auth_scheme") {
        assert!(fields.contains(&name.as_str()), "{name} is not in {fields:?}");
    }
    let empty = scene.admin("POST /api/servers/register", json!({})).await.expect(422).to_string();
    assert!(empty.contains("\"path\"") && empty.contains("proxy_pass_url"), "{empty}");
    let metadata = json!({ "path": "/x", "proxy_pass_url": "http://169.254.169.254/mcp" });
    scene.admin("POST /api/servers/register", metadata).await.expect(422);
    let secretless =
        json!({ "path": "/x", "proxy_pass_url": "http://127.0.0.1/mcp", "auth_scheme": "bearer" });
    let problem = scene.admin("POST /api/servers/register", secretless).await.expect(422);
    assert_eq!(problem["errors"][0]["field"], "auth_credential");
}

#[tokio::test]
async fn commands_are_named_and_not_brought() {
    let scene = Scene::start().await;
    for (extra, field) in [
        (json!({ "proxy_pass_url": "stdio:nothing" }), "proxy_pass_url"),
        (json!({ "proxy_pass_url": "stdio:/bin/sh" }), "proxy_pass_url"),
        (json!({ "command": "/bin/sh", "supported_transports": ["stdio"] }), "command"),
        (json!({ "proxy_pass_url": "http://127.0.0.1/", "args": ["-c", "id"] }), "args"),
        (json!({ "proxy_pass_url": "http://127.0.0.1/", "env": { "A": "b" } }), "env"),
        (json!({ "proxy_pass_url": "http://127.0.0.1/", "transport": "stdio" }), "transport"),
        (json!({ "proxy_pass_url": "stdio:files", "transport": "streamable-http" }), "transport"),
        (json!({ "proxy_pass_url": "stdio:files", "headers": { "x-team": "blue" } }), "headers"),
    ] {
        let mut body = json!({ "path": "/files" });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let problem = scene.admin("POST /api/servers/register", body).await.expect(422);
        let fields: Vec<_> = problem["errors"].as_array().unwrap().iter().map(|one| &one["field"]).collect();
        assert!(fields.contains(&&json!(field)), "{extra}: {problem}");
    }
    let good =
        json!({ "path": "/files", "proxy_pass_url": "stdio:files", "supported_transports": ["stdio"] });
    let made = scene.admin("POST /api/servers/register", good).await.expect(201);
    assert_eq!((&made["proxy_pass_url"], &made["transport"]), (&json!("stdio:files"), &json!("stdio")));
    assert_eq!(made["supported_transports"], json!(["stdio"]));
    let moved = json!({ "proxy_pass_url": "http://127.0.0.1:1/mcp" });
    let moved = scene.admin("PATCH /api/servers/files", moved).await.expect(200);
    assert_eq!(moved["transport"], "streamable-http");
}

#[tokio::test]
async fn refusals_are_problem_documents() {
    let scene = Scene::start().await;
    let admin = format!("Bearer {}", scene.token("admin", true, &[]));
    let request = |method: &str, path: &str, kind: &str, body: &str| {
        let request = Request::builder().method(method).uri(path).header("authorization", &admin);
        request.header("content-type", kind).body(Body::from(body.to_owned())).unwrap()
    };
    let json_kind = "application/json";
    let cases = [
        (request("POST", "/api/servers/register", json_kind, "{not json"), 400),
        (request("POST", "/api/servers/register", json_kind, "[]"), 422),
        (request("POST", "/api/servers/register", "text/plain", "{}"), 415),
        (request("POST", "/api/servers/register", json_kind, &" ".repeat(5 * 1024 * 1024)), 413),
        (request("PATCH", "/api/servers/register", json_kind, "{}"), 405),
        (request("GET", "/api/none-such", json_kind, ""), 404),
        (request("GET", "/api/servers/none/such", json_kind, ""), 404),
        (request("GET", "/api/servers/none/mcp", json_kind, ""), 404),
        (request("GET", "/api/servers?limit=0", json_kind, ""), 422),
        (request("GET", "/api/servers?include_disabled=perhaps", json_kind, ""), 422),
        (request("POST", "/api/servers/none/toggle", json_kind, r#"{"enabled": true}"#), 404),
        (request("POST", "/api/servers/none/toggle", json_kind, r#"{"enabled": "on"}"#), 422),
        (request("POST", "/api/servers/none/versions", json_kind, "{}"), 405),
    ];
    for (request, status) in cases {
        let what = format!("{} {}", request.method(), request.uri());
        let answer = scene.send(request).await;
        assert_eq!(answer.status, status, "{what}: {}", answer.body);
        assert_eq!(answer.header("content-type"), "application/problem+json", "{what}");
        assert_eq!(answer.body["status"], status, "{what}");
        assert!(answer.body["detail"].as_str().is_some_and(|text| !text.is_empty()), "{what}");
        assert_eq!(status == 405, !answer.header("allow").is_empty(), "{what}: Allow");
    }
}

#[tokio::test]
async fn tokens_decide_who_reads_and_writes() {
    let scene = Scene::start().await;
    scene.admin("POST /api/servers/register", registration("/a", "http://127.0.0.1:9/mcp")).await.expect(201);
    let answer = scene.call("GET /api/servers", "", Value::Null, &[]).await;
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, "Bearer"));
    let answer = scene.call("GET /api/servers", "nonsense", Value::Null, &[]).await;
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, "Bearer error=\"invalid_token\""));
    scene.reader("GET /api/servers/a", Value::Null).await.expect(200);
    let writes = [
        ("POST /api/servers/register", registration("/b", "http://127.0.0.1:9/mcp")),
        ("PATCH /api/servers/a", json!({ "description": "mine" })),
        ("DELETE /api/servers/a", Value::Null),
        ("POST /api/servers/a/toggle", json!({ "enabled": false })),
        ("POST /api/servers/a/refresh", Value::Null),
        ("PUT /api/servers/a/versions/default", json!({ "version": "v1.0.0" })),
        ("PATCH /api/servers/a/versions/v1.0.0", json!({ "status": "beta" })),
        ("DELETE /api/servers/a/versions/v1.0.0", Value::Null),
    ];
    for (what, body) in writes {
        let answer = scene.reader(what, body).await;
        assert_eq!(answer.status, 403, "{what}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_scope_may_let_others_do_single_things() {
    let scene = Scene::start().await;
    for path in ["/a", "/b"] {
        scene
            .admin("POST /api/servers/register", registration(path, "http://127.0.0.1:9/mcp"))
            .await
            .expect(201);
    }
    let operators = json!({ "name": "operators", "group_mappings": ["ops"],
        "ui_permissions": { "toggle_service": ["a"], "modify_service": ["all"], "register_service": ["all"] } });
    scene.admin("POST /api/scopes", operators).await.expect(201);
    let ann = scene.token("ann", false, &["ops"]);
    let switch = json!({ "version": "v1.0.0" });
    for (what, body, status) in [
        ("POST /api/servers/a/toggle", json!({ "enabled": false }), 200),
        ("POST /api/servers/b/toggle", json!({ "enabled": false }), 403),
        ("PUT /api/servers/b/versions/default", switch, 200),
        ("POST /api/servers/a/refresh", Value::Null, 403),
        // Who names a URL is an administrator.
        ("PATCH /api/servers/a", json!({ "proxy_pass_url": "http://127.0.0.1:22/" }), 403),
        ("POST /api/servers/register", registration("/c", "http://127.0.0.1:9/mcp"), 403),
    ] {
        let answer = scene.call(what, &ann, body, &[]).await;
        assert_eq!(answer.status, status, "{what}: {}", answer.body);
    }
}

#[tokio::test]
async fn visibility_hides_servers_from_others() {
    let scene = Scene::start().await;
    let hidden = json!({ "visibility": "group-restricted", "allowed_groups": ["blue"] });
    scene.admin("POST /api/servers/register", registration("/a", "http://127.0.0.1:9/mcp")).await.expect(201);
    scene.admin("PATCH /api/servers/a", hidden).await.expect(200);
    let blue = scene.token("ann", false, &["blue"]);
    for (token, status, count) in [(blue, 200, 1), (scene.token("ben", false, &["red"]), 404, 0)] {
        assert_eq!(scene.call("GET /api/servers/a", &token, Value::Null, &[]).await.status, status);
        assert_eq!(scene.call("GET /api/servers/a/versions", &token, Value::Null, &[]).await.status, status);
        let list = scene.call("GET /api/servers", &token, Value::Null, &[]).await.expect(200);
        assert_eq!(list["total_count"], count);
    }
}

#[tokio::test]
async fn edits_change_what_they_name_and_nothing_else() {
    let scene = Scene::start().await;
    let mut body = registration("/a", "http://127.0.0.1:9/mcp");
    body["auth_scheme"] = json!("bearer");
    body["auth_credential"] = json!("s3cret");
    body["headers"] = json!({ "X-Team": "blue" });
    let made = scene.admin("POST /api/servers/register", body).await.expect(201);
    assert_eq!((&made["auth_scheme"], &made["has_credentials"]), (&json!("bearer"), &json!(true)));
    assert_eq!(made["header_names"], json!(["x-team", "authorization"]));
    let edit = json!({ "description": "new", "tags": "x, y", "license": "MIT", "strict_versions": true });
    let answer = scene.admin("PATCH /api/servers/a", edit).await;
    assert_eq!(answer.header("etag"), format!("\"{}\"", answer.body["revision"]));
    let edited = answer.expect(200);
    assert_eq!((&edited["description"], &edited["tags"]), (&json!("new"), &json!(["x", "y"])));
    assert_eq!((&edited["server_name"], &edited["auth_scheme"]), (&json!("Context Seven"), &json!("bearer")));
    assert!(!edited.to_string().contains("s3cret"));
    let cleared = scene
        .admin("PATCH /api/servers/a", json!({ "license": null, "auth_scheme": "none" }))
        .await
        .expect(200);
    assert_eq!((&cleared["license"], &cleared["auth_scheme"]), (&Value::Null, &json!("none")));
    assert_eq!(cleared["header_names"], json!(["x-team"]));
    let unknown =
        scene.admin("PATCH /api/servers/a", json!({ "sevrer_name": "x", "num_tools": 3 })).await.expect(422);
    assert_eq!(unknown["errors"].as_array().unwrap().len(), 2, "{unknown}");
}

#[tokio::test]
async fn if_match_guards_writes() {
    let scene = Scene::start().await;
    scene.admin("POST /api/servers/register", registration("/a", "http://127.0.0.1:9/mcp")).await.expect(201);
    let tag = scene.admin("GET /api/servers/a", Value::Null).await.header("etag").to_owned();
    let edit = json!({ "description": "one" });
    scene.admin_with("PATCH /api/servers/a", edit.clone(), &[("if-match", &tag)]).await.expect(200);
    for what in ["PATCH /api/servers/a", "PATCH /api/servers/a/versions/v1.0.0"] {
        scene.admin_with(what, edit.clone(), &[("if-match", &tag)]).await.expect(412);
    }
    scene.admin_with("DELETE /api/servers/a", Value::Null, &[("if-match", &tag)]).await.expect(412);
    scene.admin_with("DELETE /api/servers/a", Value::Null, &[("if-match", "soon")]).await.expect(400);
    scene.admin("DELETE /api/servers/a", Value::Null).await.expect(200);
    // Made anew it is another one.
    scene.admin("POST /api/servers/register", registration("/a", "http://127.0.0.1:9/mcp")).await.expect(201);
    scene.admin_with("PATCH /api/servers/a", edit, &[("if-match", &tag)]).await.expect(412);
}

#[tokio::test]
async fn disabling_and_deleting_reach_the_routing_table() {
    let scene = Scene::start().await;
    let backend = ModernBackend::start("a").tool("echo").await;
    scene.register("/a", &backend.url()).await;
    scene.register("/a/b", &backend.url()).await;
    let is_enabled = || scene.registry.parts.live.full().server("/a").is_some_and(|one| one.is_enabled);
    assert!(is_enabled());
    scene.admin("POST /api/servers/a/toggle", json!({ "enabled": false })).await.expect(200);
    assert!(!is_enabled());
    scene.admin("POST /api/servers/a/toggle", json!({ "is_enabled": true })).await.expect(200);
    assert!(is_enabled());
    let removed = scene.admin("DELETE /api/servers/a", Value::Null).await.expect(200);
    assert_eq!((&removed["removed_versions"], &removed["virtual_servers"]), (&json!(["v1.0.0"]), &json!([])));
    scene.admin("GET /api/servers/a", Value::Null).await.expect(404);
    scene.admin("GET /api/servers/a/b", Value::Null).await.expect(200);
    let table = scene.registry.parts.live.full();
    assert!(table.server("/a").is_none() && table.server("/a/b").is_some());
}

#[tokio::test]
async fn what_was_written_is_there_after_a_restart() {
    let scene = Scene::start().await;
    let backend = LegacyBackend::start("a").tool("echo").version("1.2.3").bearer("s3cret").await;
    let mut body = registration("/a", &backend.url());
    body["auth_scheme"] = json!("bearer");
    body["auth_credential"] = json!("s3cret");
    scene.admin("POST /api/servers/register", body).await.expect(201);
    scene.admin("POST /api/servers/a/refresh", Value::Null).await.expect(200);
    let before = scene.admin("GET /api/servers/a", Value::Null).await.expect(200);
    assert_eq!(before["num_tools"], 1);
    let scene = scene.restart().await;
    let after = scene.admin("GET /api/servers/a", Value::Null).await.expect(200);
    for name in
        ["num_tools", "mcp_server_version", "revision", "auth_scheme", "registered_at", "tags", "is_enabled"]
    {
        assert_eq!(after[name], before[name], "{name}");
    }
    scene.admin("POST /api/servers/a/refresh", Value::Null).await.expect(200);
}

#[tokio::test]
async fn a_damaged_server_is_named_and_not_overwritten() {
    let scene = Scene::start().await;
    let body = json!({ "path": "/x", "proxy_pass_url": "http://127.0.0.1:9/mcp" });
    scene.admin("POST /api/servers/register", body.clone()).await.expect(201);
    scene.damage("UPDATE versions SET record = '{'");
    let scene = scene.restart().await;
    let board = scene.admin("GET /api/health", Value::Null).await.expect(200);
    let left_out = board["left_out"].as_array().unwrap().iter();
    assert!(left_out.map(|one| one["what"].as_str().unwrap()).any(|what| what == "/x"), "{board}");
    let refused = scene.admin("POST /api/servers/register", body.clone()).await.expect(409);
    assert!(refused["detail"].as_str().unwrap().contains("DELETE /api/servers/x"), "{refused}");
    scene.admin("DELETE /api/servers/x", Value::Null).await.expect(200);
    let board = scene.admin("GET /api/health", Value::Null).await.expect(200);
    scene.admin("POST /api/servers/register", body).await.expect(201);
    drop(board);
}

#[tokio::test]
async fn lists_are_counted_before_they_are_read() {
    let scene = Scene::start().await;
    let body = |member: &str, value: Value| {
        let mut body = json!({ "path": "/x", "proxy_pass_url": "http://127.0.0.1:9/mcp" });
        body[member] = value;
        body
    };
    let headers: Value =
        (0..40).map(|index| (format!("x-{index}"), json!("a"))).collect::<serde_json::Map<_, _>>().into();
    for (member, value) in [
        ("tags", json!(vec!["same"; 101])),
        ("tags", json!(["a\u{1b}b"])),
        ("required_scopes", json!(vec!["same"; 101])),
        ("headers", headers),
        ("server_name", json!("a\u{1b}b")),
        ("description", json!("a\u{1b}b")),
        ("owner", json!("a\nb")),
    ] {
        let problem = scene.admin("POST /api/servers/register", body(member, value)).await.expect(422);
        assert_eq!(problem["errors"][0]["field"], member, "{problem}");
    }
    let many: Vec<String> = (0..200_000).map(|index| index.to_string()).collect();
    let began = std::time::Instant::now();
    scene.admin("POST /api/servers/register", body("tags", json!(many.join(",")))).await.expect(422);
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn members_that_nobody_reads_are_named() {
    let scene = Scene::start().await;
    let mut body =
        json!({ "path": "/x", "proxy_pass_url": "http://127.0.0.1:9/mcp", "num_tools": 3, "tagz": ["a"] });
    let made = scene.admin("POST /api/servers/register", body.clone()).await.expect(201);
    assert_eq!(made["warnings"], json!(["tagz is no member of a registration and was not read"]));
    body["path"] = "/y".into();
    body.as_object_mut().unwrap().remove("tagz");
    let made = scene.admin("POST /api/servers/register", body).await.expect(201);
    assert_eq!(made.get("warnings"), None);
}

#[tokio::test]
async fn an_ambiguous_body_is_refused() {
    let scene = Scene::start().await;
    let json = "application/json";
    let form = "application/x-www-form-urlencoded";
    let url = "proxy_pass_url=http%3A%2F%2F127.0.0.1%3A9%2Fmcp";
    let twice = format!("path=/x&path=/y&{url}");
    let latin = format!("path=/x&server_name=caf%E9&{url}");
    let plain = format!("path=/x&{url}");
    for (place, kind, body, status, says) in [
        ("servers/register", json, r#"{"path":"/x2","path":"/x3"}"#, 400, "\"path\""),
        ("tokens", json, r#"{"subject":"a","groups":[{"a":1,"a":2}]}"#, 400, "\"a\""),
        ("tokens", json, r#"{"subject":"a","subj\u0065ct":"b"}"#, 400, "\"subject\""),
        ("servers/register", form, &twice, 422, "path: is given more than once"),
        ("servers/register", form, &latin, 400, "UTF-8"),
        ("servers/register", "application/x-www-form-urlencoded; charset=ISO-8859-1", &plain, 415, "UTF-8"),
        ("servers/register", "application/x-www-form-urlencoded; Charset=UTF-8", &plain, 201, "/x"),
    ] {
        let request = http::Request::post(format!("/api/{place}"))
            .header("authorization", format!("Bearer {}", scene.token("admin", true, &[])))
            .header("content-type", kind)
            .body(axum::body::Body::from(body.to_owned()))
            .unwrap();
        let answer = scene.send(request).await.expect(status);
        let text = answer.get("detail").and_then(Value::as_str).unwrap_or("/x");
        assert!(text.contains(says), "{body}: {answer}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let body = axum::body::Body::from_stream(futures_util::stream::pending::<
        Result<bytes::Bytes, std::io::Error>,
    >());
    let request = http::Request::post("/").body(body).unwrap();
    let deadline = std::time::Duration::from_millis(20);
    let problem = crate::api::extract::body_within(deadline, request, &()).await.expect_err("nothing comes");
    let response = axum::response::IntoResponse::into_response(problem);
    assert_eq!(
        (response.status().as_u16(), &response.headers()["connection"]),
        (408, &"close".parse().unwrap())
    );
}

#[tokio::test]
async fn a_preview_of_a_server_names_what_keeps_a_caller_out() {
    let scene = Scene::start().await;
    let (old, new) =
        (LegacyBackend::start("a").tool("search").await, LegacyBackend::start("a").tool("find").await);
    scene.register("/team/docs", &old.url()).await;
    scene.add_version("/team/docs", "v2", &new.url()).await;
    scene.admin("PATCH /api/servers/team/docs", json!({ "required_scopes": ["read"] })).await.expect(200);
    let path = "/api/servers/team/docs/preview";
    let seen = scene.admin(&format!("GET {path}?as=ann&scopes=read"), Value::Null).await.expect(200);
    assert_eq!((&seen["path"], &seen["version"]), (&json!("/team/docs"), &json!("v1.0.0")));
    assert_eq!((&seen["may_enter"], &seen["visible_count"]), (&json!(true), &json!(1)));
    assert_eq!((&seen["tools"][0]["name"], &seen["tools"][0]["visible"]), (&json!("search"), &json!(true)));
    let out = scene.admin(&format!("GET {path}?as=ann&groups=x&version=v2"), Value::Null).await.expect(200);
    assert_eq!((&out["may_enter"], &out["rules"][0]["rule"]), (&json!(false), &json!("endpoint_scopes")));
    assert_eq!((&out["tools"][0]["name"], &out["tools"][0]["visible"]), (&json!("find"), &json!(false)));
    assert_eq!(out["tools"][0]["reason"], "missing required scope: read");
    scene.admin(&format!("GET {path}?version=v9"), Value::Null).await.expect(404);
    scene.reader(&format!("GET {path}"), Value::Null).await.expect(200);
    scene.reader(&format!("GET {path}?as=ann"), Value::Null).await.expect(403);
    scene.admin("PATCH /api/servers/team/docs", json!({ "visibility": "private" })).await.expect(200);
    scene.reader(&format!("GET {path}"), Value::Null).await.expect(404);
}
