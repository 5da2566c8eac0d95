//! Requests to backends of both eras: run once, answered to whom they belong, ended when they should.

use std::time::Duration;

use catalog::Catalog;
use catalog::access::Principal;
use http_body_util::BodyExt;
use mcp::sse::Decoder;
use serde_json::{Value, json};
use testkit::LegacyBackend;

use super::*;
use crate::opaque::VirtualSession;
use crate::stage::{self, caller};
use crate::virtual_server::aside;

mod across;

/// A client, its session, and one server.
struct World {
    plane: Plane,
    session: Arc<ClientSession>,
    version: Arc<VersionTarget>,
}

impl World {
    fn new(url: &str, era: Era) -> Self {
        let mut catalog = Catalog::default();
        stage::add_server(&mut catalog, "/a", &["v1"], url, Some(era));
        stage::add_inventory(&mut catalog, "/a", "v1", era, &["echo"]);
        let plane = stage::plane(&catalog);
        let sealed = VirtualSession {
            id: "1".into(),
            revision: Revision::V2025_11_25,
            capabilities: r#"{"elicitation":{},"sampling":{},"roots":{}}"#.into(),
            client_info: r#"{"name":"test","version":"1"}"#.into(),
        };
        let session = plane.shared.sessions.enter("vs-1", sealed, "/virtual/dev", &caller("ann"));
        let version = plane.shared.live.full().server("/a").unwrap().active().clone();
        Self { plane, session, version }
    }

    fn legacy(&self, message: &Value) -> Call {
        stage::call(&self.plane, &caller("ann"), Front::Legacy, &message.to_string())
    }

    /// Sends a legacy client's request.
    async fn ask(&self, message: &Value) -> Result<Told, Error> {
        Ok(told(self.begin(self.legacy(message)).await?).await)
    }

    async fn begin(&self, call: Call) -> Result<Response<Body>, Error> {
        let (version, session) = (self.version.clone(), Some(self.session.clone()));
        run(Exchange { session, ..Exchange::at_server(&call, version) }).await
    }

    /// Sends a modern client's request.
    async fn ask_modern(&self, who: &Principal, message: &Value) -> Result<Told, Error> {
        let call = stage::call(&self.plane, who, Front::Modern, &message.to_string());
        let exchange = Exchange::at_server(&call, self.version.clone());
        Ok(told(run(exchange).await?).await)
    }

    fn cancel(&self, id: &Value) {
        let params = json!({ "requestId": id });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        aside::notified(&self.legacy(&message), &self.session);
    }
}

/// All that a client was told.
struct Told {
    status: u16,
    messages: Vec<Value>,
}

impl Told {
    fn last(&self) -> &Value {
        self.messages.last().expect("an answer")
    }

    /// What an echo told.
    fn echoed(&self) -> &Value {
        &self.last()["result"]["structuredContent"]
    }
}

async fn told(answer: Response<Body>) -> Told {
    let (head, body) = answer.into_parts();
    let is_stream = answer::is_events(&head.headers);
    let bytes = body.collect().await.unwrap().to_bytes();
    let messages = match is_stream {
        true => events(bytes),
        false => vec![serde_json::from_slice(&bytes).unwrap()],
    };
    Told { status: head.status.as_u16(), messages }
}

fn events(bytes: Bytes) -> Vec<Value> {
    let mut decoder = Decoder::new(1 << 20);
    decoder.push(bytes);
    std::iter::from_fn(|| decoder.next())
        .filter(|event| !event.as_ref().unwrap().data.is_empty())
        .map(|event| serde_json::from_slice(&event.unwrap().data).unwrap())
        .collect()
}

fn tool(id: impl Into<Value>, name: &str, arguments: Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params })
}

#[tokio::test]
async fn many_calls_at_once_greet_once() {
    let backend = LegacyBackend::start("a").tool("echo").await;
    backend.delay("initialize", Duration::from_millis(50));
    let world = World::new(&backend.url(), Era::Legacy);
    let calls: Vec<_> = (0..20).map(|id| tool(id, "echo", json!({ "n": id }))).collect();
    let answers = futures_util::future::join_all(calls.iter().map(|call| world.ask(call))).await;
    for (id, answer) in answers.into_iter().enumerate() {
        let answer = answer.unwrap();
        assert_eq!((&answer.last()["id"], &answer.echoed()["arguments"]["n"]), (&json!(id), &json!(id)));
    }
    assert_eq!(backend.asked("initialize").len(), 1);
    assert_eq!(backend.asked("notifications/initialized").len(), 1);
    assert_eq!(backend.sessions().len(), 1);
}

#[tokio::test]
async fn calls_that_wait_for_a_greeting_fail_with_it() {
    let backend = LegacyBackend::start("a").tool("echo").await;
    backend.delay("initialize", Duration::from_secs(30));
    let world = World::new(&backend.url(), Era::Legacy);
    let calls: Vec<_> = (0..8).map(|id| tool(id, "echo", json!({}))).collect();
    let started = std::time::Instant::now();
    let answers = futures_util::future::join_all(calls.iter().map(|call| world.ask(call))).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(Error::TimedOut { .. }))));
    assert!(started.elapsed() < Duration::from_millis(1500), "one deadline for all: {:?}", started.elapsed());
    assert_eq!(backend.asked("initialize").len(), 1);
    // The next call tries again.
    backend.delay("initialize", Duration::ZERO);
    world.ask(&calls[0]).await.unwrap();
    assert_eq!(backend.asked("initialize").len(), 2);
}

#[tokio::test]
async fn a_forgotten_session_is_renewed_and_the_call_runs_once() {
    for refusal in [404, 400] {
        let backend = LegacyBackend::start("a").tool("echo").resource("doc://one").await;
        backend.refuse_sessions_with(refusal);
        let world = World::new(&backend.url(), Era::Legacy);
        {
            let mut state = world.session.state();
            state.log_level = Some("\"error\"".into());
            state.subscriptions.insert("doc://one".into(), world.version.key.clone());
        }
        let first = world.ask(&tool(1, "echo", json!({}))).await.unwrap();
        backend.forget_sessions();
        let second = world.ask(&tool(2, "echo", json!({}))).await.unwrap();
        assert_ne!(first.echoed()["session"], second.echoed()["session"], "{refusal}");
        assert_eq!(backend.runs("echo"), 2, "{refusal}");
        assert_eq!(backend.calls().len(), 3, "{refusal}: refused once");
        assert_eq!(backend.asked("logging/setLevel").len(), 2, "{refusal}");
        assert_eq!(backend.asked("resources/subscribe").len(), 2, "{refusal}");
        let call = backend.calls().pop().unwrap();
        assert_eq!(call.header("mcp-protocol-version"), "2025-11-25");
        assert_eq!(call.session.as_deref(), second.echoed()["session"].as_str());
    }
}

#[tokio::test]
async fn what_may_have_run_is_not_repeated() {
    let backend = LegacyBackend::start("a").tools(["crash", "break", "error"]).await;
    let world = World::new(&backend.url(), Era::Legacy);
    for name in ["crash", "break"] {
        assert!(world.ask(&tool(1, name, json!({}))).await.is_err(), "{name}");
        assert_eq!(backend.runs(name), 1, "{name}");
    }
    let refused = world.ask(&tool(1, "error", json!({ "code": -32001 }))).await.unwrap();
    assert_eq!(refused.last()["error"]["code"], -32001, "the backend's own words");
    assert_eq!(backend.runs("error"), 1);
}

#[tokio::test]
async fn calls_of_one_id_do_not_meet() {
    let backend = LegacyBackend::start("a").tool("slow").await;
    let world = World::new(&backend.url(), Era::Legacy);
    let call = |n: u32| tool("same", "slow", json!({ "seconds": 0.05, "n": n }));
    let calls = [call(1), call(2), call(3)];
    let answers = futures_util::future::join_all(calls.iter().map(|call| world.ask(call))).await;
    let mut ids = Vec::new();
    for (n, answer) in answers.into_iter().enumerate() {
        let answer = answer.unwrap();
        assert_eq!(answer.last()["id"], "same");
        assert_eq!(answer.echoed()["arguments"]["n"], n + 1);
        ids.push(answer.echoed()["request_id"].to_string());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3, "each under an id of its own");
}

#[tokio::test]
async fn a_call_without_its_client_goes_on_until_it_is_cancelled() {
    let backend = LegacyBackend::start("a").tool("slow").await;
    let world = World::new(&backend.url(), Era::Legacy);
    let call = tool(5, "slow", json!({ "seconds": 20 }));
    let waited = tokio::time::timeout(Duration::from_millis(300), world.ask(&call)).await;
    assert!(waited.is_err(), "the client goes away");
    backend.until("it runs", |backend| backend.runs("slow") == 1).await;
    assert!(backend.cancelled().is_empty());
    world.cancel(&json!(5));
    backend.until("it is cancelled", |backend| backend.cancelled() == [json!(5)]).await;
}
