//! The demonstration: starts example MCP servers on free ports, registers them at a running gateway, composes a
//! virtual server of them, and prints what to try. The servers answer from small built-in tables.

mod data;
mod guide;
mod rest;
mod servers;

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use rest::{Error, Gateway};
use serde_json::{Value, json};
use servers::Example;
use tokio::signal::unix::{SignalKind, signal};

/// How long the gateway may take to become ready.
const START_TIME: Duration = Duration::from_secs(60);
/// Who the printed token is for.
const SUBJECT: &str = "demo-user";
/// How to call it.
const USAGE: &str = "usage: demo --gateway http://127.0.0.1:8080 --token-file data/admin.token";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some((gateway, token_file)) = arguments(std::env::args().skip(1)) else {
        complain(USAGE);
        return ExitCode::from(2);
    };
    match run(&gateway, &token_file).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = format!("demo: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                text += &format!(": {error}");
                cause = error.source();
            }
            complain(&text);
            ExitCode::FAILURE
        }
    }
}

/// Reads `--gateway URL --token-file FILE`, or both without their names.
fn arguments(mut words: impl Iterator<Item = String>) -> Option<(String, PathBuf)> {
    let (mut gateway, mut token_file) = (None, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--gateway" => gateway = Some(words.next()?),
            "--token-file" => token_file = Some(words.next()?),
            word if word.starts_with('-') => return None,
            _ if gateway.is_none() => gateway = Some(word),
            _ => token_file = Some(word),
        }
    }
    let gateway = gateway?.trim_end_matches('/').to_owned();
    gateway.starts_with("http://").then_some((gateway, token_file?.into()))
}

async fn run(url: &str, token_file: &Path) -> Result<(), Error> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::Signal)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::Signal)?;
    let examples = servers::start().await;
    let prepared = async {
        Gateway::wait_ready(url, START_TIME).await?;
        let gateway = Gateway::new(url, rest::read_token(token_file)?);
        for example in &examples {
            register(&gateway, example).await?;
        }
        compose(&gateway).await?;
        user_token(&gateway, &token_file.with_file_name("demo.token")).await
    };
    let token = tokio::select! {
        token = prepared => token?,
        _ = interrupt.recv() => return Ok(()),
        _ = terminate.recv() => return Ok(()),
    };
    guide::print(url, &token, &examples);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// Registers a version, or gives the one that is registered its URL of today, and has its tools read.
async fn register(gateway: &Gateway, example: &Example) -> Result<(), Error> {
    let body = json!({
        "server_name": example.title,
        "path": example.path,
        "version": example.label,
        "proxy_pass_url": example.backend.url(),
        "description": example.description,
        "tags": example.tags,
        "is_enabled": true,
        "overwrite": true,
    });
    let is_new = gateway.post("/api/servers/register", &body).await?["is_new_version"] == true;
    if is_new {
        let switch = json!({ "version": example.label });
        gateway.put(&format!("/api/servers{}/versions/default", example.path), &switch).await?;
    }
    let refresh = format!("/api/servers{}/refresh?version={}", example.path, example.label);
    gateway.post(&refresh, &json!({})).await?;
    Ok(())
}

/// Composes `/virtual/dev-tools`. One that is there stays as it was left.
async fn compose(gateway: &Gateway) -> Result<(), Error> {
    let body = json!({
        "server_name": "Dev Tools",
        "path": "/virtual/dev-tools",
        "description": "Search code and issues, and tell the team: tools of three example servers",
        "tags": ["demo"],
        "tool_mappings": [
            { "tool_name": "search", "backend_server_path": "/github", "alias": "github_search" },
            { "tool_name": "search", "backend_server_path": "/jira", "alias": "jira_search" },
            { "tool_name": "send_message", "backend_server_path": "/slack" },
        ],
        "is_enabled": true,
    });
    match gateway.post("/api/virtual-servers", &body).await {
        Ok(_) | Err(Error::Refused { status: 409, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the user's token of the last run where it still opens the gateway, else a new one.
async fn user_token(gateway: &Gateway, file: &Path) -> Result<String, Error> {
    if let Ok(token) = rest::read_token(file)
        && gateway.acting_as(&token).get("/api/servers").await.is_ok()
    {
        return Ok(token);
    }
    let body =
        json!({ "subject": SUBJECT, "description": "for the demonstration", "groups": [], "scopes": [] });
    match gateway.post("/api/tokens", &body).await?["token"].take() {
        Value::String(token) => {
            rest::keep_token(file, &token)?;
            Ok(token)
        }
        _ => Err(Error::NotJson { call: "POST /api/tokens".into() }),
    }
}

#[expect(clippy::print_stderr, reason = "a program's complaint to the person who started it")]
fn complain(text: &str) {
    eprintln!("{text}");
}
