//! An MCP client for tests: both eras, every header in the test's hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use serde_json::{Value, json};

use crate::events::Answer;

mod connection;
pub use connection::Connection;

/// A client of one endpoint. A copy goes on with the same session and never gives an id twice.
///
/// Each request opens a connection of its own; `Connection` sends several over one.
#[derive(Clone)]
pub struct Client {
    /// The endpoint.
    pub url: String,
    /// Headers of every request, beside those the protocol wants.
    pub headers: HeaderMap,
    /// The session, once there is one.
    pub session: Option<String>,
    /// The revision it asks for, then the one agreed.
    pub revision: String,
    /// What it says it can do.
    pub capabilities: Value,
    is_modern: bool,
    next_id: Arc<AtomicU64>,
}

impl Client {
    /// A client of the revision 2025-11-25, which must `initialize` first.
    pub fn legacy(url: &str) -> Self {
        Self {
            url: url.into(),
            headers: HeaderMap::new(),
            session: None,
            revision: "2025-11-25".into(),
            capabilities: json!({}),
            is_modern: false,
            next_id: Arc::new(AtomicU64::new(1)),
        }
    }

    /// A client of the revision 2026-07-28.
    pub fn modern(url: &str) -> Self {
        Self { revision: "2026-07-28".into(), is_modern: true, ..Self::legacy(url) }
    }

    /// Presents a bearer token.
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// Adds a header to every request.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(header_name(name), header_value(value));
        self
    }

    /// Speaks to another endpoint, with the same session and token.
    pub fn at(mut self, url: &str) -> Self {
        self.url = url.into();
        self
    }

    /// Goes on with a session, whoever began it.
    pub fn in_session(mut self, session: &str) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Asks for another revision.
    pub fn revision(mut self, revision: &str) -> Self {
        self.revision = revision.into();
        self
    }

    /// Can be asked: elicitation, sampling, roots.
    pub fn askable(self) -> Self {
        self.capabilities(json!({ "elicitation": {}, "sampling": {}, "roots": { "listChanged": true } }))
    }

    /// Says what it can do.
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Greets the server and takes its session; returns the result of `initialize`.
    pub async fn initialize(&mut self) -> Value {
        let answer = self.try_initialize().await;
        assert_eq!(answer.status, 200, "initialize is answered");
        let session = answer.header("mcp-session-id").to_owned();
        self.session = (!session.is_empty()).then_some(session);
        let result = answer.result().await;
        self.revision = result["protocolVersion"].as_str().expect("a protocol version").into();
        let told = self.notify("notifications/initialized", json!({})).await;
        assert_eq!(told.status, 202, "notifications/initialized is accepted");
        result
    }

    /// Sends `initialize` and nothing else.
    pub async fn try_initialize(&self) -> Answer {
        let client = json!({ "name": "testkit", "version": "1.0.0" });
        let params = json!({
            "protocolVersion": self.revision,
            "capabilities": self.capabilities,
            "clientInfo": client,
        });
        self.request("initialize", params).await
    }

    /// Sends a request and returns its answer, whatever it is.
    pub async fn request(&self, method: &str, params: Value) -> Answer {
        let message = self.message(method, params);
        self.post(&message).await
    }

    /// Makes the message of a request, with a fresh id and, in the modern era, `_meta`.
    pub fn message(&self, method: &str, mut params: Value) -> Value {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        if self.is_modern {
            let own = params.as_object_mut().expect("params are an object");
            let meta = own.entry("_meta").or_insert_with(|| json!({}));
            let said = meta.as_object_mut().expect("_meta is an object");
            for (key, value) in [
                ("protocolVersion", json!(self.revision)),
                ("clientCapabilities", self.capabilities.clone()),
                ("clientInfo", json!({ "name": "testkit", "version": "1.0.0" })),
            ] {
                said.entry(format!("io.modelcontextprotocol/{key}")).or_insert(value);
            }
        }
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    /// Calls a tool and returns its result; panics where the answer is an error.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.try_call(tool, arguments).await.result().await
    }

    /// Calls a tool and returns its answer, whatever it is.
    pub async fn try_call(&self, tool: &str, arguments: Value) -> Answer {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Reads a list, all pages, for example `tools/list`.
    pub async fn list(&self, method: &str) -> Vec<Value> {
        let member = match method {
            "tools/list" => "tools",
            "prompts/list" => "prompts",
            "resources/list" => "resources",
            "resources/templates/list" => "resourceTemplates",
            "tasks/list" => "tasks",
            _ => panic!("{method} is no list"),
        };
        let mut items = Vec::new();
        let mut params = json!({});
        loop {
            let mut result = self.request(method, params).await.result().await;
            items.append(result[member].as_array_mut().unwrap_or_else(|| panic!("no {member}")));
            match result["nextCursor"].take() {
                Value::Null => return items,
                cursor => params = json!({ "cursor": cursor }),
            }
        }
    }

    /// Reads the names of all tools.
    pub async fn tools(&self) -> Vec<String> {
        let tools = self.list("tools/list").await;
        tools.iter().map(|tool| tool["name"].as_str().expect("a tool has a name").to_owned()).collect()
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) -> Answer {
        self.post(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    /// Answers a request of the server.
    pub async fn answer(&self, id: &Value, result: Value) -> Answer {
        self.post(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).await
    }

    /// Answers a request of the server with an error.
    pub async fn refuse(&self, id: &Value, code: i64, message: &str) -> Answer {
        self.post(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })).await
    }

    /// Opens the GET stream.
    pub async fn get(&self) -> Answer {
        let mut headers = self.protocol_headers();
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        self.send(Method::GET, headers, Bytes::new()).await
    }

    /// Resumes a stream after the event of this id.
    pub async fn resume(&self, last_event: &str) -> Answer {
        let mut headers = self.protocol_headers();
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        headers.insert("last-event-id", HeaderValue::from_str(last_event).expect("an event id"));
        self.send(Method::GET, headers, Bytes::new()).await
    }

    /// Ends the session.
    pub async fn delete(&self) -> Answer {
        self.send(Method::DELETE, self.protocol_headers(), Bytes::new()).await
    }

    /// Posts a message with the headers that the protocol wants for it.
    pub async fn post(&self, message: &Value) -> Answer {
        self.post_bytes(self.headers_for(message), message.to_string()).await
    }

    /// Posts a body of any bytes with headers of any kind and nothing else.
    pub async fn post_bytes(&self, headers: HeaderMap, body: impl Into<Bytes>) -> Answer {
        self.send(Method::POST, headers, body.into()).await
    }

    /// Returns the headers a message is posted with, to be changed before `post_bytes`.
    pub fn headers_for(&self, message: &Value) -> HeaderMap {
        let mut headers = self.protocol_headers();
        headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let method = message["method"].as_str().unwrap_or_default();
        if self.is_modern && !method.is_empty() {
            headers.insert("mcp-method", header_value(method));
            let params = &message["params"];
            let name = match method {
                "tools/call" | "prompts/get" => params["name"].as_str(),
                "resources/read" => params["uri"].as_str(),
                "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
                _ => None,
            };
            if let Some(name) = name {
                headers.insert("mcp-name", header_value(name));
            }
        }
        // The revision is agreed by `initialize` and said from then on.
        if method == "initialize" {
            headers.remove("mcp-protocol-version");
        }
        headers
    }

    fn protocol_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(session) = &self.session {
            headers.insert("mcp-session-id", header_value(session));
        }
        // The header came with 2025-06-18.
        if self.revision.as_str() >= "2025-06-18" {
            headers.insert("mcp-protocol-version", header_value(&self.revision));
        }
        headers
    }

    async fn send(&self, method: Method, headers: HeaderMap, body: Bytes) -> Answer {
        let (authority, path) = split_url(&self.url);
        let mut connection = Connection::open(authority)
            .await
            .unwrap_or_else(|error| panic!("cannot connect to {authority}: {error}"));
        let mut request =
            Request::builder().method(method).uri(path).body(body).expect("the URL's path is valid");
        *request.headers_mut() = headers;
        let sent = connection.send(request).await;
        let answer = sent.unwrap_or_else(|error| panic!("no answer from {}: {error}", self.url));
        answer.holding(connection)
    }
}

/// Splits `http://host:port/path` into authority and path.
pub fn split_url(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("{url} is no http:// URL"));
    match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, "/"),
    }
}

fn header_name(name: &str) -> HeaderName {
    name.parse().unwrap_or_else(|_| panic!("{name:?} is no header name"))
}

fn header_value(value: &str) -> HeaderValue {
    HeaderValue::from_str(value).unwrap_or_else(|_| panic!("{value:?} is no header value"))
}
