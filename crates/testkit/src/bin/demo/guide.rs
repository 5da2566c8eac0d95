//! What to try, ready to paste.

use serde_json::{Value, json};

use crate::servers::Example;

/// Prints the guide.
#[expect(clippy::print_stdout, reason = "printing this is what the program is for")]
pub(crate) fn print(url: &str, token: &str, examples: &[Example]) {
    println!("{}", guide(url, token, examples));
}

fn guide(url: &str, token: &str, examples: &[Example]) -> String {
    let servers: Vec<_> = examples
        .iter()
        .map(|one| format!("  {:<11}{:<8}{:<34}{}", one.path, one.label, one.backend.url(), one.description))
        .collect();
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "curl", "version": "8" },
        },
    });
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let search = json!({ "name": "github_search", "arguments": { "query": "bug fixes" } });
    let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": search });
    let tools = format!("{url}/virtual/dev-tools");
    let configuration = json!({ "mcpServers": { "dev-tools": {
        "type": "http", "url": tools, "headers": { "Authorization": format!("Bearer {token}") },
    } } });
    let post = |url: &str, headers: &str, body: &Value| {
        format!(
            "curl -s {headers}-H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \\\n  -H 'Accept: application/json, text/event-stream' {url} \\\n  -d '{body}'"
        )
    };
    let session = "-H \"Mcp-Session-Id: $SESSION\" -H 'MCP-Protocol-Version: 2025-11-25' ";
    let begin = post(&tools, "-D - -o /dev/null ", &initialize);
    let take = "| tr -d '\\r' | awk 'tolower($1) == \"mcp-session-id:\" { print $2 }'";
    let older = post(&format!("{url}/context7"), "-i -H 'X-MCP-Server-Version: v1.5.0' ", &initialize);
    format!(
        "
The demonstration runs: five example MCP servers, and {tools}, composed of three of them.
They are examples, with small built-in data; nothing leaves this machine.

{servers}

Paste into another terminal. A token of a user, good for thirty days, and a session of the virtual server:

TOKEN='{token}'
SESSION=$({begin} {take})

The tools of three servers behind one endpoint:

{list}; echo

Two of these servers have a tool named search; under its alias, the one of GitHub answers:

{call}; echo

An older version of a server, by header; without it the active v2.0.0 answers:

{older}; echo

As administrator, from this directory:

target/release/switchyard server list --url {url} --token-file data/demo/admin.token

For an MCP client, as mcp.json:

{configuration}

Ctrl-C ends the demonstration.",
        servers = servers.join("\n"),
        list = post(&tools, session, &list),
        call = post(&tools, session, &call),
        configuration = serde_json::to_string_pretty(&configuration).expect("a JSON value can be printed"),
    )
}
