//! Scope documents: servers, methods and tools, on the paths of servers and on virtual servers.

use serde_json::{Value, json};
use testkit::{Client, LegacyBackend, ModernBackend};

use crate::app::App;
use crate::caller::Caller;
use crate::compose::row;

/// `/github` and `/notes` (of the newer era), open; and `/virtual/dev-tools` of both.
struct Stage {
    app: App,
    github: LegacyBackend,
    notes: ModernBackend,
}

const USUAL: [&str; 5] = ["initialize", "notifications/initialized", "ping", "tools/list", "tools/call"];

impl Stage {
    async fn set() -> Self {
        let tools = ["search", "get_issue", "delete_repo"];
        let github = LegacyBackend::start("github").tools(tools).prompt("review").await;
        let notes = ModernBackend::start("notes").tools(["read", "write"]).await;
        let app = App::start().await;
        app.serve("/github", &github.url()).await;
        app.serve("/notes", &notes.url()).await;
        let rows =
            [row("search", "/github", ""), row("delete_repo", "/github", "rm"), row("read", "/notes", "")];
        app.compose("dev-tools", &rows).await;
        Self { app, github, notes }
    }

    /// Like the one before, with `/github` for readers alone.
    async fn guarded() -> Self {
        let stage = Self::set().await;
        let readers = json!({
            "scope_name": "github-readers",
            "description": "Look around",
            "server_access": [{ "server": "github", "methods": USUAL, "tools": ["search", "get_*"] }],
            "group_mappings": ["readers"],
            "create_in_idp": true,
        });
        let made = stage.app.admin().send("POST /api/scopes", readers).await.expect(201);
        assert_eq!(made["group_mappings"], json!(["readers"]));
        assert!(made["warnings"].to_string().contains("/github is now for"), "{made}");
        stage
    }

    async fn member(&self, group: &str) -> Caller {
        let body = json!({ "subject": "ann", "groups": [group] });
        let issued = self.app.admin().send("POST /api/tokens", body).await.expect(201);
        Caller::new(self.app.authority(), issued["token"].as_str())
    }

    /// Clients of both eras at a path.
    async fn clients(&self, path: &str, caller: &Caller) -> [Client; 2] {
        let mut legacy = self.app.client(path, caller);
        legacy.initialize().await;
        [legacy, self.app.modern(path, caller)]
    }

    async fn put(&self, name: &str, document: Value) {
        self.app.admin().send(&format!("PUT /api/scopes/{name}"), document).await.expect(200);
    }
}

#[tokio::test]
async fn on_a_servers_path_only_what_a_scope_allows_is_seen_and_runs() {
    let stage = Stage::guarded().await;
    let reader = stage.member("readers").await;
    for client in stage.clients("/github", &reader).await {
        assert_eq!(client.tools().await, ["search", "get_issue"]);
        client.call("search", json!({})).await;
        client.call("get_issue", json!({})).await;
        let refused = client.try_call("delete_repo", json!({})).await;
        // Nobody's scope allows it, so none is asked for.
        assert_eq!(refused.error().await["code"], -31005);
        let refused = client.request("prompts/list", json!({})).await;
        assert_eq!(refused.error().await["message"], "no scope allows prompts/list at /github");
    }
    assert_eq!((stage.github.runs("search"), stage.github.runs("delete_repo")), (2, 0));
    let stranger = stage.app.reader().await;
    for client in [stage.app.client("/github", &stranger), stage.app.modern("/github", &stranger)] {
        let refused = client.request("tools/list", json!({})).await;
        assert_eq!(refused.status, 403);
        assert!(refused.header("www-authenticate").contains("scope=\"github-readers\""));
    }
    let open = stage.clients("/notes", &stranger).await;
    assert_eq!(open[0].tools().await, ["read", "write"], "what no document names is open");
    let [admin, _] = stage.clients("/github", &stage.app.admin()).await;
    assert_eq!(admin.tools().await, ["search", "get_issue", "delete_repo"]);
    admin.call("delete_repo", json!({})).await;
}

#[tokio::test]
async fn what_is_refused_names_the_scope_that_allows_least() {
    let stage = Stage::guarded().await;
    let all = json!([{ "server": "*", "methods": ["all"], "tools": ["all"] }]);
    let owners = json!([{ "server": "/github/", "methods": USUAL, "tools": ["delete_repo"] }]);
    for (name, access) in [("everything", all), ("github-owners", owners)] {
        let body = json!({ "name": name, "server_access": access });
        stage.app.admin().send("POST /api/scopes", body).await.expect(201);
    }
    let client = &stage.clients("/github", &stage.member("readers").await).await[0];
    let refused = client.try_call("delete_repo", json!({})).await;
    assert_eq!(refused.status, 403);
    assert!(refused.header("www-authenticate").contains("scope=\"github-owners\""));
    assert_eq!(refused.error().await["message"], "Missing required scope: github-owners");
    let owner = stage.app.holder("bob", &["github-owners", "github-readers"]).await;
    for client in stage.clients("/github", &owner).await {
        assert_eq!(client.tools().await, ["search", "get_issue", "delete_repo"]);
        client.call("delete_repo", json!({})).await;
    }
    // One document names every endpoint, so none is open any more.
    let stranger = stage.app.reader().await;
    for path in ["/notes", "/virtual/dev-tools"] {
        assert_eq!(stage.app.client(path, &stranger).try_initialize().await.status, 403, "{path}");
    }
    let holder = stage.app.holder("eve", &["everything"]).await;
    for path in ["/github", "/notes", "/virtual/dev-tools"] {
        for client in stage.clients(path, &holder).await {
            assert!(!client.tools().await.is_empty(), "{path}");
        }
    }
}

#[tokio::test]
async fn a_virtual_server_is_no_way_around_a_guarded_server() {
    let stage = Stage::guarded().await;
    let stranger = stage.app.reader().await;
    for client in stage.clients("/virtual/dev-tools", &stranger).await {
        assert_eq!(client.tools().await, ["read"]);
        for name in ["search", "rm"] {
            assert_ne!(client.try_call(name, json!({})).await.error().await, Value::Null, "{name}");
        }
        let prompts = client.list("prompts/list").await;
        assert!(prompts.is_empty(), "{prompts:?}");
        assert_eq!(
            client.request("prompts/get", json!({ "name": "review" })).await.error().await["code"],
            -31005
        );
        client.call("read", json!({})).await;
    }
    let reader = stage.member("readers").await;
    for client in stage.clients("/virtual/dev-tools", &reader).await {
        assert_eq!(client.tools().await, ["search", "read"]);
        client.call("search", json!({})).await;
        assert_eq!(client.try_call("rm", json!({})).await.error().await["code"], -31005);
    }
    assert_eq!(stage.github.runs("delete_repo"), 0);
    assert_eq!(stage.notes.runs("read"), 2);
}

#[tokio::test]
async fn a_virtual_server_that_is_named_itself_is_judged_by_its_own_names() {
    let stage = Stage::guarded().await;
    let access = json!([{ "server": "virtual/dev-tools", "methods": USUAL, "tools": ["rm"] }]);
    let body = json!({ "name": "cleaners", "server_access": access });
    stage.app.admin().send("POST /api/scopes", body).await.expect(201);
    let cleaner = stage.app.holder("bob", &["cleaners"]).await;
    for client in stage.clients("/virtual/dev-tools", &cleaner).await {
        assert_eq!(client.tools().await, ["rm"]);
        client.call("rm", json!({})).await;
        assert_eq!(client.try_call("read", json!({})).await.error().await["code"], -31005);
    }
    assert_eq!(stage.github.runs("delete_repo"), 2);
    let reader = stage.member("readers").await;
    let refused = stage.app.client("/virtual/dev-tools", &reader).try_initialize().await;
    assert!(refused.header("www-authenticate").contains("scope=\"cleaners\""));
    assert_eq!(stage.app.client("/github", &cleaner).try_initialize().await.status, 403);
}

#[tokio::test]
async fn what_is_taken_away_is_gone_with_the_next_request() {
    let stage = Stage::guarded().await;
    let reader = stage.member("readers").await;
    let clients = stage.clients("/github", &reader).await;
    let access = json!([{ "server": "github", "methods": USUAL, "tools": ["get_issue"] }]);
    stage.put("github-readers", json!({ "server_access": access })).await;
    for client in &clients {
        assert_eq!(client.tools().await, ["get_issue"]);
        assert_eq!(client.try_call("search", json!({})).await.error().await["code"], -31005);
    }
    let empty = json!({ "server_access": access, "group_mappings": [] });
    stage.put("github-readers", empty).await;
    for client in &clients {
        assert_eq!(client.try_call("get_issue", json!({})).await.status, 403);
    }
    stage.app.admin().send("DELETE /api/scopes/github-readers", Value::Null).await;
    for client in &clients {
        assert_eq!(client.tools().await.len(), 3, "nothing names it any more");
    }
}

#[tokio::test]
async fn no_spelling_gets_around_a_guard() {
    let stage = Stage::guarded().await;
    let client = &stage.clients("/github", &stage.member("readers").await).await[0];
    let bodies = [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","name":"delete_repo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_repo","name":"search"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n\u0061me":"delete_repo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","n\u0061me":"delete_repo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\u0064elete_repo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"delete_repo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"delete_repo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"},"params":{"name":"delete_repo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["delete_repo"]}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_repo"}}]"#,
        // Without an id it is no request, and yet some would run it.
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_repo"}}"#,
    ];
    let message = client.message("ping", json!({}));
    for body in bodies {
        client.post_bytes(client.headers_for(&message), body).await;
    }
    assert_eq!(stage.github.runs("delete_repo"), 0);
    assert!(stage.github.asked("tools/call").is_empty(), "{:?}", stage.github.asked("tools/call"));
}

#[tokio::test]
async fn lists_that_come_as_streams_are_shortened_too() {
    let events = LegacyBackend::start("events").tools(["one", "two"]).with_events().await;
    let app = App::start().await;
    app.serve("/events", &events.url()).await;
    let body =
        json!({ "name": "half", "server_access": [{ "server": "events", "methods": "*", "tools": "two" }] });
    app.admin().send("POST /api/scopes", body).await.expect(201);
    let caller = app.holder("ann", &["half"]).await;
    let mut legacy = app.client("/events", &caller);
    legacy.initialize().await;
    for client in [legacy, app.modern("/events", &caller)] {
        assert_eq!(client.tools().await, ["two"]);
        client.call("two", json!({})).await;
    }
}

#[tokio::test]
async fn a_batch_and_an_event_stream_obey_the_same_scopes() {
    let stage = Stage::guarded().await;
    let reader = stage.member("readers").await;
    let mut client = stage.app.client("/github", &reader).revision("2025-03-26");
    client.initialize().await;
    let call = |name: &str| client.message("tools/call", json!({ "name": name, "arguments": {} }));
    let batch = json!([call("search"), call("delete_repo"), client.message("tools/list", json!({}))]);
    let answers = client.post(&batch).await.json().await;
    let text = answers.to_string();
    assert!(text.contains("no scope allows delete_repo at /github"), "{text}");
    assert!(text.contains("get_issue") && !text.contains("\"name\":\"delete_repo\""), "{text}");
    assert_eq!((stage.github.runs("search"), stage.github.runs("delete_repo")), (1, 0));
    let stranger = stage.app.reader().await;
    stranger.get("/github/sse").await.expect(403);
}

#[tokio::test]
async fn the_originals_file_of_scopes_moves_in() {
    let stage = Stage::set().await;
    let file = json!({
        "UI-Scopes": { "registry-users": { "list_service": ["github"] } },
        "group_mappings": {
            "admins": ["servers-unrestricted/execute"],
            "users": ["registry-users", "servers-restricted/read"],
        },
        "servers-unrestricted/execute": [{ "server": "*", "methods": ["all"], "tools": ["all"] }],
        "servers-restricted/read": [
            { "server": "github", "methods": ["initialize", "tools/list", "tools/call"], "tools": ["search"] },
            { "agents": { "actions": [{ "action": "list_agents", "resources": ["/x"] }] } },
        ],
    });
    let imported = stage.app.admin().send("POST /api/scopes/import", file).await.expect(200);
    assert_eq!(
        imported["scopes"],
        json!(["registry-users", "servers-restricted/read", "servers-unrestricted/execute"])
    );
    let user = stage.member("users").await;
    let [client, _] = stage.clients("/github", &user).await;
    assert_eq!(client.tools().await, ["search"]);
    assert_eq!(stage.app.client("/notes", &user).try_initialize().await.status, 403);
    let found = user.get("/api/servers").await.expect(200);
    let paths: Vec<&Value> = found["servers"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(paths, ["/github"], "the API shows no more than that");
    let [admin, _] = stage.clients("/notes", &stage.member("admins").await).await;
    assert_eq!(admin.tools().await, ["read", "write"]);
    let shown = stage.app.admin().get("/api/scopes/servers-restricted%2Fread").await.expect(200);
    assert_eq!(shown["server_access"][0]["tools"], json!(["search"]));
    assert_eq!(shown["group_mappings"], json!(["users"]));
}
