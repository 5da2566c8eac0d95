//! Real peers: servers and clients made by others, with the gateway between them.
//!
//! They are installed by `make test` (or `make peers`). Where they are missing these tests say so and pass, but in
//! continuous integration (`CI` is set) they fail.

pub(crate) mod program;

use std::path::{Path, PathBuf};
use std::process::Command;

use program::Started;
use serde_json::{Value, json};

use crate::app::App;

/// The folder of the peers, or nothing where they are not installed and need not be.
pub(crate) fn peers() -> Option<PathBuf> {
    peers_with(&["node_modules/@modelcontextprotocol/sdk", ".venv/bin/python"])
}

/// The folder of the peers, where these are among them.
pub(crate) fn peers_with(needed: &[&str]) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
    let folder = std::env::var_os("PEERS_DIR").map_or_else(beside, PathBuf::from);
    let Some(missing) = needed.iter().find(|needed| !folder.join(needed).exists()) else {
        return Some(folder);
    };
    let complaint =
        format!("{} is missing in {}: run `make peers`, which installs it", missing, folder.display());
    assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{complaint}");
    eprintln!("SKIPPED, nothing was tested: {complaint}");
    None
}

/// A server of the peers and what a conversation with it shows.
struct Server {
    start: fn(&Path) -> Command,
    /// The path it listens at.
    at: &'static str,
    name: &'static str,
    /// A tool of the server, what it is given and what it answers.
    tool: &'static str,
    arguments: &'static str,
    says: &'static str,
    /// A tool that reports progress, and how often.
    slow: &'static str,
    slow_arguments: &'static str,
    steps: u64,
    prompt: &'static str,
    prompt_arguments: &'static str,
    prompt_says: &'static str,
    resource: &'static str,
    resource_says: &'static str,
}

const EVERYTHING: Server = Server {
    start: |peers| program::command(peers, "node", &["everything.mjs"]),
    at: "/mcp",
    name: "mcp-servers/everything",
    tool: "get-sum",
    arguments: r#"{"a": 20, "b": 22}"#,
    says: "The sum of 20 and 22 is 42.",
    slow: "trigger-long-running-operation",
    slow_arguments: r#"{"duration": 1, "steps": 4}"#,
    steps: 4,
    prompt: "args-prompt",
    prompt_arguments: r#"{"city": "Potsdam"}"#,
    prompt_says: "Potsdam",
    resource: "demo://resource/static/document/features.md",
    resource_says: "Everything Server",
};

/// The same over HTTP+SSE.
const EVERYTHING_SSE: Server = Server {
    start: |peers| program::command(peers, "node", &["everything.mjs", "sse"]),
    at: "/sse",
    ..EVERYTHING
};

const FASTMCP: Server = Server {
    start: |peers| program::command(peers, ".venv/bin/python", &["fastmcp_server.py"]),
    at: "/mcp",
    name: "fastmcp-peer",
    tool: "add",
    arguments: r#"{"a": 20, "b": 22}"#,
    says: "42",
    slow: "count",
    slow_arguments: r#"{"to": 4}"#,
    steps: 4,
    prompt: "review",
    prompt_arguments: r#"{"code": "let x = 1;"}"#,
    prompt_says: "let x = 1;",
    resource: "peer://square/7",
    resource_says: "49",
};

/// A server behind a gateway: at `/peer`, and composed under other names at `/virtual/peers`.
struct Stage {
    peers: PathBuf,
    app: App,
    token: String,
    _server: Started,
}

impl Stage {
    async fn set(server: &Server) -> Option<Self> {
        let peers = peers()?;
        let (started, address) = Started::listening((server.start)(&peers));
        let app = App::start().await;
        app.serve("/peer", &format!("http://{address}{}", server.at)).await;
        let composed = json!({
            "server_name": "Peers",
            "path": "/virtual/peers",
            "tool_mappings": [
                { "tool_name": server.slow, "backend_server_path": "/peer", "alias": "take_time" },
                { "tool_name": server.tool, "backend_server_path": "/peer", "alias": "reckon" },
            ],
            "required_scopes": ["peers-use"],
            "is_enabled": true,
        });
        app.admin().send("POST /api/virtual-servers", composed).await.expect(201);
        let token = app.holder("peer", &["peers-use"]).await.token.expect("it holds one");
        Some(Self { peers, app, token, _server: started })
    }

    /// Runs one of the clients against a path and returns what it saw.
    fn ask(&self, program: &str, script: &str, path: &str, more: &[&str]) -> Value {
        let url = format!("{}{path}", self.app.url);
        let arguments = [&[script, &url, &self.token], more].concat();
        program::answer(program::command(&self.peers, program, &arguments))
    }
}

/// Lets a client of an SDK talk to both paths.
async fn converse(server: &Server, program: &str, script: &str, mode: &str) {
    let Some(stage) = Stage::set(server).await else { return };
    let ask = |path: &str, plan: Value| stage.ask(program, script, path, &[&plan.to_string()]);
    let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON in the table");
    let paths = [("/peer", server.tool, server.slow), ("/virtual/peers", "reckon", "take_time")];
    for (path, tool, slow) in paths {
        let seen = ask(
            path,
            json!({
                "mode": mode,
                "tool": tool,
                "arguments": parse(server.arguments),
                "prompt": server.prompt,
                "prompt_arguments": parse(server.prompt_arguments),
                "resource": server.resource,
            }),
        );
        assert_has(&seen["called"], server.says, path);
        assert_has(&seen["prompt"], server.prompt_says, path);
        assert_has(&seen["resource"], server.resource_says, path);
        assert_has(&seen["prompts"], server.prompt, path);
        assert_has(&seen["tools"], tool, path);
        let seen =
            ask(path, json!({ "mode": mode, "tool": slow, "arguments": parse(server.slow_arguments) }));
        assert_eq!(seen["progress"], server.steps, "{path}: {seen}");
        if path == "/peer" {
            assert_eq!(seen["server"]["name"], server.name, "{seen}");
        } else {
            assert_eq!(seen["tools"], json!(["take_time", "reckon"]), "exactly what is mapped, in its order");
        }
    }
}

fn assert_has(part: &Value, expected: &str, path: &str) {
    assert!(part.to_string().contains(&expected.replace('"', "\\\"")), "{path}: no {expected:?} in {part}");
}

/// Lets the Inspector list and call on both paths.
async fn inspect(server: &Server) {
    let Some(stage) = Stage::set(server).await else { return };
    let ask = |path: &str, more: &[&str]| stage.ask("node", "inspector.mjs", path, more);
    for (path, tool) in [("/peer", server.tool), ("/virtual/peers", "reckon")] {
        assert_has(&ask(path, &["--method", "tools/list"])["tools"], tool, path);
        let call =
            ["--method", "tools/call", "--tool-name", tool, "--tool-arg", "a=20", "--tool-arg", "b=22"];
        assert_has(&ask(path, &call)["content"], server.says, path);
        assert_has(&ask(path, &["--method", "prompts/list"])["prompts"], server.prompt, path);
        let read = ["--method", "resources/read", "--uri", server.resource];
        assert_has(&ask(path, &read)["contents"], server.resource_says, path);
    }
}

#[tokio::test]
async fn the_typescript_sdk_speaks_to_everything() {
    converse(&EVERYTHING, "node", "ts_client.mjs", "legacy").await;
}

#[tokio::test]
async fn the_typescript_sdk_speaks_to_fastmcp() {
    converse(&FASTMCP, "node", "ts_client.mjs", "legacy").await;
}

#[tokio::test]
async fn the_python_sdk_speaks_to_everything() {
    converse(&EVERYTHING, ".venv/bin/python", "python_client.py", "auto").await;
}

#[tokio::test]
async fn the_python_sdk_speaks_to_fastmcp() {
    converse(&FASTMCP, ".venv/bin/python", "python_client.py", "auto").await;
}

#[tokio::test]
async fn the_python_sdk_speaks_to_fastmcp_as_before_2026() {
    converse(&FASTMCP, ".venv/bin/python", "python_client.py", "legacy").await;
}

#[tokio::test]
async fn the_inspector_speaks_to_everything() {
    inspect(&EVERYTHING).await;
}

#[tokio::test]
async fn the_inspector_speaks_to_fastmcp() {
    inspect(&FASTMCP).await;
}

/// The server asks its client for a sample in the middle of a call.
#[tokio::test]
async fn a_question_of_everything_reaches_the_client() {
    let Some(stage) = Stage::set(&EVERYTHING).await else { return };
    let plan = r#"{"tool": "trigger-sampling-request", "arguments": {"prompt": "hello"}}"#;
    for (program, script) in [("node", "ts_client.mjs"), (".venv/bin/python", "python_client.py")] {
        let seen = stage.ask(program, script, "/peer", &[plan]);
        assert_has(&seen["asked"], "sampling/createMessage", script);
        assert_has(&seen["called"], "sampled by the client", script);
    }
}

/// The eras of client and backend meet unchanged on a server's own path.
#[tokio::test]
async fn the_modern_era_passes_through() {
    let Some(stage) = Stage::set(&FASTMCP).await else { return };
    let plan = r#"{"mode": "2026-07-28", "tool": "echo", "arguments": {"message": "straße \" 😀"}}"#;
    let seen = stage.ask(".venv/bin/python", "python_client.py", "/peer", &[plan]);
    assert_eq!(seen["protocol"], "2026-07-28");
    assert_eq!(seen["called"]["content"][0]["text"], "straße \" 😀");
}

/// A backend over HTTP+SSE is one like others.
#[tokio::test]
async fn the_typescript_sdk_speaks_to_everything_over_an_event_stream() {
    converse(&EVERYTHING_SSE, "node", "ts_client.mjs", "legacy").await;
}

#[tokio::test]
async fn the_python_sdk_speaks_to_everything_over_an_event_stream() {
    converse(&EVERYTHING_SSE, ".venv/bin/python", "python_client.py", "auto").await;
}

/// A client that knows only HTTP+SSE, with a backend that does and one that does not.
#[tokio::test]
async fn the_typescript_sdk_comes_over_an_event_stream() {
    for server in [&EVERYTHING, &EVERYTHING_SSE] {
        let Some(stage) = Stage::set(server).await else { return };
        for (path, slow) in [("/peer/sse", server.slow), ("/virtual/peers/sse", "take_time")] {
            let arguments: Value = serde_json::from_str(server.slow_arguments).expect("JSON in the table");
            let plan = json!({ "transport": "sse", "tool": slow, "arguments": arguments, "prompt": server.prompt,
                "prompt_arguments": { "city": "Potsdam" }, "resource": server.resource });
            let seen = stage.ask("node", "ts_client.mjs", path, &[&plan.to_string()]);
            // Where the last report and the answer come in one piece, this client is done before it looks at the report.
            assert!(seen["progress"].as_u64() >= Some(server.steps - 1), "{path}: {seen}");
            assert_has(&seen["prompt"], server.prompt_says, path);
            assert_has(&seen["resource"], server.resource_says, path);
            assert_has(&seen["tools"], slow, path);
        }
        let plan =
            r#"{"transport": "sse", "tool": "trigger-sampling-request", "arguments": {"prompt": "hello"}}"#;
        let seen = stage.ask("node", "ts_client.mjs", "/peer/sse", &[plan]);
        assert_has(&seen["asked"], "sampling/createMessage", "/peer/sse");
        assert_has(&seen["called"], "sampled by the client", "/peer/sse");
    }
}
