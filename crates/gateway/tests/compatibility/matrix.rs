//! Each server with each client, at its path and at a virtual server that renames its tools.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::app::App;
use crate::clients::CLIENTS;
use crate::program::{Started, command};
use crate::servers::{self, Server, Transport};

#[tokio::test(flavor = "multi_thread")]
async fn everything() {
    meet(&servers::EVERYTHING).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_over_an_event_stream() {
    meet(&servers::EVERYTHING_SSE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_as_a_command() {
    meet(&servers::EVERYTHING_STDIO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fastmcp() {
    meet(&servers::FASTMCP).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_2_modern() {
    meet(&servers::TYPESCRIPT_2_MODERN).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_2_both() {
    meet(&servers::TYPESCRIPT_2_BOTH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn python_1_stateful() {
    meet(&servers::PYTHON_1_STATEFUL).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn python_1_stateless() {
    meet(&servers::PYTHON_1_STATELESS).await;
}

/// Lets all clients use a server, and compares its row of the table with what they saw.
async fn meet(server: &Server) {
    let Some(peers) = peers() else { return };
    let (_started, app, url) = start(server, &peers).await;
    app.serve("/peer", &url).await;
    let mut rows =
        vec![json!({ "tool_name": server.slow, "backend_server_path": "/peer", "alias": "take_time" })];
    if server.asks {
        rows.push(json!({ "tool_name": "ask", "backend_server_path": "/peer", "alias": "wonder" }));
    }
    let composed = json!({ "server_name": "Peers", "path": "/virtual/peers", "tool_mappings": rows, "is_enabled": true });
    app.admin().send("POST /api/virtual-servers", composed).await.expect(201);
    let token = app.reader().await.token.expect("it holds one");
    let mut row = format!("| {} |", server.name);
    let mut complaints = String::new();
    for client in &CLIENTS {
        let mut cell = Vec::new();
        for (endpoint, path, tools) in
            [("path", "/peer", [server.slow, "ask"]), ("virtual", "/virtual/peers", ["take_time", "wonder"])]
        {
            let url = format!("{}{path}", app.url);
            // The processes are waited for without blocking those who serve the gateway's answers to this test.
            let went = tokio::task::block_in_place(|| client.visit(&peers, &url, &token, server, tools));
            if let Err(fault) = went {
                complaints.push_str(&format!("\n--- {}, {endpoint}: {fault}", client.name));
                cell.push(endpoint);
            }
        }
        match cell.is_empty() {
            true => row.push_str(" yes |"),
            false => row.push_str(&format!(" not at the {} |", cell.join(" or "))),
        }
    }
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility.md");
    let is_documented = std::fs::read_to_string(table).unwrap().lines().any(|line| line == row);
    assert!(is_documented, "docs/compatibility.md should say\n{row}\n{complaints}");
}

/// Starts a server where it does not wait for the gateway to do so; returns the URL to register.
async fn start(server: &Server, peers: &Path) -> (Option<Started>, App, String) {
    let Transport::Http(path) = server.transport else {
        let program = peers.join(server.program);
        let program = if program.exists() { program } else { server.program.into() };
        let toml = format!(
            "[stdio.commands.peer]\ncommand = {program:?}\nargs = {:?}\ncwd = {peers:?}\n",
            server.command
        );
        return (None, App::configured(&toml).await, "stdio:peer".into());
    };
    let (started, address) = Started::listening(command(peers, server.program, server.command));
    (Some(started), App::start().await, format!("http://{address}{path}"))
}

/// The folder of the peers, or nothing where they are not installed and need not be.
fn peers() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
    let folder = std::env::var_os("PEERS_DIR").map_or_else(beside, PathBuf::from);
    let needed = ["node_modules/@modelcontextprotocol/client", ".venv/bin/python", ".venv-1/bin/python"];
    let Some(missing) = needed.iter().find(|needed| !folder.join(needed).exists()) else {
        return Some(folder);
    };
    let complaint =
        format!("{missing} is missing in {}: run `make peers`, which installs it", folder.display());
    assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{complaint}");
    eprintln!("SKIPPED, nothing was tested: {complaint}");
    None
}
