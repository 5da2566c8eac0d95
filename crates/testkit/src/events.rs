//! Reads an answer: its head, its body whole, or its events one by one as they come.

use std::any::Any;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

/// Longest wait for the next piece of an answer; a test that needs longer is stuck.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// An answer whose head has come. Dropping it closes the connection, as a client that goes away.
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    /// What came and was not read yet.
    rest: Vec<u8>,
    /// What must live while the answer is read: the connection, where nobody else holds it.
    _held: Option<Box<dyn Any + Send>>,
}

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// `event`.
    pub name: Option<String>,
    /// `id`.
    pub id: Option<String>,
    /// `retry`.
    pub retry: Option<String>,
    /// `data`, lines joined; empty for a block of comments.
    pub data: String,
    /// Comment lines, without their colon.
    pub comments: Vec<String>,
}

impl Answer {
    pub(crate) fn new(head: response::Parts, body: Incoming) -> Self {
        Self { status: head.status, headers: head.headers, body, rest: Vec::new(), _held: None }
    }

    /// Keeps something alive as long as the answer.
    pub(crate) fn holding(mut self, held: impl Any + Send) -> Self {
        self._held = Some(Box::new(held));
        self
    }

    /// Returns a header as text; empty where it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("the header is text"))
    }

    /// Says whether the answer is a stream of events.
    pub fn is_events(&self) -> bool {
        self.header("content-type").starts_with("text/event-stream")
    }

    /// Reads the whole body. `None` where the connection broke.
    pub async fn try_bytes(mut self) -> Option<Bytes> {
        while self.more().await? {}
        Some(self.rest.into())
    }

    /// Reads the whole body.
    pub async fn bytes(self) -> Bytes {
        self.try_bytes().await.expect("the body ends as it should")
    }

    /// Reads the whole body as text.
    pub async fn text(self) -> String {
        String::from_utf8(self.bytes().await.to_vec()).expect("the body is UTF-8")
    }

    /// Reads the body as JSON.
    pub async fn json(self) -> Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
    }

    /// Waits for the next block of events, comments included; `None` at the end of the stream.
    pub async fn block(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.rest.drain(..end + 2).collect();
                return Some(Event::read(std::str::from_utf8(&block).expect("events are UTF-8")));
            }
            if !self.more().await.expect("the stream ends as it should") {
                assert!(self.rest.is_empty(), "cut in an event: {:?}", String::from_utf8_lossy(&self.rest));
                return None;
            }
        }
    }

    /// Waits for the next event with data; `None` at the end of the stream.
    pub async fn event(&mut self) -> Option<Event> {
        loop {
            let event = self.block().await?;
            if !event.data.is_empty() {
                return Some(event);
            }
        }
    }

    /// Waits for the next message of the stream; panics at its end.
    pub async fn message(&mut self) -> Value {
        let event = self.event().await.expect("one more message on the stream");
        event.json()
    }

    /// Says that nothing comes for a while.
    pub async fn is_silent_for(&mut self, time: Duration) -> bool {
        timeout(time, self.event()).await.is_err()
    }

    /// Reads all messages: of a stream until it ends, else the one in the body.
    pub async fn messages(mut self) -> Vec<Value> {
        if !self.is_events() {
            return vec![self.json().await];
        }
        let mut messages = Vec::new();
        while let Some(event) = self.event().await {
            messages.push(event.json());
        }
        messages
    }

    /// Reads the JSON-RPC answer: the body, or the last message of the stream.
    pub async fn reply(self) -> Value {
        let status = self.status;
        let last = self.messages().await.pop();
        last.unwrap_or_else(|| panic!("a stream of status {status} ended without an answer"))
    }

    /// Reads the JSON-RPC answer and returns its result; panics where it is an error.
    pub async fn result(self) -> Value {
        let mut reply = self.reply().await;
        assert!(reply.get("result").is_some(), "a result is wanted: {reply}");
        reply["result"].take()
    }

    /// Reads the JSON-RPC answer and returns its error; panics where it is a result.
    pub async fn error(self) -> Value {
        let mut reply = self.reply().await;
        assert!(reply.get("error").is_some(), "an error is wanted: {reply}");
        reply["error"].take()
    }

    /// Reads one more piece; `Some(false)` at the end, `None` where the connection broke.
    async fn more(&mut self) -> Option<bool> {
        let frame = timeout(PATIENCE, self.body.frame()).await.expect("the answer goes on within 30 s");
        match frame {
            None => Some(false),
            Some(Err(_)) => None,
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    self.rest.extend_from_slice(data);
                }
                Some(true)
            }
        }
    }
}

impl Event {
    /// Reads one block.
    pub fn read(block: &str) -> Self {
        let mut event = Self::default();
        let mut data = Vec::new();
        for line in block.lines().filter(|line| !line.is_empty()) {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match field {
                "" => event.comments.push(value),
                "event" => event.name = Some(value),
                "id" => event.id = Some(value),
                "retry" => event.retry = Some(value),
                "data" => data.push(value),
                _ => {}
            }
        }
        event.data = data.join("\n");
        event
    }

    /// Returns the data as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.data))
    }
}

#[cfg(test)]
mod tests;
