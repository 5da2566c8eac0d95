//! What a backend saw and what it did.

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

/// One HTTP request that reached a backend.
#[derive(Clone, Debug)]
pub struct Seen {
    /// POST, GET or DELETE.
    pub http_method: Method,
    /// Path and query.
    pub path: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The body, byte for byte.
    pub body: Bytes,
    /// The body as JSON; null where it is none.
    pub message: Value,
    /// `method` of the message; empty for answers, batches, GET and DELETE.
    pub method: String,
    /// The `Mcp-Session-Id` header.
    pub session: Option<String>,
}

/// One run of a tool.
#[derive(Clone, Debug)]
pub struct Run {
    /// The tool's name, as the backend knows it.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The session it ran in, where there is one.
    pub session: Option<String>,
    /// The id of the request.
    pub id: Value,
}

impl Seen {
    /// Returns a header as text; empty where it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("the header is text"))
    }

    /// Returns `params` of the message.
    pub fn params(&self) -> &Value {
        &self.message["params"]
    }

    /// Returns `params.name` of the message; empty where it is absent.
    pub fn name(&self) -> &str {
        self.params()["name"].as_str().unwrap_or_default()
    }
}
