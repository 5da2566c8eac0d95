//! The servers: how each is started, and what a conversation with it shows.

/// A server of the peers.
pub(crate) struct Server {
    /// Its name in the table.
    pub(crate) name: &'static str,
    pub(crate) program: &'static str,
    pub(crate) command: &'static [&'static str],
    pub(crate) transport: Transport,
    /// A tool that reports progress, what it is given, what it answers and how often it reports.
    pub(crate) slow: &'static str,
    pub(crate) arguments: &'static str,
    pub(crate) says: &'static str,
    pub(crate) steps: u64,
    pub(crate) prompt: &'static str,
    pub(crate) prompt_arguments: &'static str,
    pub(crate) prompt_says: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) resource_says: &'static str,
    /// Whether it has a tool `ask` that asks the user.
    pub(crate) asks: bool,
}

/// How the gateway reaches a server.
#[derive(Clone, Copy)]
pub(crate) enum Transport {
    /// It listens, at this path: of streamable HTTP, or of the stream of HTTP+SSE.
    Http(&'static str),
    /// The gateway starts it.
    Stdio,
}

pub(crate) const EVERYTHING: Server = Server {
    name: "everything 2026.8",
    program: "node",
    command: &["everything.mjs"],
    transport: Transport::Http("/mcp"),
    slow: "trigger-long-running-operation",
    arguments: r#"{"duration": 1, "steps": 4}"#,
    says: "Long running operation completed",
    steps: 4,
    prompt: "args-prompt",
    prompt_arguments: r#"{"city": "Potsdam"}"#,
    prompt_says: "Potsdam",
    resource: "demo://resource/static/document/features.md",
    resource_says: "Everything Server",
    asks: false,
};

pub(crate) const EVERYTHING_SSE: Server = Server {
    name: "everything 2026.8, HTTP+SSE",
    command: &["everything.mjs", "sse"],
    transport: Transport::Http("/sse"),
    ..EVERYTHING
};

pub(crate) const EVERYTHING_STDIO: Server = Server {
    name: "everything 2026.8, stdio",
    command: &["node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"],
    transport: Transport::Stdio,
    ..EVERYTHING
};

pub(crate) const FASTMCP: Server = ours("FastMCP 4.2", ".venv/bin/python", &["fastmcp_server.py"], false);
pub(crate) const TYPESCRIPT_2_MODERN: Server =
    ours("TypeScript SDK 2.4, modern", "node", &["ts2_server.mjs", "modern"], true);
/// Its answers to older clients know no session and so no question.
pub(crate) const TYPESCRIPT_2_BOTH: Server =
    ours("TypeScript SDK 2.4, both", "node", &["ts2_server.mjs", "both"], false);
pub(crate) const PYTHON_1_STATEFUL: Server =
    ours("Python SDK 1.30", ".venv-1/bin/python", &["python1_server.py", "stateful"], true);
pub(crate) const PYTHON_1_STATELESS: Server =
    ours("Python SDK 1.30, stateless", ".venv-1/bin/python", &["python1_server.py", "stateless"], false);

/// A server that a script of ours makes; they all offer the same.
const fn ours(
    name: &'static str,
    program: &'static str,
    command: &'static [&'static str],
    asks: bool,
) -> Server {
    Server {
        name,
        program,
        command,
        transport: Transport::Http("/mcp"),
        slow: "count",
        arguments: r#"{"to": 4}"#,
        says: "counted to 4",
        steps: 4,
        prompt: "review",
        prompt_arguments: r#"{"code": "let x = 1;"}"#,
        prompt_says: "let x = 1;",
        resource: "peer://square/7",
        resource_says: "49",
        asks,
    }
}
