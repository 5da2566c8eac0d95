//! The management commands against a running gateway.

mod answers;
mod arguments;
mod output;

use serde_json::{Value, json};
use testkit::LegacyBackend;

use crate::app::{App, Ran, folder, run};

fn ok(ran: &Ran) -> &str {
    assert_eq!(ran.status, 0, "{ran:?}");
    &ran.said
}

fn refused<'a>(ran: &'a Ran, status: i32, words: &str) -> &'a str {
    assert_eq!(ran.status, status, "{ran:?}");
    assert!(ran.complained.contains(words), "{ran:?}");
    &ran.complained
}

#[tokio::test]
async fn a_server_goes_through_its_life() {
    let (one, two) =
        (LegacyBackend::start("one").tool("search").await, LegacyBackend::start("two").tool("search").await);
    let app = App::start().await;
    let register =
        ["server", "register", "/team/docs", &one.url(), "--version", "v1.5.0", "--enable", "--tag", "x"];
    assert!(ok(&app.run(&register).await).contains("/team/docs"));
    refused(&app.run(&register).await, 1, "exists already");
    let added = app.run(&["version", "add", "/team/docs", "v2.0.0", &two.url(), "--status", "beta"]).await;
    assert!(ok(&added).contains("switchyard version use /team/docs v2.0.0"), "{added:?}");
    refused(&app.run(&["version", "add", "/none", "v2.0.0", &two.url()]).await, 1, "no such server");

    let used = app.run(&["version", "use", "/team/docs", "v2.0.0", "--preflight"]).await;
    assert!(ok(&used).contains("v2.0.0 is the active version"), "{used:?}");
    let listed = app.run(&["version", "list", "/team/docs"]).await;
    let rows: Vec<_> = ok(&listed).lines().collect();
    assert!(rows[0].starts_with("VERSION") && rows.len() == 3, "{listed:?}");
    assert!(rows[1].starts_with("v1.5.0   no") && rows[2].starts_with("v2.0.0   yes"), "{listed:?}");
    refused(&app.run(&["version", "use", "/team/docs", "v9"]).await, 1, "there are: v1.5.0, v2.0.0");
    refused(&app.run(&["version", "remove", "/team/docs", "v2.0.0"]).await, 1, "active version");

    ok(&app.run(&["version", "edit", "/team/docs", "v1.5.0", "--status", "deprecated"]).await);
    let shown = app.run(&["version", "show", "/team/docs", "v1.5.0", "--json"]).await;
    let shown: Value = serde_json::from_str(ok(&shown)).unwrap();
    assert_eq!((&shown["status"], &shown["is_active"]), (&json!("deprecated"), &json!(false)));
    ok(&app.run(&["version", "diff", "/team/docs", "v1.5.0", "v2.0.0"]).await);
    ok(&app.run(&["version", "remove", "/team/docs", "v1.5.0"]).await);

    ok(&app.run(&["server", "refresh", "/team/docs"]).await);
    assert!(ok(&app.run(&["server", "tools", "/team/docs"]).await).contains("search"));
    ok(&app.run(&["server", "edit", "/team/docs", "--name", "Docs", "--description", "all of them"]).await);
    refused(&app.run(&["server", "edit", "/team/docs"]).await, 2, "nothing to edit");
    ok(&app.run(&["server", "disable", "/team/docs"]).await);
    assert!(!ok(&app.run(&["server", "list"]).await).contains("/team/docs"));
    assert!(ok(&app.run(&["server", "list", "--all"]).await).contains("Docs"));
    ok(&app.run(&["server", "enable", "/team/docs"]).await);
    ok(&app.run(&["server", "delete", "/team/docs"]).await);
    refused(&app.run(&["server", "show", "/team/docs"]).await, 1, "no such server");
}

#[tokio::test]
async fn a_virtual_server_is_composed_saved_and_restored() {
    let backend = LegacyBackend::start("github").tools(["search", "push"]).await;
    let app = App::start().await;
    app.serve("/github", &backend.url()).await;
    let create = ["virtual", "create", "dev-tools", "--tool", "/github:search,alias=github_search", "--tool"];
    let create = [&create[..], &["/github:push", "--tool-scope", "push=github-write", "--enable"]].concat();
    assert!(ok(&app.run(&create).await).contains("/virtual/dev-tools is created"));
    let bad = app.run(&["virtual", "create", "x", "--tool", "/github:nope", "--tool", "/none:search"]).await;
    let said = refused(&bad, 1, "the request is not valid");
    assert!(said.contains("tool_mappings[0]") && said.contains("tool_mappings[1]"), "{said}");
    refused(&app.run(&["virtual", "create", "x", "--tool", "nonsense"]).await, 2, "/PATH:TOOL");

    let tools = app.run(&["virtual", "tools", "/virtual/dev-tools"]).await;
    assert!(ok(&tools).contains("github_search") && tools.said.contains("github-write"), "{tools:?}");
    let preview =
        app.run(&["virtual", "preview", "dev-tools", "--as", "alice", "--scope", "x", "--json"]).await;
    let preview: Value = serde_json::from_str(ok(&preview)).unwrap();
    assert_eq!(preview["visible_count"], 1, "{preview}");

    let shown = app.run(&["virtual", "show", "dev-tools", "--json"]).await;
    std::fs::write(app.folder().join("saved.json"), ok(&shown)).unwrap();
    assert!(ok(&app.run(&["virtual", "apply-file", "saved.json"]).await).contains("is replaced"));
    ok(&app.run(&["virtual", "delete", "dev-tools"]).await);
    assert!(ok(&app.run(&["virtual", "apply-file", "saved.json"]).await).contains("is created"));
    ok(&app.run(&["virtual", "disable", "dev-tools"]).await);
    assert!(ok(&app.run(&["virtual", "list", "--all"]).await).contains("/virtual/dev-tools"));
    let again = app.run(&["virtual", "show", "dev-tools", "--json"]).await;
    let (before, after): (Value, Value) =
        (serde_json::from_str(&shown.said).unwrap(), serde_json::from_str(ok(&again)).unwrap());
    assert_eq!(before["tool_mappings"], after["tool_mappings"]);
    assert_eq!(before["tool_scope_overrides"], after["tool_scope_overrides"]);
}

#[tokio::test]
async fn a_token_works_until_it_is_revoked() {
    let app = App::start().await;
    let issued = app.run(&["token", "issue", "alice", "--scope", "a", "--expires-in", "1h"]).await;
    let token = ok(&issued).trim().to_owned();
    ok(&app.run(&["server", "list", "--token", &token]).await);
    assert!(ok(&app.run(&["token", "list", "--token", &token]).await).contains("alice"), "one's own");
    refused(&app.run(&["audit", "--token", &token]).await, 1, "admin");
    let listed = app.run(&["token", "list", "--subject", "alice", "--json"]).await;
    let listed: Value = serde_json::from_str(ok(&listed)).unwrap();
    let id = listed["tokens"][0]["id"].as_str().unwrap();
    ok(&app.run(&["token", "revoke", id]).await);
    refused(&app.run(&["server", "list", "--token", &token]).await, 1, "token");
    refused(&app.run(&["token", "revoke", "none"]).await, 1, "no such token");
    refused(&app.run(&["token", "issue", "alice", "--expires-in", "soon"]).await, 2, "12h");
}

#[tokio::test]
async fn a_secret_comes_from_a_file_and_is_shown_nowhere() {
    let backend = LegacyBackend::start("jira").tool("search").bearer("s3cret").await;
    let app = App::start().await;
    std::fs::write(app.folder().join("jira.token"), "s3cret\n").unwrap();
    let register = ["server", "register", "/jira", &backend.url(), "--bearer-file", "jira.token", "--enable"];
    ok(&app.run(&register).await);
    ok(&app.run(&["server", "refresh", "/jira"]).await);
    let shown = app.run(&["server", "show", "/jira", "--json"]).await;
    assert!(ok(&shown).contains("bearer") && !shown.said.contains("s3cret"), "{shown:?}");
    for file in ["switchyard.db", "switchyard.db-wal"] {
        let bytes = std::fs::read(app.data().join(file)).unwrap_or_default();
        assert!(!bytes.windows(6).any(|window| window == b"s3cret"), "{file} holds the secret");
    }
    refused(&app.run(&["server", "edit", "/jira", "--bearer-file", "none.token"]).await, 2, "none.token");
}

#[tokio::test]
async fn it_says_whom_it_could_not_reach_and_who_it_was_not() {
    let folder = folder("");
    let ran = run(folder.path(), &["server", "list", "--url", "http://127.0.0.1:1"]).await;
    refused(&ran, 3, "is the gateway running there (switchyard serve)?");
    let ran = run(folder.path(), &["server", "list", "--url", "ftp://127.0.0.1"]).await;
    refused(&ran, 2, "neither http nor https");
    let app = App::start().await;
    let ran = run(folder.path(), &["server", "list", "--url", &app.url]).await;
    refused(&ran, 1, "--token-file");
    let ran = run(folder.path(), &["server", "list", "--url", &app.url, "--token-file", "none"]).await;
    refused(&ran, 2, "--token-file none");
    let ran = run(folder.path(), &["server", "explode"]).await;
    refused(&ran, 2, "unrecognized subcommand");
}
