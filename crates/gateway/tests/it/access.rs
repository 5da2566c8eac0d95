//! Access: who may enter, see and call what, and whose credentials go where.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::script::Reply;
use testkit::{Client, LegacyBackend};

use crate::app::{App, PATIENCE};
use crate::caller::Caller;
use crate::compose::row;

/// The seeds' example: `create_pr` needs more than the endpoint does.
struct Guarded {
    app: App,
    github: LegacyBackend,
}

impl Guarded {
    async fn start() -> Self {
        Self::configured("").await
    }

    async fn configured(toml: &str) -> Self {
        let github = LegacyBackend::start("github").tools(["search", "create_pr", "delete_repo"]).await;
        let app = App::configured(toml).await;
        app.serve("/github", &github.url()).await;
        let rows = [
            row("search", "/github", ""),
            row("create_pr", "/github", ""),
            row("delete_repo", "/github", "rm"),
        ];
        let guarded = json!({
            "tool_mappings": rows,
            "required_scopes": ["mcp-access"],
            "tool_scope_overrides": [
                { "tool_alias": "create_pr", "required_scopes": ["github-write"] },
                { "tool_alias": "rm", "required_scopes": ["github-write", "github-admin"] },
            ],
        });
        app.compose_with("dev-tools", guarded).await;
        Self { app, github }
    }

    async fn visit(&self, subject: &str, scopes: &[&str]) -> Client {
        let mut client = self.app.client("/virtual/dev-tools", &self.app.holder(subject, scopes).await);
        client.initialize().await;
        client
    }
}

#[tokio::test]
async fn without_a_token_there_is_a_challenge_and_metadata() {
    let stage = Guarded::start().await;
    for path in ["/virtual/dev-tools", "/virtual/dev-tools/mcp", "/github"] {
        let client = stage.app.client(path, &stage.app.anonymous());
        let short = path.trim_end_matches("/mcp");
        let metadata = format!("/.well-known/oauth-protected-resource{short}");
        // A client asks its authorization server for these scopes at once.
        let scopes = if path == "/github" { "" } else { ", scope=\"mcp-access\"" };
        let expected = format!("Bearer resource_metadata=\"{}{metadata}\"{scopes}", stage.app.url);
        for answer in [client.try_initialize().await, client.get().await, client.delete().await] {
            assert_eq!(answer.status, 401, "{path}");
            assert_eq!(answer.header("www-authenticate"), expected);
        }
        let document = stage.app.anonymous().get(&metadata).await.expect(200);
        assert_eq!(document["resource"], format!("{}{short}", stage.app.url));
        assert_eq!(document["bearer_methods_supported"], json!(["header"]));
    }
    let document =
        stage.app.anonymous().get("/.well-known/oauth-protected-resource/virtual/dev-tools/mcp").await;
    let document = document.expect(200);
    assert_eq!(document["resource"], format!("{}/virtual/dev-tools", stage.app.url));
    assert_eq!(document["scopes_supported"], json!(["mcp-access"]));
    stage.app.anonymous().get("/.well-known/oauth-protected-resource/none").await.expect(404);
    assert!(stage.github.calls().is_empty());
}

#[tokio::test]
async fn a_public_url_is_the_one_that_is_named() {
    let toml = "[server]\npublic_url = \"https://mcp.example.com\"";
    let stage = Guarded::configured(toml).await;
    let answer = stage.app.client("/github", &stage.app.anonymous()).try_initialize().await;
    let metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/github";
    assert_eq!(answer.header("www-authenticate"), format!("Bearer resource_metadata=\"{metadata}\""));
    let document =
        stage.app.anonymous().get("/.well-known/oauth-protected-resource/github").await.expect(200);
    assert_eq!(document["resource"], "https://mcp.example.com/github");
}

#[tokio::test]
async fn a_token_that_is_none_is_refused() {
    let stage = Guarded::start().await;
    let good = stage.app.reader().await.token.unwrap();
    let (head, signature) = good.rsplit_once('.').unwrap();
    let client = stage.app.client("/github", &stage.app.anonymous());
    let bad = [
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer nonsense".to_owned(),
        format!("Basic {good}"),
        good.clone(),
        format!("Bearer {head}."),
        format!("Bearer {head}.{}", signature.chars().rev().collect::<String>()),
        format!("Bearer {good}x"),
        // Signed by nobody, which some libraries take.
        format!("Bearer eyJhbGciOiJub25lIn0.{}.", good.split('.').nth(1).unwrap()),
    ];
    for value in bad {
        let answer = client.clone().header("authorization", &value).try_initialize().await;
        assert_eq!(answer.status, 401, "{value}");
        assert!(answer.header("www-authenticate").starts_with("Bearer "), "{value}");
    }
    for value in [format!("bearer {good}"), format!("BEARER {good}")] {
        let answer = client.clone().header("authorization", &value).try_initialize().await;
        assert_eq!(answer.status, 200, "{value}");
    }
    let message = client.message("initialize", json!({}));
    let mut headers = client.headers_for(&message);
    for _ in 0..2 {
        headers.append("authorization", format!("Bearer {good}").parse().unwrap());
    }
    assert_eq!(client.post_bytes(headers, message.to_string()).await.status, 401, "sent twice");
}

#[tokio::test]
async fn the_endpoint_needs_all_its_scopes() {
    let stage = Guarded::start().await;
    let blocked = stage.app.client("/virtual/dev-tools", &stage.app.holder("bob", &["other-stuff"]).await);
    let answer = blocked.try_initialize().await;
    assert_eq!(answer.status, 403);
    let challenge = answer.header("www-authenticate").to_owned();
    assert!(
        challenge.starts_with("Bearer error=\"insufficient_scope\", scope=\"mcp-access\""),
        "{challenge}"
    );
    assert_eq!(answer.error().await["message"], "Missing required scope: mcp-access");
    assert_eq!(stage.visit("alice", &["mcp-access"]).await.tools().await, ["search"]);
}

#[tokio::test]
async fn a_tool_that_needs_more_is_hidden_and_refused() {
    let stage = Guarded::start().await;
    let client = stage.visit("alice", &["mcp-access", "github-read"]).await;
    assert_eq!(client.tools().await, ["search"]);
    client.call("search", json!({})).await;
    let message = client.message("tools/call", json!({ "name": "create_pr", "arguments": {} }));
    let answer = client.post(&message).await;
    assert_eq!(answer.status, 403);
    let metadata = format!("{}/.well-known/oauth-protected-resource/virtual/dev-tools", stage.app.url);
    let expected = format!(
        "Bearer error=\"insufficient_scope\", scope=\"mcp-access github-write\", resource_metadata=\"{metadata}\", error_description=\"Missing required scope: github-write\""
    );
    assert_eq!(answer.header("www-authenticate"), expected);
    let expected = json!({ "jsonrpc": "2.0", "id": message["id"], "error": {
        "code": -31008, "message": "Missing required scope: github-write" } });
    assert_eq!(answer.json().await, expected);
    let answer = client.try_call("rm", json!({})).await;
    let challenge = answer.header("www-authenticate");
    assert!(challenge.contains("scope=\"mcp-access github-write github-admin\""), "every scope: {challenge}");
    assert_eq!((stage.github.runs("create_pr"), stage.github.runs("delete_repo")), (0, 0));
    let writer = stage.visit("writer", &["mcp-access", "github-write"]).await;
    assert_eq!(writer.tools().await, ["search", "create_pr"]);
    writer.call("create_pr", json!({})).await;
    let answer = writer.try_call("rm", json!({})).await;
    assert_eq!(answer.error().await["message"], "Missing required scope: github-admin");
    let all = stage.visit("all", &["mcp-access", "github-write", "github-admin"]).await;
    assert_eq!(all.tools().await, ["search", "create_pr", "rm"]);
    all.call("rm", json!({})).await;
}

#[tokio::test]
async fn an_administrator_may_do_everything() {
    let stage = Guarded::start().await;
    let mut client = stage.app.client("/virtual/dev-tools", &stage.app.admin());
    client.initialize().await;
    assert_eq!(client.tools().await, ["search", "create_pr", "rm"]);
    client.call("rm", json!({})).await;
}

#[tokio::test]
async fn a_server_can_need_scopes_too() {
    let stage = Guarded::start().await;
    let edit = json!({ "required_scopes": ["github-read"] });
    stage.app.admin().send("PATCH /api/servers/github", edit).await.expect(200);
    let blocked = stage.app.client("/github", &stage.app.reader().await);
    assert_eq!(blocked.try_initialize().await.status, 403);
    let mut client = stage.app.client("/github", &stage.app.holder("alice", &["github-read"]).await);
    client.initialize().await;
    client.call("search", json!({})).await;
}

#[tokio::test]
async fn a_change_of_access_holds_for_the_next_request() {
    let stage = Guarded::start().await;
    let admin = stage.app.admin();
    let group = json!({ "name": "developers", "scopes": ["mcp-access"] });
    admin.send("POST /api/groups", group).await.expect(201);
    let body = json!({ "subject": "carol", "groups": ["developers"] });
    let issued = admin.send("POST /api/tokens", body).await.expect(201);
    let carol = Caller::new(stage.app.authority(), issued["token"].as_str());
    let mut client = stage.app.client("/virtual/dev-tools", &carol);
    client.initialize().await;
    assert_eq!(client.tools().await, ["search"]);
    let more = json!({ "scopes": ["mcp-access", "github-write"] });
    admin.send("PATCH /api/groups/developers", more).await.expect(200);
    assert_eq!(client.tools().await, ["search", "create_pr"]);
    client.call("create_pr", json!({})).await;
    admin.send("PATCH /api/groups/developers", json!({ "scopes": ["github-write"] })).await.expect(200);
    assert_eq!(client.request("tools/list", json!({})).await.status, 403);
    admin.send("PATCH /api/groups/developers", json!({ "scopes": ["mcp-access"] })).await.expect(200);
    stage.app.recompose("dev-tools", json!({ "tool_scope_overrides": [] })).await;
    assert_eq!(client.tools().await, ["search", "create_pr", "rm"]);
    let revoke = format!("DELETE /api/tokens/{}", issued["id"].as_str().unwrap());
    admin.send(&revoke, Value::Null).await.expect(204);
    for answer in [client.try_call("search", json!({})).await, client.get().await, client.delete().await] {
        assert_eq!(answer.status, 401);
    }
}

#[tokio::test]
async fn a_token_ends_by_its_clock() {
    let stage = Guarded::start().await;
    let body = json!({ "subject": "dave", "expires_in": 1 });
    let issued = stage.app.admin().send("POST /api/tokens", body).await.expect(201);
    let client = stage.app.client("/github", &Caller::new(stage.app.authority(), issued["token"].as_str()));
    let begun = Instant::now();
    while client.try_initialize().await.status != 401 {
        assert!(begun.elapsed() < PATIENCE, "it is still valid");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_token_for_one_endpoint_opens_no_other() {
    let stage = Guarded::start().await;
    let body = json!({ "subject": "ci", "scopes": ["mcp-access"], "resource": "/virtual/dev-tools" });
    let issued = stage.app.admin().send("POST /api/tokens", body).await.expect(201);
    let ci = Caller::new(stage.app.authority(), issued["token"].as_str());
    for path in ["/virtual/dev-tools", "/virtual/dev-tools/mcp"] {
        stage.app.client(path, &ci).initialize().await;
    }
    assert_eq!(stage.app.client("/github", &ci).try_initialize().await.status, 401);
    assert_eq!(stage.app.client("/virtual/none", &ci).try_initialize().await.status, 401);
    ci.get("/api/servers").await.expect(401);
}

#[tokio::test]
async fn an_endpoint_can_be_open_to_all() {
    let toml = "[auth]\nanonymous = [\"/github\", \"/virtual/dev-tools\"]";
    let stage = Guarded::configured(toml).await;
    let anonymous = stage.app.anonymous();
    let mut client = stage.app.client("/github", &anonymous);
    client.initialize().await;
    client.call("search", json!({})).await;
    let answer = stage.app.client("/virtual/dev-tools", &anonymous).try_initialize().await;
    assert_eq!(answer.status, 403, "nobody has no scopes");
    let answer = stage.app.client("/github", &anonymous).bearer("nonsense").try_initialize().await;
    assert_eq!(answer.status, 401, "a wrong token is wrong everywhere");
    let stranger = stage.app.client("/github", &stage.app.reader().await);
    let stolen = stranger.in_session(client.session.as_deref().unwrap());
    assert_eq!(stolen.try_call("search", json!({})).await.status, 404);
    anonymous.get("/api/servers").await.expect(401);
}

#[tokio::test]
async fn credentials_stay_on_their_side() {
    let backend = LegacyBackend::start("secured").tool("search").bearer("backend-secret").await;
    let app = App::start().await;
    let body = json!({ "path": "/secured", "proxy_pass_url": backend.url(), "is_enabled": true,
        "auth_scheme": "bearer", "auth_credential": "backend-secret", "headers": { "X-Team": "blue" } });
    let made = app.admin().send("POST /api/servers/register", body).await.expect(201);
    assert!(!made.to_string().contains("backend-secret"), "{made}");
    app.refresh("/secured").await;
    app.compose("v", &[row("search", "/secured", "")]).await;
    let caller = app.reader().await;
    let token = caller.token.clone().unwrap();
    for path in ["/secured", "/virtual/v"] {
        let mut client = app.client(path, &caller).header("cookie", "a=b").header("x-team", "red");
        client = client.header("proxy-authorization", "Basic eA==").header("x-forwarded-for", "10.0.0.1");
        client.initialize().await;
        client.call("search", json!({})).await;
        client.get().await;
        client.delete().await;
    }
    for seen in backend.seen() {
        assert_eq!(seen.header("authorization"), "Bearer backend-secret", "{seen:?}");
        assert_eq!(seen.headers.get_all("x-team").iter().collect::<Vec<_>>(), ["blue"], "{seen:?}");
        let shown = format!("{:?} {}", seen.headers, String::from_utf8_lossy(&seen.body));
        assert!(!shown.contains(&token), "{shown}");
        for name in ["cookie", "proxy-authorization"] {
            assert_eq!(seen.header(name), "", "{seen:?}");
        }
    }
    assert!(!app.log().contains("backend-secret") && !app.log().contains(&token));
    let stored = app.admin().get("/api/servers/secured").await.text;
    assert!(!stored.contains("backend-secret"));
}

#[tokio::test]
async fn the_challenge_of_a_backend_goes_no_further() {
    let stage = Guarded::start().await;
    let client = stage.visit("alice", &["mcp-access"]).await;
    let mut direct = stage.app.client("/github", &stage.app.reader().await);
    direct.initialize().await;
    let challenge = "Bearer realm=\"the backend\"";
    for status in [401, 403] {
        let reply = Reply::new(status, "application/json", "{}").header("www-authenticate", challenge);
        stage.github.reply("tools/call", reply);
        for client in [&client, &direct] {
            let answer = client.try_call("search", json!({})).await;
            assert_eq!(answer.header("www-authenticate"), "");
            assert_ne!(answer.status, 401, "the client's own token is fine");
        }
    }
}

#[tokio::test]
async fn a_changed_credential_holds_for_the_next_request() {
    let backend = LegacyBackend::start("secured").tool("search").bearer("new").await;
    let app = App::start().await;
    let body = json!({ "path": "/secured", "proxy_pass_url": backend.url(), "is_enabled": true,
        "auth_scheme": "bearer", "auth_credential": "old" });
    app.admin().send("POST /api/servers/register", body).await.expect(201);
    let client = app.client("/secured", &app.reader().await);
    let error = client.try_initialize().await.error().await;
    assert_eq!(error["message"], "Backend server refused the gateway's credentials: /secured");
    let edit = json!({ "auth_scheme": "bearer", "auth_credential": "new" });
    app.admin().send("PATCH /api/servers/secured", edit).await.expect(200);
    app.visit("/secured").await.call("search", json!({})).await;
}
