//! Clients of others that have no token: they find the provider, sign in, and ask for more when a tool needs it.

use super::*;
use crate::peers::peers_with;
use crate::peers::program;

async fn sign_in(program_name: &str, script: &str, plan: Value) {
    let Some(stage) = Stage::set().await else { return };
    let Some(folder) = peers_with(&[".venv/bin/python"]) else { return };
    let url = stage.at("/virtual/dev-tools");
    let command = program::command(&folder, program_name, &[script, &url, "-", &plan.to_string()]);
    let seen = tokio::task::spawn_blocking(move || program::answer(command)).await.unwrap();
    assert_eq!(seen["tools"], json!(["search"]), "{seen}");
    assert_eq!(seen["called"].as_array().unwrap().len(), 2, "{seen}");
    assert_eq!(seen["after"], json!(["search", "create_pr"]), "{seen}");
    let scopes: Vec<&str> =
        seen["scopes"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert_eq!(scopes.len(), 2, "once at first, once for more: {seen}");
    assert!(scopes[0].contains("mcp-access") && !scopes[0].contains("github-write"), "{seen}");
    assert!(scopes[1].contains("mcp-access") && scopes[1].contains("github-write"), "{seen}");
    assert_eq!((stage.github.runs("search"), stage.github.runs("create_pr")), (1, 1));
}

#[tokio::test]
async fn the_typescript_sdk_signs_in_and_steps_up() {
    sign_in("node", "ts_oauth_client.mjs", json!({ "tools": ["search", "create_pr"] })).await;
}

#[tokio::test]
async fn the_python_sdk_signs_in_and_steps_up() {
    let plan = json!({ "tools": ["search", "create_pr"] });
    sign_in(".venv/bin/python", "python_oauth_client.py", plan).await;
}
