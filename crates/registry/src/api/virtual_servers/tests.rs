//! Virtual servers through the router: compose, refuse, change, resolve, preview, and who may.

use serde_json::{Value, json};
use testkit::{LegacyBackend, ModernBackend};

use crate::scene::Scene;

fn row(tool: &str, path: &str) -> Value {
    json!({ "tool_name": tool, "backend_server_path": path })
}

fn aliased(tool: &str, path: &str, alias: &str) -> Value {
    json!({ "tool_name": tool, "backend_server_path": path, "alias": alias })
}

fn dev_tools() -> Value {
    json!({ "server_name": "Dev Tools", "path": "/virtual/dev-tools", "description": "search and send", "tags": ["dev"],
        "tool_mappings": [aliased("search", "/github", "github_search"), aliased("search", "/jira", "jira_search"),
            row("send_message", "/slack")],
        "required_scopes": ["mcp-access"], "is_enabled": true,
        "tool_scope_overrides": [{ "tool_alias": "send_message", "required_scopes": ["slack-write"] }] })
}

/// The three servers of the example, registered and read.
async fn with_servers(scene: &Scene) -> (LegacyBackend, ModernBackend, LegacyBackend) {
    let github = LegacyBackend::start("github").tool("search").await;
    let jira = ModernBackend::start("jira").tool("search").await;
    let slack = LegacyBackend::start("slack").tool("send_message").tool("list_channels").await;
    scene.register("/github", &github.url()).await;
    scene.register("/jira", &jira.url()).await;
    scene.register("/slack", &slack.url()).await;
    (github, jira, slack)
}

#[tokio::test]
async fn a_virtual_server_is_composed_and_read_back() {
    let scene = Scene::start().await;
    let _backends = with_servers(&scene).await;
    let answer = scene.admin("POST /api/virtual-servers", dev_tools()).await;
    assert_eq!(answer.header("etag"), "\"1\"");
    let made = answer.expect(201);
    for (name, value) in dev_tools().as_object().unwrap() {
        match name.as_str() {
            "tool_mappings" => assert_eq!(made[name][0]["alias"], "github_search"),
            _ => assert_eq!(&made[name], value, "{name}"),
        }
    }
    assert_eq!((&made["num_tools"], &made["revision"]), (&json!(3), &json!(1)));
    assert_eq!(made["backend_server_paths"], json!(["/github", "/jira", "/slack"]));
    let shown = scene.reader("GET /api/virtual-servers/dev-tools", Value::Null).await;
    assert_eq!(shown.header("etag"), "\"1\"");
    assert_eq!(shown.expect(200), made);
    let again = scene.admin("POST /api/virtual-servers", dev_tools()).await.expect(409);
    assert!(again["detail"].as_str().unwrap().contains("/virtual/dev-tools exists already"), "{again}");

    let scene = scene.restart().await;
    assert_eq!(scene.reader("GET /api/virtual-servers/dev-tools", Value::Null).await.expect(200), made);
    assert_eq!(scene.admin("DELETE /api/virtual-servers/dev-tools", Value::Null).await.status, 204);
    scene.admin("GET /api/virtual-servers/dev-tools", Value::Null).await.expect(404);
    scene.admin("DELETE /api/virtual-servers/dev-tools", Value::Null).await.expect(404);
}

#[tokio::test]
async fn a_slug_is_made_of_the_name_and_defaults_are_kind() {
    let scene = Scene::start().await;
    let body = json!({ "server_name": " Dev Tools! ", "supported_transports": ["sse"], "num_stars": 4.5 });
    let made = scene.admin("POST /api/virtual-servers", body).await.expect(201);
    assert_eq!((&made["path"], &made["server_name"]), (&json!("/virtual/dev-tools"), &json!("Dev Tools!")));
    assert_eq!((&made["is_enabled"], &made["exposes_prompts"]), (&json!(false), &json!(true)));
    assert_eq!(made["warnings"], json!(["no tool is mapped"]));
    let nameless = scene.admin("POST /api/virtual-servers", json!({})).await.expect(422);
    let fields: Vec<_> =
        nameless["errors"].as_array().unwrap().iter().map(|one| one["field"].clone()).collect();
    assert_eq!(fields, ["path", "server_name"]);
}

#[tokio::test]
async fn all_faults_are_named_at_once_by_the_index_they_came_with() {
    let scene = Scene::start().await;
    let _backends = with_servers(&scene).await;
    let rows = json!([
        aliased("search", "/github", "bad alias!"),
        aliased("search", "/github", "same"),
        aliased("search", "/jira", "same"),
        row("ghost", "/slack"),
        aliased("search", "/no/such", "n"),
        { "tool_name": "search", "backend_server_path": "/jira", "alias": "p", "backend_version": "v9" },
        { "tool_name": "search", "backend_server_path": "/Bad Path/..", "alias": "b" },
        { "backend_server_path": "/github" },
        { "tool_name": "search", "backend_server_path": "/jira", "alias": "l", "backend_version": "latest" },
    ]);
    let body = json!({ "server_name": "x", "path": "/virtual/x y", "tool_mappings": rows, "required_scopes": ["a b"],
        "tool_scope_overrides": [{ "tool_alias": "typo", "required_scopes": [] },
            { "tool_alias": "bad alias!", "required_scopes": ["ok"] }, { "required_scopes": ["\""] }],
        "resource_routes": [{ "prefix": "x:", "backend_server_path": "/Bad Path/.." },
            { "prefix": "y", "backend_server_path": "/jira" }, { "prefix": "z:", "backend_server_path": "/unsure" }] });
    let problem = scene.admin("POST /api/virtual-servers", body).await.expect(422);
    let mut fields: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|one| one["field"].as_str().unwrap()).collect();
    fields.sort_unstable();
    let expected = [
        "path",
        "required_scopes[0]",
        "resource_routes[0].backend_server_path",
        "resource_routes[1].prefix",
        "tool_mappings[0].alias",
        "tool_mappings[2].alias",
        "tool_mappings[3].tool_name",
        "tool_mappings[4].backend_server_path",
        "tool_mappings[5].backend_version",
        "tool_mappings[6].backend_server_path",
        "tool_mappings[7].tool_name",
        "tool_mappings[8].backend_version",
        "tool_scope_overrides[0].tool_alias",
        "tool_scope_overrides[2].required_scopes[0]",
        "tool_scope_overrides[2].tool_alias",
    ];
    assert_eq!(fields, expected, "{problem}");
    let list = scene.admin("GET /api/virtual-servers?include_disabled=true", Value::Null).await.expect(200);
    assert_eq!(list["total_count"], 0);
}

#[tokio::test]
async fn a_server_registered_a_moment_ago_can_be_composed() {
    let scene = Scene::start().await;
    let backend = LegacyBackend::start("a").tool("echo").await;
    let body = json!({ "path": "/a", "proxy_pass_url": backend.url(), "is_enabled": true });
    scene.admin("POST /api/servers/register", body).await.expect(201);
    let body = json!({ "server_name": "v", "tool_mappings": [row("echo", "/a")] });
    scene.admin("POST /api/virtual-servers", body).await.expect(201);
    backend.set_tools(["echo", "fresh"]);
    let body = json!({ "tool_mappings": [row("echo", "/a"), row("fresh", "/a")] });
    scene.admin("PATCH /api/virtual-servers/v", body).await.expect(200);
}

#[tokio::test]
async fn put_replaces_and_patch_edits() {
    let scene = Scene::start().await;
    let _backends = with_servers(&scene).await;
    scene.admin("POST /api/virtual-servers", dev_tools()).await.expect(201);
    let patch = json!({ "description": "new words", "instructions": "Search first." });
    let edited = scene.admin("PATCH /api/virtual-servers/dev-tools", patch).await.expect(200);
    assert_eq!((&edited["description"], &edited["tags"]), (&json!("new words"), &json!(["dev"])));
    assert_eq!((&edited["instructions"], &edited["num_tools"]), (&json!("Search first."), &json!(3)));
    let put = json!({ "server_name": "Dev", "path": "/virtual/dev-tools", "tool_mappings": [row("search", "/github")] });
    let replaced = scene.admin("PUT /api/virtual-servers/dev-tools", put).await.expect(200);
    assert_eq!((&replaced["num_tools"], &replaced["tags"]), (&json!(1), &json!([])));
    assert_eq!((&replaced["instructions"], &replaced["required_scopes"]), (&Value::Null, &json!([])));
    assert_eq!((&replaced["is_enabled"], &replaced["revision"]), (&json!(true), &json!(3)));
    assert_eq!(replaced["created_at"], edited["created_at"]);
    let moved = json!({ "path": "/virtual/elsewhere" });
    let refused = scene.admin("PATCH /api/virtual-servers/dev-tools", moved).await.expect(422);
    assert_eq!(refused["errors"][0]["field"], "path");
    // What a read gave can be written back as it is.
    let same = scene.admin("PUT /api/virtual-servers/dev-tools", replaced).await.expect(200);
    assert_eq!(same["revision"], 4);
    let wrong =
        scene.admin("PUT /api/virtual-servers/dev-tools", json!({ "server_name": 5 })).await.expect(422);
    assert!(wrong["detail"].as_str().unwrap().contains("server_name"), "{wrong}");
}

#[tokio::test]
async fn a_write_may_name_the_revision_it_read() {
    let scene = Scene::start().await;
    scene.admin("POST /api/virtual-servers", json!({ "server_name": "v" })).await.expect(201);
    for what in
        ["PATCH /api/virtual-servers/v", "PUT /api/virtual-servers/v", "DELETE /api/virtual-servers/v"]
    {
        let body = json!({ "server_name": "w" });
        let stale = scene.admin_with(what, body, &[("if-match", "\"7\"")]).await.expect(412);
        assert_eq!(stale["revision"], 1, "{what}");
    }
    let good = [("if-match", "\"1\"")];
    let edited = scene.admin_with("PATCH /api/virtual-servers/v", json!({ "description": "d" }), &good).await;
    assert_eq!(edited.header("etag"), "\"2\"");
    let stale =
        scene.admin_with("POST /api/virtual-servers/v/toggle", json!({ "enabled": true }), &good).await;
    stale.expect(412);
}

#[tokio::test]
async fn a_tool_that_is_gone_is_named_and_the_rest_goes_on() {
    let scene = Scene::start().await;
    let (_github, _jira, slack) = with_servers(&scene).await;
    scene.admin("POST /api/virtual-servers", dev_tools()).await.expect(201);
    slack.set_tools(["list_channels"]);
    scene.admin("POST /api/servers/slack/refresh", Value::Null).await.expect(200);
    scene.admin("DELETE /api/servers/jira", Value::Null).await;
    let tools = scene.admin("GET /api/virtual-servers/dev-tools/tools", Value::Null).await.expect(200);
    assert_eq!(tools["missing"], json!(["jira_search", "send_message"]));
    let listed = tools["tools"].as_array().unwrap();
    let names: Vec<_> =
        listed.iter().map(|tool| (tool["name"].as_str().unwrap(), tool["missing"] == true)).collect();
    assert_eq!(names, [("github_search", false), ("jira_search", true), ("send_message", true)]);
    assert_eq!(listed[1]["reason"], "no server /jira is registered");
    assert_eq!(listed[2]["reason"], "/slack v1.0.0 no longer offers send_message");
    // An edit that keeps the rows is no worse than before; switching on anew is checked.
    scene.admin("PATCH /api/virtual-servers/dev-tools", json!({ "description": "d" })).await.expect(200);
    scene.admin("PUT /api/virtual-servers/dev-tools", dev_tools()).await.expect(200);
    scene.admin("POST /api/virtual-servers/dev-tools/toggle", json!({ "enabled": false })).await.expect(200);
    let toggle = json!({ "enabled": true });
    let refused = scene.admin("POST /api/virtual-servers/dev-tools/toggle", toggle).await.expect(422);
    assert_eq!(refused["errors"].as_array().unwrap().len(), 2, "{refused}");
}

#[tokio::test]
async fn resolved_tools_are_whole_and_name_their_version() {
    let scene = Scene::start().await;
    let old = LegacyBackend::start("old").tool(testkit::Tool::new("find").description("old")).await;
    let schema = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
    let tool =
        testkit::Tool::new("find").description("new").schema(schema.clone()).member("title", json!("Find"));
    let new = ModernBackend::start("new").tool(tool).await;
    scene.register("/a", &new.url()).await;
    scene.add_version("/a", "v0", &old.url()).await;
    let rows = json!([aliased("find", "/a", "find_new"),
        { "tool_name": "find", "backend_server_path": "/a", "backend_version": "v0", "description_override": "ours" }]);
    let body = json!({ "server_name": "v", "tool_mappings": rows, "required_scopes": ["enter"],
        "tool_scope_overrides": [{ "tool_alias": "find_new", "required_scopes": ["extra"] }] });
    scene.admin("POST /api/virtual-servers", body).await.expect(201);
    let tools = scene.admin("GET /api/virtual-servers/v/tools", Value::Null).await.expect(200);
    let (first, second) = (&tools["tools"][0], &tools["tools"][1]);
    assert_eq!((&first["name"], &first["tool_name"]), (&json!("find_new"), &json!("find")));
    assert_eq!((&first["backend_version"], &first["pinned"]), (&json!("v1.0.0"), &json!(false)));
    assert_eq!(
        (&first["description"], &first["required_scopes"]),
        (&json!("new"), &json!(["enter", "extra"]))
    );
    assert_eq!((&first["tool"]["name"], &first["tool"]["title"]), (&json!("find_new"), &json!("Find")));
    assert_eq!(first["tool"]["inputSchema"], schema);
    assert_eq!((&second["backend_version"], &second["pinned"]), (&json!("v0"), &json!(true)));
    assert_eq!((&second["description"], &second["tool"]["description"]), (&json!("ours"), &json!("ours")));
    let hidden = scene.reader("GET /api/virtual-servers/v/tools", Value::Null).await.expect(200);
    assert_eq!(hidden["total_count"], 0);
}

#[tokio::test]
async fn lists_page_and_filter() {
    let scene = Scene::start().await;
    for (name, is_enabled, tag) in [("alpha", true, "x"), ("beta", true, "y"), ("gamma", false, "x")] {
        let body = json!({ "server_name": name, "is_enabled": is_enabled, "tags": [tag], "description": "about it" });
        scene.admin("POST /api/virtual-servers", body).await.expect(201);
    }
    for (query, expected, total, has_next) in [
        ("", vec!["alpha", "beta"], 2, false),
        ("?include_disabled=true", vec!["alpha", "beta", "gamma"], 3, false),
        ("?limit=1", vec!["alpha"], 2, true),
        ("?limit=1&offset=1", vec!["beta"], 2, false),
        ("?tag=x", vec!["alpha"], 1, false),
        ("?query=ETA", vec!["beta"], 1, false),
        ("?query=/virtual/beta", vec!["beta"], 1, false),
        ("?query=about&offset=9", vec![], 2, false),
    ] {
        let page = scene.reader(&format!("GET /api/virtual-servers{query}"), Value::Null).await.expect(200);
        let list = page["virtual_servers"].as_array().unwrap();
        let names: Vec<_> = list.iter().map(|one| one["server_name"].as_str().unwrap()).collect();
        assert_eq!(
            (names, &page["total_count"], &page["has_next"]),
            (expected, &json!(total), &json!(has_next))
        );
    }
    scene.reader("GET /api/virtual-servers?limit=0", Value::Null).await.expect(422);
}

#[tokio::test]
async fn a_preview_names_what_is_seen_and_what_is_lacking() {
    let scene = Scene::start().await;
    let _backends = with_servers(&scene).await;
    scene.admin("POST /api/virtual-servers", dev_tools()).await.expect(201);
    let group = json!({ "name": "devs", "scopes": ["mcp-access"] });
    scene.admin("POST /api/groups", group).await.expect(201);
    scene.admin("POST /api/tokens", json!({ "subject": "alice", "groups": ["devs"] })).await.expect(201);

    let seen =
        scene.admin("GET /api/virtual-servers/dev-tools/preview?as=alice", Value::Null).await.expect(200);
    assert_eq!(
        (&seen["as"], &seen["may_enter"], &seen["visible_count"]),
        (&json!("alice"), &json!(true), &json!(2))
    );
    assert_eq!((&seen["groups"], &seen["scopes"]), (&json!(["devs"]), &json!(["mcp-access"])));
    let hidden = &seen["tools"][2];
    assert_eq!((&hidden["name"], &hidden["visible"]), (&json!("send_message"), &json!(false)));
    assert_eq!(hidden["missing_scopes"], json!(["slack-write"]));
    assert_eq!(hidden["reason"], "missing required scope: slack-write");
    let rule = json!({ "rule": "tool_scopes", "of": "send_message",
        "detail": "missing required scope: slack-write" });
    assert_eq!((&hidden["rules"], &seen["rules"]), (&json!([rule]), &json!([])));
    assert_eq!(seen["tools"][0].get("rules"), None);

    let path = "/api/virtual-servers/dev-tools/preview";
    let given =
        scene.admin(&format!("GET {path}?as=bob&scopes=slack-write,%20other"), Value::Null).await.expect(200);
    assert_eq!((&given["may_enter"], &given["missing_scopes"]), (&json!(false), &json!(["mcp-access"])));
    assert_eq!(
        (&given["visible_count"], &given["tools"][2]["missing_scopes"]),
        (&json!(0), &json!(["mcp-access"]))
    );
    let names = |rules: &Value| -> Vec<String> {
        rules.as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&given["rules"]), ["endpoint_scopes"]);
    assert_eq!(names(&given["tools"][0]["rules"]), ["endpoint_scopes"]);
    scene.admin("POST /api/servers/slack/toggle", json!({ "enabled": false })).await.expect(200);
    scene.admin("POST /api/virtual-servers/dev-tools/toggle", json!({ "enabled": false })).await.expect(200);
    let bound = json!({ "subject": "carl", "scopes": ["other"], "resource": "/slack" });
    scene.admin("POST /api/tokens", bound).await.expect(201);
    let all = scene.admin(&format!("GET {path}?as=carl"), Value::Null).await.expect(200);
    assert_eq!(names(&all["rules"]), ["disabled", "token_bound", "endpoint_scopes"]);
    assert_eq!(
        names(&all["tools"][2]["rules"]),
        ["tool_scopes", "unavailable", "disabled", "token_bound", "endpoint_scopes"]
    );
    scene.admin("POST /api/servers/slack/toggle", json!({ "enabled": true })).await.expect(200);
    scene.admin("POST /api/virtual-servers/dev-tools/toggle", json!({ "enabled": true })).await.expect(200);
    let both =
        scene.admin(&format!("GET {path}?groups=devs&scopes=slack-write"), Value::Null).await.expect(200);
    assert_eq!(both["visible_count"], 3);
    let nobody = scene.admin(&format!("GET {path}?as=nobody"), Value::Null).await.expect(200);
    assert!(nobody["based_on"].as_str().unwrap().contains("no live token"), "{nobody}");
    let own = scene.admin(&format!("GET {path}"), Value::Null).await.expect(200);
    assert_eq!((&own["is_admin"], &own["visible_count"]), (&json!(true), &json!(3)));
    let bad = scene.admin(&format!("GET {path}?scopes=a%20b"), Value::Null).await.expect(422);
    assert_eq!(bad["errors"][0]["field"], "scopes");

    scene.reader(&format!("GET {path}?as=reader"), Value::Null).await.expect(200);
    scene.reader(&format!("GET {path}?as=alice"), Value::Null).await.expect(403);
    scene.reader(&format!("GET {path}?groups=devs"), Value::Null).await.expect(403);
    scene.admin("GET /api/virtual-servers/none/preview", Value::Null).await.expect(404);
}

#[tokio::test]
async fn only_administrators_write_and_nobody_reads_without_a_token() {
    let scene = Scene::start().await;
    scene.admin("POST /api/virtual-servers", json!({ "server_name": "v" })).await.expect(201);
    for what in [
        "POST /api/virtual-servers",
        "PUT /api/virtual-servers/v",
        "PATCH /api/virtual-servers/v",
        "POST /api/virtual-servers/v/toggle",
        "DELETE /api/virtual-servers/v",
    ] {
        let body = json!({ "server_name": "mine", "enabled": true });
        scene.call(what, "", body.clone(), &[]).await.expect(401);
        scene.reader(what, body).await.expect(403);
    }
    scene.call("GET /api/virtual-servers", "", Value::Null, &[]).await.expect(401);
    let list = scene.admin("GET /api/virtual-servers?include_disabled=true", Value::Null).await.expect(200);
    assert_eq!((&list["total_count"], &list["virtual_servers"][0]["revision"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn long_lists_and_control_characters_are_refused() {
    let scene = Scene::start().await;
    let many: Vec<String> = (0..101).map(|index| index.to_string()).collect();
    let overrides = vec![json!({ "tool_alias": "a" }); 2001];
    for (member, value) in [
        ("tags", json!(many)),
        ("tags", json!(["a\nb"])),
        ("required_scopes", json!(many)),
        ("tool_scope_overrides", json!(overrides)),
        ("server_name", json!("a\u{1b}b")),
        ("description", json!("a\u{1b}b")),
        ("instructions", json!("a\u{0}b")),
    ] {
        let mut body = json!({ "server_name": "x", "path": "/virtual/x" });
        body[member] = value;
        let problem = scene.admin("POST /api/virtual-servers", body).await.expect(422);
        assert_eq!(problem["errors"][0]["field"], member, "{problem}");
    }
}

#[tokio::test]
async fn a_damaged_virtual_server_is_named_and_not_overwritten() {
    let scene = Scene::start().await;
    let body = json!({ "server_name": "x", "path": "/virtual/x" });
    scene.admin("POST /api/virtual-servers", body.clone()).await.expect(201);
    scene.damage("UPDATE virtual_servers SET record = '{'");
    let scene = scene.restart().await;
    let board = scene.admin("GET /api/health", Value::Null).await.expect(200);
    assert_eq!(board["left_out"][0]["what"], "/virtual/x");
    assert!(board["left_out"][0]["reason"].as_str().unwrap().contains("cannot be read"), "{board}");
    let refused = scene.admin("POST /api/virtual-servers", body.clone()).await.expect(409);
    assert!(refused["detail"].as_str().unwrap().contains("DELETE /api/virtual-servers/x"), "{refused}");
    assert_eq!(scene.admin("DELETE /api/virtual-servers/x", Value::Null).await.status, 204);
    scene.admin("POST /api/virtual-servers", body).await.expect(201);
}

#[tokio::test]
async fn names_that_clients_refuse_come_with_one_that_they_take() {
    let scene = Scene::start().await;
    let long = "list_all_the_repositories_of_an_organisation_with_their_branches_and_tags";
    let github = LegacyBackend::start("github").tool(long).tool("search").tool("suche nach").await;
    let jira = LegacyBackend::start("jira").tool("search").await;
    scene.register("/github", &github.url()).await;
    scene.register("/jira", &jira.url()).await;
    let body = |rows: &[Value]| json!({ "server_name": "Names", "tool_mappings": rows });
    let refused = [row("search", "/github"), row("search", "/jira"), row("suche nach", "/github")];
    let refused = scene.admin("POST /api/virtual-servers", body(&refused)).await.expect(422);
    let reason = |index: usize| refused["errors"][index]["reason"].as_str().unwrap().to_owned();
    assert!(reason(0).ends_with("for example jira_search"), "{refused}");
    assert!(reason(1).ends_with("for example suche_nach"), "{refused}");
    let rows = [row("search", "/github"), row(long, "/github")];
    let made = scene.admin("POST /api/virtual-servers", body(&rows)).await.expect(201);
    let alias = made["suggested_aliases"][0]["alias"].as_str().unwrap().to_owned();
    assert_eq!(made["suggested_aliases"], json!([{ "row": 1, "name": long, "alias": alias }]));
    assert!(alias.len() <= 64 && alias.starts_with("list_all_the_repositories"), "{alias}");
    assert!(made["warnings"][0].as_str().unwrap().ends_with(&alias), "{made}");
    let shown = scene.reader("GET /api/virtual-servers/names", Value::Null).await.expect(200);
    assert_eq!(shown["suggested_aliases"], made["suggested_aliases"]);
    let rows = [row("search", "/github"), aliased(long, "/github", &alias)];
    let taken = scene.admin("PATCH /api/virtual-servers/names", body(&rows)).await.expect(200);
    assert_eq!((taken.get("suggested_aliases"), taken.get("warnings")), (None, None), "{taken}");
}

#[tokio::test]
async fn what_is_hidden_by_a_server_mapped_before_is_named() {
    let scene = Scene::start().await;
    let one = LegacyBackend::start("one")
        .tool("a")
        .prompt("review")
        .resource("file:///x")
        .template("db://{t}")
        .await;
    let two = LegacyBackend::start("two")
        .tool("b")
        .prompt("review")
        .resource("file:///x")
        .template("db://{t}")
        .await;
    scene.register("/one", &one.url()).await;
    scene.register("/two", &two.url()).await;
    let body = json!({ "server_name": "Both", "tool_mappings": [row("b", "/two"), row("a", "/one"), aliased("a", "/one", "c")] });
    let made = scene.admin("POST /api/virtual-servers", body).await.expect(201);
    let hidden = |what: &str| format!("the {what} of /one is not shown: /two, mapped before it, has one");
    let expected = ["prompt review", "resource file:///x", "resource template db://{t}"].map(hidden);
    assert_eq!(made["warnings"], json!(expected));
    let change = json!({ "exposes_prompts": false, "exposes_resources": false });
    let made = scene.admin("PATCH /api/virtual-servers/both", change).await.expect(200);
    assert_eq!(made.get("warnings"), None);
}
