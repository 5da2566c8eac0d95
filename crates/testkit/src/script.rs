//! What a backend offers and how it misbehaves: set before it starts, changed while it runs.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use crate::steps::Steps;
use crate::tool::Tool;

/// Everything about a backend that a test may set.
#[derive(Clone, Debug)]
pub struct Script {
    /// `serverInfo.name`, and the word by which echoes tell the backend.
    pub name: String,
    /// `serverInfo.version`.
    pub version: String,
    /// `instructions`, where it gives any.
    pub instructions: Option<String>,
    /// The newest legacy revision it agrees to.
    pub speaks: String,
    /// Its tools, in order.
    pub tools: Vec<Tool>,
    /// Objects of `prompts/list`.
    pub prompts: Vec<Value>,
    /// What prompts do, by name, where they do more than tell their arguments.
    pub prompt_steps: HashMap<String, Steps>,
    /// Objects of `resources/list`.
    pub resources: Vec<Value>,
    /// Objects of `resources/templates/list`.
    pub templates: Vec<Value>,
    /// Returns an object of `contents` for a URI, in place of a text that names it.
    pub contents: Option<fn(uri: &str) -> Option<Value>>,
    /// Capabilities in place of those that follow from what it offers.
    pub capabilities: Option<Value>,
    /// Whether it gives session ids and demands them.
    pub has_sessions: bool,
    /// How it refuses a session it does not know: 404, or 400 as some do.
    pub session_refusal: StatusCode,
    /// Whether GET opens a stream; 405 otherwise.
    pub has_get_stream: bool,
    /// Whether it answers with events even where plain JSON would do.
    pub uses_events: bool,
    /// Whether its events carry ids.
    pub has_event_ids: bool,
    /// Raw text in front of each event stream: comments, `retry`.
    pub opening: String,
    /// Where messages are posted to, in place of its own: what the first event of a stream over HTTP+SSE says.
    pub posts_to: Option<String>,
    /// Items of one page of a list; all where absent.
    pub page_size: Option<usize>,
    /// Whether each page of a list names the same next one, for ever.
    pub loops_cursors: bool,
    /// What its list of tasks has besides the one that it tells of under its name only.
    pub tasks: Vec<&'static str>,
    /// How long it waits before it answers a method.
    pub delays: HashMap<String, Duration>,
    /// What it answers to a method, whatever is asked.
    pub replies: HashMap<String, Reply>,
    /// Whether it writes messages as arrays, as 2025-03-26 lets it: each event one of a single message, and JSON answers
    /// with a log message in front; all but the answer to `initialize`.
    pub writes_arrays: bool,
    /// Whether it ends a call that its client cancels; some go on.
    pub heeds_cancellation: bool,
    /// Whether it keeps what it sees and runs, for tests to look at; a long-lived backend would fill its memory.
    pub keeps_history: bool,
    /// Whether it refuses whoever does not know it by a name of loopback, as a backend without tokens should.
    pub only_local: bool,
    /// The bearer token it demands, where it demands one: 401 otherwise.
    pub bearer: Option<String>,
}

/// An answer byte for byte.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The content type.
    pub content_type: String,
    /// The body.
    pub body: Bytes,
    /// More headers.
    pub headers: Vec<(String, String)>,
}

impl Script {
    /// A backend that offers nothing yet.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            version: "1.0.0".into(),
            instructions: None,
            speaks: "2025-11-25".into(),
            tools: Vec::new(),
            prompts: Vec::new(),
            prompt_steps: HashMap::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            contents: None,
            capabilities: None,
            has_sessions: true,
            session_refusal: StatusCode::NOT_FOUND,
            has_get_stream: true,
            uses_events: false,
            has_event_ids: false,
            opening: String::new(),
            posts_to: None,
            page_size: None,
            loops_cursors: false,
            tasks: Vec::new(),
            delays: HashMap::new(),
            replies: HashMap::new(),
            writes_arrays: false,
            heeds_cancellation: true,
            keeps_history: true,
            only_local: false,
            bearer: None,
        }
    }

    /// Returns `serverInfo`.
    pub fn server_info(&self) -> Value {
        json!({ "name": self.name, "version": self.version, "title": format!("Example {}", self.name) })
    }

    /// Returns its capabilities: as set, else as they follow from what it offers.
    pub fn capabilities(&self) -> Value {
        if let Some(capabilities) = &self.capabilities {
            return capabilities.clone();
        }
        let mut capabilities = json!({ "tools": { "listChanged": true }, "logging": {} });
        if !self.prompts.is_empty() {
            capabilities["prompts"] = json!({ "listChanged": true });
            capabilities["completions"] = json!({});
        }
        if !self.resources.is_empty() || !self.templates.is_empty() {
            capabilities["resources"] = json!({ "subscribe": true, "listChanged": true });
        }
        capabilities
    }
}

impl Reply {
    /// An answer with a status, a content type and a body.
    pub fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let status = StatusCode::from_u16(status).expect("the test gives a status");
        Self { status, content_type: content_type.into(), body: body.into(), headers: Vec::new() }
    }

    /// An answer of status 200 with JSON.
    pub fn json(body: &Value) -> Self {
        Self::new(200, "application/json", body.to_string())
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}
