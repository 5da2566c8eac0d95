//! The gateway under test: started on a data directory of its own, set up through its REST API.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::http::{Connection, Request};
use super::process::{self, Place, Started};
use super::wrk::Load;

/// Generous: a start that takes longer is not worth measuring.
const START: Duration = Duration::from_secs(120);
/// What the loads say they are.
const CLIENT: &str =
    r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}"#;

/// One running gateway with one thread for MCP.
pub(super) struct Gateway {
    pub(super) address: SocketAddr,
    pub(super) pid: u32,
    /// From the start of the process to the first 200 of `/readyz`.
    pub(super) ready_after: Duration,
    data: PathBuf,
    _process: Started,
}

impl Gateway {
    /// Starts it with its data in `folder/data`, and whatever lies there already.
    pub(super) fn start(program: &str, folder: &Path, place: Place) -> anyhow::Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        fs::create_dir_all(folder)?;
        fs::write(
            folder.join("switchyard.toml"),
            "[server]\ndata_threads = 1\n[search]\nembedder = \"off\"\n[log]\nlevel = \"warn\"\n",
        )?;
        let data = folder.join("data");
        let log = fs::File::create(folder.join("gateway.log"))?;
        let mut command = place.command(program);
        command.args(["serve", "--listen", &address.to_string(), "--data-dir"]).arg(&data);
        command.current_dir(folder).stdout(log.try_clone()?).stderr(log);
        let begun = Instant::now();
        let mut process = Started::new(&mut command)?;
        process::wait_until(START, "the gateway", || {
            process
                .must_run()
                .with_context(|| format!("the gateway; see {}", folder.join("gateway.log").display()))?;
            Ok(is_ready(address))
        })?;
        let ready_after = begun.elapsed();
        Ok(Self { address, pid: process.pid(), ready_after, data, _process: process })
    }

    /// Calls the REST API as administrator; a refusal is an error.
    pub(super) fn api(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let token = fs::read_to_string(self.data.join("admin.token")).context("the administrator's token")?;
        let headers = [
            bearer(token.trim()),
            pair("Content-Type", "application/json"),
            pair("Accept", "application/json"),
        ];
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let request = Request { method, path, headers: &headers, body: &text };
        let answer = Connection::open(self.address)?.send(&request)?;
        ensure!(answer.status < 300, "{method} {path}: {} {}", answer.status, answer.text());
        if answer.body.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_slice(&answer.body)?) }
    }

    /// Registers a server with an active version whose backend is at `backend` + `path`, and reads its tools.
    pub(super) fn register(&self, path: &str, backend: SocketAddr) -> anyhow::Result<()> {
        let body = json!({
            "server_name": path.trim_start_matches('/'),
            "path": path,
            "proxy_pass_url": format!("http://{backend}{path}/mcp"),
            "version": "v1.0.0",
            "description": "a server of the benchmark",
            "is_enabled": true,
        });
        self.api("POST", "/api/servers/register", &body)?;
        self.api("POST", &format!("/api/servers{path}/toggle"), &json!({ "enabled": true }))?;
        self.api("POST", &format!("/api/servers{path}/refresh"), &json!({}))?;
        process::wait_until(Duration::from_secs(10), "the tools of a server", || {
            Ok(self
                .api("GET", &format!("/api/servers{path}/tools"), &Value::Null)?
                .to_string()
                .contains("tool_00"))
        })
    }

    /// Composes tools of servers, each under an alias, behind scopes of the endpoint and of each tool.
    pub(super) fn compose(&self, slug: &str, servers: &[&str], tools: &[String]) -> anyhow::Result<()> {
        let mut mappings = Vec::new();
        let mut overrides = Vec::new();
        for server in servers {
            let prefix = server.trim_start_matches('/');
            for tool in tools {
                let alias = format!("{prefix}_{tool}");
                mappings.push(json!({ "tool_name": tool, "backend_server_path": server, "alias": alias }));
                overrides.push(json!({ "tool_alias": alias, "required_scopes": ["bench-call"] }));
            }
        }
        let body = json!({
            "server_name": slug,
            "path": format!("/virtual/{slug}"),
            "description": "a virtual server of the benchmark",
            "tool_mappings": mappings,
            "required_scopes": ["bench-use"],
            "tool_scope_overrides": overrides,
            "is_enabled": true,
        });
        self.api("POST", "/api/virtual-servers", &body).map(drop)
    }

    /// Issues the token of an ordinary user with the scopes of the virtual servers.
    pub(super) fn token(&self) -> anyhow::Result<String> {
        let body = json!({ "subject": "bench", "scopes": ["bench-use", "bench-call"], "expires_in": 86_400 });
        let answer = self.api("POST", "/api/tokens", &body)?;
        Ok(answer["token"].as_str().context("no token in the answer")?.to_owned())
    }
}

fn is_ready(address: SocketAddr) -> bool {
    let request = Request { method: "GET", path: "/readyz", headers: &[], body: "" };
    Connection::open(address)
        .and_then(|mut connection| connection.send(&request))
        .is_ok_and(|answer| answer.status == 200)
}

/// Opens a session at an endpoint and returns the headers for every request within it.
pub(super) fn open_session(
    connection: &mut Connection,
    path: &str,
    token: Option<&str>,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut headers = vec![
        pair("Content-Type", "application/json"),
        pair("Accept", "application/json, text/event-stream"),
        pair("MCP-Protocol-Version", "2025-06-18"),
    ];
    headers.extend(token.map(bearer));
    let body = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{CLIENT}}}"#);
    let answer = connection.send(&Request { method: "POST", path, headers: &headers, body: &body })?;
    ensure!(answer.status == 200, "initialize at {path}: {} {}", answer.status, answer.text());
    headers.extend(answer.header("mcp-session-id").map(|session| pair("Mcp-Session-Id", session)));
    let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let answer = connection.send(&Request { method: "POST", path, headers: &headers, body })?;
    ensure!(answer.status == 202, "initialized at {path}: {} {}", answer.status, answer.text());
    Ok(headers)
}

/// Opens a session and prepares calls of a tool within it.
pub(super) fn call(address: SocketAddr, path: &str, token: Option<&str>, tool: &str) -> anyhow::Result<Load> {
    let headers = open_session(&mut Connection::open(address)?, path, token)?;
    let body = called(tool, "");
    let expect = r#""isError":false"#.to_owned();
    Ok(Load { address, path: path.to_owned(), headers, body, expect })
}

/// Prepares calls of a tool by a client of 2026-07-28, which has no session and says with each what it can do.
pub(super) fn modern_call(
    address: SocketAddr,
    path: &str,
    token: &str,
    tool: &str,
    capabilities: &str,
) -> Load {
    let headers = vec![
        pair("Content-Type", "application/json"),
        pair("Accept", "application/json, text/event-stream"),
        pair("MCP-Protocol-Version", "2026-07-28"),
        pair("Mcp-Method", "tools/call"),
        pair("Mcp-Name", tool),
        bearer(token),
    ];
    let key = |name: &str| format!("\"io.modelcontextprotocol/{name}\"");
    let meta = format!(
        r#","_meta":{{{}:"2026-07-28",{}:{{"name":"bench","version":"1.0.0"}},{}:{capabilities}}}"#,
        key("protocolVersion"),
        key("clientInfo"),
        key("clientCapabilities"),
    );
    let expect = r#""isError":false"#.to_owned();
    Load { address, path: path.to_owned(), headers, body: called(tool, &meta), expect }
}

/// The body of a call, with what else is in its parameters.
fn called(tool: &str, more: &str) -> String {
    let arguments =
        format!(r#"{{"query":"{}","limit":10}}"#, "what the reader wants to know ".repeat(13).trim_end());
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}{more}}}}}"#
    )
}

/// Opens a session and prepares lists of tools within it.
pub(super) fn list(address: SocketAddr, path: &str, token: Option<&str>) -> anyhow::Result<Load> {
    let headers = open_session(&mut Connection::open(address)?, path, token)?;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned();
    Ok(Load { address, path: path.to_owned(), headers, body, expect: "tool_19".to_owned() })
}

fn bearer(token: &str) -> (String, String) {
    pair("Authorization", &format!("Bearer {token}"))
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}
