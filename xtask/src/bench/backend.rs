//! The backend of the benchmark: answers MCP as fast as a thread per connection can, so that what is measured is the
//! proxy in front of it. It is of the older revisions, below `/modern` of the newest.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;

/// Tools of every path but `/all`.
pub(super) const TOOLS: usize = 20;
/// Tools of `/all`: as many as three backends have together.
const ALL_TOOLS: usize = 60;
/// Between the two events of a streamed answer, so that whoever waits for the whole answer is found out.
pub(super) const STREAM_PAUSE: Duration = Duration::from_millis(20);
/// What a call tells before it asks: more than is read of a stream at a time.
const TOLD_BYTES: usize = 256 << 10;
/// Larger heads or bodies are not part of the benchmark.
const MAX_REQUEST_BYTES: usize = 1 << 20;

static LIST: LazyLock<String> =
    LazyLock::new(|| list((0..TOOLS).map(tool).chain([STREAM, ASK].map(str::to_owned)), ""));
static WHOLE_LIST: LazyLock<String> = LazyLock::new(|| list((0..ALL_TOOLS).map(tool), ""));
static MODERN_LIST: LazyLock<String> = LazyLock::new(|| {
    list((0..TOOLS).map(tool), r#","resultType":"complete","ttlMs":60000,"cacheScope":"public""#)
});
static CALLED: LazyLock<String> = LazyLock::new(|| called(""));
static MODERN_CALLED: LazyLock<String> = LazyLock::new(|| called(r#","resultType":"complete""#));
static SESSIONS: AtomicU64 = AtomicU64::new(1);

/// The tool that asks its user, and waits for the answer.
const ASK: &str = r#"{"name":"ask","description":"Asks.","inputSchema":{"type":"object"}}"#;
const QUESTION: &str = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"message\":\"Which of the entries of the collection is the one that shall be looked up?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"entry\":{\"type\":\"integer\",\"description\":\"Its number\"}},\"required\":[\"entry\"]}}}\n\n";

/// The tool that the streaming scenario calls.
const STREAM: &str = r#"{"name":"stream","description":"Streams.","inputSchema":{"type":"object"}}"#;
const GREETING: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1.0.0"}}"#;
const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":60000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1.0.0"}}}"#;
const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const PROGRESS: &str = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\n\n";

/// The JSON of one tool, about 300 bytes.
pub(super) fn tool(number: usize) -> String {
    format!(
        r#"{{"name":"tool_{number:02}","title":"Tool {number:02}","description":"Looks up entry {number:02} of the collection and answers with its text and its source.","inputSchema":{{"type":"object","properties":{{"query":{{"type":"string"}},"limit":{{"type":"integer","minimum":1}}}},"required":["query"]}},"annotations":{{"readOnlyHint":true}}}}"#
    )
}

/// Serves until the process is ended; says `listening on 127.0.0.1:<port>` first.
pub(crate) fn serve() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").context("binding a free port")?;
    println!("listening on {}", listener.local_addr()?);
    accept(&listener)
}

/// Gives each connection a thread of its own.
pub(super) fn accept(listener: &TcpListener) -> anyhow::Result<()> {
    for connection in listener.incoming() {
        let connection = connection?;
        std::thread::spawn(move || converse(connection));
    }
    Ok(())
}

/// A client that goes away or sends nonsense ends its own connection and nothing else.
fn converse(mut connection: TcpStream) -> Option<()> {
    connection.set_nodelay(true).ok()?;
    let mut buffer = Vec::with_capacity(16 << 10);
    let mut chunk = [0; 16 << 10];
    loop {
        while let Some(request) = Request::read(&buffer) {
            answer(&mut connection, &request).ok()?;
            let length = request.length;
            buffer.drain(..length);
        }
        let count = connection.read(&mut chunk).ok().filter(|count| *count > 0)?;
        buffer.extend_from_slice(&chunk[..count]);
        if buffer.len() > MAX_REQUEST_BYTES {
            return None;
        }
    }
}

struct Request<'a> {
    head: &'a str,
    body: &'a str,
    length: usize,
}

impl<'a> Request<'a> {
    /// Returns a request once all of it is there.
    fn read(buffer: &'a [u8]) -> Option<Self> {
        let head_end = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let head = std::str::from_utf8(&buffer[..head_end]).ok()?;
        let body_length = head.lines().find_map(content_length).unwrap_or(0);
        let body = buffer.get(head_end..head_end + body_length)?;
        Some(Self { head, body: std::str::from_utf8(body).ok()?, length: head_end + body_length })
    }

    /// The raw JSON of the id: our own messages have it before any other member of that name.
    fn id(&self) -> &'a str {
        let after = self.body.split_once(r#""id":"#).map_or("null", |(_, after)| after);
        after.split([',', '}']).next().unwrap_or("null").trim()
    }
}

fn content_length(line: &str) -> Option<usize> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
}

fn answer(connection: &mut TcpStream, request: &Request<'_>) -> std::io::Result<()> {
    let has = |name: &str| request.body.contains(name);
    if request.head.starts_with("POST /modern") {
        answer_modern(connection, request)
    } else if request.head.starts_with("DELETE") {
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    } else if request.head.starts_with("GET /asking") {
        // Nothing ever comes on this stream, and its end is the end of the connection.
        connection.write_all(STREAM_HEAD.as_bytes())
    } else if !request.head.starts_with("POST") {
        connection
            .write_all(b"HTTP/1.1 405 Method Not Allowed\r\nAllow: POST, DELETE\r\nContent-Length: 0\r\n\r\n")
    } else if has(r#""tools/call""#) {
        if has(r#""stream""#) {
            stream(connection, request.id())
        } else if has(r#""ask""#) {
            ask(connection)
        } else {
            json(connection, request.id(), &CALLED, "")
        }
    } else if has(r#""tools/list""#) {
        let is_whole = request.head.starts_with("POST /all");
        json(connection, request.id(), if is_whole { &WHOLE_LIST } else { &LIST }, "")
    } else if has(r#""initialize""#) {
        let session = format!("Mcp-Session-Id: bench-{}\r\n", SESSIONS.fetch_add(1, Ordering::Relaxed));
        json(connection, request.id(), GREETING, &session)
    } else if has(r#""notifications/"#) {
        connection.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
    } else if has(r#""ping""#) {
        json(connection, request.id(), "{}", "")
    } else {
        unknown(connection, request.id())
    }
}

fn answer_modern(connection: &mut TcpStream, request: &Request<'_>) -> std::io::Result<()> {
    let has = |name: &str| request.body.contains(name);
    if has(r#""tools/call""#) {
        json(connection, request.id(), &MODERN_CALLED, "")
    } else if has(r#""tools/list""#) {
        json(connection, request.id(), &MODERN_LIST, "")
    } else if has(r#""server/discover""#) {
        json(connection, request.id(), DISCOVERED, "")
    } else {
        unknown(connection, request.id())
    }
}

fn unknown(connection: &mut TcpStream, id: &str) -> std::io::Result<()> {
    let error = r#"{"code":-32601,"message":"Method not found"}"#;
    write_json(connection, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#), "")
}

fn json(connection: &mut TcpStream, id: &str, result: &str, header: &str) -> std::io::Result<()> {
    write_json(connection, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#), header)
}

fn write_json(connection: &mut TcpStream, body: &str, header: &str) -> std::io::Result<()> {
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{header}Content-Length: {length}\r\n\r\n{body}"
    );
    connection.write_all(answer.as_bytes())
}

#[expect(clippy::disallowed_methods, reason = "the thread serves this connection only")]
fn stream(connection: &mut TcpStream, id: &str) -> std::io::Result<()> {
    connection.write_all(format!("{STREAM_HEAD}{:x}\r\n{PROGRESS}\r\n", PROGRESS.len()).as_bytes())?;
    std::thread::sleep(STREAM_PAUSE);
    let last =
        format!("event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}}\n\n", *CALLED);
    connection.write_all(format!("{:x}\r\n{last}\r\n0\r\n\r\n", last.len()).as_bytes())
}

/// Tells much, asks, and leaves the stream open.
fn ask(connection: &mut TcpStream) -> std::io::Result<()> {
    let told = PROGRESS.repeat(TOLD_BYTES / PROGRESS.len()) + QUESTION;
    connection.write_all(format!("{STREAM_HEAD}{:x}\r\n{told}\r\n", told.len()).as_bytes())
}

fn list(tools: impl Iterator<Item = String>, more: &str) -> String {
    let tools: Vec<String> = tools.collect();
    format!(r#"{{"tools":[{}]{more}}}"#, tools.join(","))
}

fn called(more: &str) -> String {
    let text = "All work and no play makes a benchmark dull. ".repeat(10);
    format!(r#"{{"content":[{{"type":"text","text":"{}"}}],"isError":false{more}}}"#, text.trim_end())
}
