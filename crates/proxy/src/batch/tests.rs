//! Batches at a virtual server and at a server path.

use std::sync::Arc;
use std::time::Duration;

use catalog::Catalog;
use catalog::endpoint::Era;
use http::StatusCode;
use http_body_util::BodyExt;
use mcp::headers::{Accepts, SESSION_ID};
use serde_json::{Value, json};
use testkit::LegacyBackend;

use super::*;
use crate::direct;
use crate::plane::Plane;
use crate::stage::{self, caller};

const BOTH: Accepts = Accepts { json: true, events: true };

/// A backend at `/a`, and its tools at `/virtual/dev`.
struct World {
    plane: Plane,
    backend: LegacyBackend,
}

impl World {
    async fn new(tools: &[&str]) -> Self {
        Self::of(LegacyBackend::start("a").tools(tools.iter().copied()).await, tools)
    }

    fn of(backend: LegacyBackend, tools: &[&str]) -> Self {
        let mut catalog = Catalog::default();
        stage::add_server(&mut catalog, "/a", &["v1"], &backend.url(), Some(Era::Legacy));
        stage::add_inventory(&mut catalog, "/a", "v1", Era::Legacy, tools);
        let rows: Vec<_> = tools.iter().map(|tool| (*tool, "/a")).collect();
        stage::add_virtual(&mut catalog, "dev", &rows);
        Self { plane: stage::plane(&catalog), backend }
    }

    fn standing(&self, path: &str, headers: &[(&'static str, &str)]) -> Standing {
        Standing {
            plane: self.plane.clone(),
            principal: Arc::new(caller("ann")),
            headers: stage::headers(headers),
            accepts: BOTH,
            table: self.plane.shared.live.full(),
            path: path.into(),
            host: None,
        }
    }

    async fn greet(&self, path: &str, revision: &str) -> String {
        let greeting = request(0, "initialize", json!({ "protocolVersion": revision, "capabilities": {} }));
        let answer = self.standing(path, &[]).answer(greeting.to_string().into()).await;
        answer.headers()[SESSION_ID].to_str().unwrap().to_owned()
    }

    async fn post(&self, standing: Standing, body: &str) -> Result<(StatusCode, Vec<Value>), Error> {
        let choice = match standing.target()? {
            Target::Server(server) => {
                let Standing { headers, principal, .. } = &standing;
                Some(direct::choose_version(&self.plane, server, headers, principal, true)?)
            }
            Target::Virtual(_) => None,
        };
        let body = Bytes::copy_from_slice(body.as_bytes());
        let (head, body) = post(standing, choice.as_ref(), &body).await?.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        if text.is_empty() {
            return Ok((head.status, Vec::new()));
        }
        if text.starts_with('[') {
            return Ok((head.status, serde_json::from_str(&text).unwrap()));
        }
        assert_eq!(head.headers["content-type"], "text/event-stream");
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        Ok((head.status, data.map(|data| serde_json::from_str(data).unwrap()).collect()))
    }

    async fn say(&self, path: &str, session: &str, body: &Value) -> (StatusCode, Vec<Value>) {
        let standing = self.standing(path, &[("mcp-session-id", session)]);
        self.post(standing, &body.to_string()).await.unwrap()
    }
}

fn request(id: u32, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn call(id: u32, tool: &str) -> Value {
    request(id, "tools/call", json!({ "name": tool, "arguments": {} }))
}

fn note(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method })
}

fn ids(messages: &[Value]) -> Vec<&Value> {
    messages.iter().map(|message| &message["id"]).collect()
}

#[tokio::test]
async fn each_message_is_answered_by_itself() {
    let world = World::new(&["echo"]).await;
    for path in ["/virtual/dev", "/a"] {
        let session = world.greet(path, "2025-03-26").await;
        let batch = json!([
            call(1, "echo"),
            note("notifications/initialized"),
            request(2, "ping", json!({})),
            7,
            { "jsonrpc": "2.0", "id": "x" },
            [call(3, "echo")],
            { "jsonrpc": "2.0", "id": "ask-9", "result": {} },
            call(4, "nowhere"),
        ]);
        let (status, answers) = world.say(path, &session, &batch).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        let expected = [json!(1), json!(2), Value::Null, json!("x"), Value::Null, json!(4)];
        assert_eq!(ids(&answers), expected.iter().collect::<Vec<_>>(), "{path}");
        assert!(answers[0]["result"]["content"].is_array(), "{path}");
        assert_eq!(answers[1]["result"], json!({}), "{path}");
        for invalid in &answers[2..5] {
            assert_eq!(invalid["error"]["code"], -32600, "{path}");
        }
        assert!(answers[5]["error"].is_object(), "{path}");
        assert!(world.backend.seen().iter().all(|seen| !seen.message.is_array()), "{path}");
    }
}

#[tokio::test]
async fn what_asks_nothing_is_accepted() {
    let world = World::new(&["echo"]).await;
    for path in ["/virtual/dev", "/a"] {
        let session = world.greet(path, "2025-03-26").await;
        let told = json!([note("notifications/initialized"), note("notifications/roots/list_changed")]);
        assert_eq!(world.say(path, &session, &told).await, (StatusCode::ACCEPTED, Vec::new()), "{path}");
    }
}

#[tokio::test]
async fn one_that_streams_makes_a_stream_of_all() {
    let backend = LegacyBackend::start("a").tools(["progress", "echo"]).with_events().await;
    let world = World::of(backend, &["progress", "echo"]);
    let meta = json!({ "name": "progress", "arguments": {}, "_meta": { "progressToken": "t" } });
    for path in ["/virtual/dev", "/a"] {
        let session = world.greet(path, "2025-03-26").await;
        let batch =
            json!([request(1, "tools/call", meta.clone()), request(2, "ping", json!({})), call(3, "echo")]);
        let (_, messages) = world.say(path, &session, &batch).await;
        let progress = messages.iter().filter(|message| message["method"] == "notifications/progress");
        assert_eq!(progress.count(), 3, "{path}");
        let mut answered: Vec<_> = messages
            .iter()
            .filter(|message| message["result"].is_object())
            .map(|one| one["id"].as_u64())
            .collect();
        answered.sort_unstable();
        assert_eq!(answered, [Some(1), Some(2), Some(3)], "{path}");
        // Who takes no stream gets the answers alone.
        let mut standing = world.standing(path, &[("mcp-session-id", &session)]);
        standing.accepts = Accepts { json: true, events: false };
        let (_, answers) = world.post(standing, &batch.to_string()).await.unwrap();
        assert_eq!(ids(&answers), [&json!(1), &json!(2), &json!(3)], "{path}");
    }
}

#[tokio::test]
async fn a_batch_is_refused_as_a_whole() {
    let world = World::new(&["echo"]).await;
    let session = world.greet("/virtual/dev", "2025-03-26").await;
    let many: Vec<_> =
        (0..=MAX_MEMBERS).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).collect();
    for (batch, says) in [
        (json!([]), "empty"),
        (json!(many), "at most 64"),
        (json!([call(1, "echo"), request(2, "initialize", json!({}))]), "initialize"),
        (json!([call(1, "echo"), note("notifications/x"), request(1, "ping", json!({}))]), "same id"),
    ] {
        let standing = world.standing("/virtual/dev", &[("mcp-session-id", &session)]);
        let refused = world.post(standing, &batch.to_string()).await.unwrap_err();
        assert!(matches!(&refused, Error::InvalidRequest(reason) if reason.contains(says)), "{refused}");
    }
    let same = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1.0,"method":"ping"}]"#;
    let standing = world.standing("/virtual/dev", &[("mcp-session-id", &session)]);
    assert!(matches!(world.post(standing, same).await, Err(Error::InvalidRequest(_))));
    assert_eq!(world.backend.runs("echo"), 0);
}

#[tokio::test]
async fn only_clients_of_its_revision_send_one() {
    let world = World::new(&["echo"]).await;
    let batch = json!([call(1, "echo")]).to_string();
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let session = world.greet("/virtual/dev", revision).await;
        let refused =
            world.post(world.standing("/virtual/dev", &[("mcp-session-id", &session)]), &batch).await;
        assert!(matches!(refused, Err(Error::Malformed(Malformed::Batch))), "{revision}");
    }
    let session = world.greet("/a", "2025-06-18").await;
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-06-18")];
    let refused = world.post(world.standing("/a", &headers), &batch).await;
    assert!(matches!(refused, Err(Error::Malformed(Malformed::Batch))));
    let refused = world.post(world.standing("/virtual/dev", &[]), &batch).await;
    assert!(matches!(refused, Err(Error::SessionMissing)));
    let refused = world.post(world.standing("/a", &[("mcp-session-id", "foreign")]), &batch).await;
    assert!(matches!(refused, Err(Error::SessionUnknown)));
}

#[tokio::test]
async fn a_session_the_backend_forgot_is_told_by_the_status() {
    let world = World::new(&["echo"]).await;
    let session = world.greet("/a", "2025-03-26").await;
    world.backend.forget_sessions();
    let batch = json!([call(1, "echo"), call(2, "echo")]);
    let (status, answers) = world.say("/a", &session, &batch).await;
    assert_eq!((status, ids(&answers)), (StatusCode::NOT_FOUND, vec![&json!(1), &json!(2)]));
}

#[tokio::test]
async fn a_request_is_cancelled_by_what_comes_behind_it() {
    let world = World::new(&["slow", "echo"]).await;
    let session = world.greet("/virtual/dev", "2025-03-26").await;
    world.say("/virtual/dev", &session, &json!([call(1, "echo")])).await;
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    let slow = request(2, "tools/call", json!({ "name": "slow", "arguments": { "seconds": 20 } }));
    let batch = json!([slow, call(3, "echo"), cancelled]);
    let talk = world.say("/virtual/dev", &session, &batch);
    let (_, answers) = tokio::time::timeout(Duration::from_secs(10), talk).await.expect("it was cancelled");
    assert!(ids(&answers).contains(&&json!(3)));
    assert_eq!(world.backend.asked("notifications/cancelled").len(), 1);
}
