//! Server paths: sessions of the backend's own, wrapped; and sessions of ours where the eras differ.

use std::sync::Arc;
use std::time::Duration;

use catalog::Catalog;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use testkit::{LegacyBackend, ModernBackend};

use super::*;
use crate::stage::{self, caller};

/// A server at `/a` with two versions, `v1` active.
struct World {
    plane: Plane,
    catalog: Catalog,
}

struct Told {
    status: u16,
    session: Option<String>,
    body: Value,
}

impl World {
    fn new(url: &str, era: Era) -> Self {
        let mut catalog = Catalog::default();
        stage::add_server(&mut catalog, "/a", &["v1", "v2"], url, Some(era));
        for label in ["v1", "v2"] {
            stage::add_inventory(&mut catalog, "/a", label, era, &["echo"]);
        }
        Self { plane: stage::plane(&catalog), catalog }
    }

    fn server(&self) -> Arc<ServerTarget> {
        self.plane.shared.live.full().server("/a").unwrap().clone()
    }

    fn change(&mut self, edit: impl FnOnce(&catalog::server::Server) -> catalog::server::Server) {
        let servers = Arc::make_mut(&mut self.catalog.servers);
        let next = edit(&servers["/a"]);
        servers.insert(next.path.clone(), Arc::new(next));
        self.plane.shared.live.publish(Arc::new(stage::table(&self.catalog)));
    }

    async fn post(
        &self,
        who: &str,
        front: Front,
        headers: &[(&'static str, &str)],
        message: &Value,
    ) -> Result<Told, Error> {
        let call = stage::call(&self.plane, &caller(who), front, &message.to_string());
        let call = Call { headers: stage::headers(headers), ..call };
        let may_have_session = front == Front::Legacy && call.outline.method != Method::Initialize;
        let mut choice =
            choose_version(&self.plane, &self.server(), &call.headers, &call.principal, may_have_session)?;
        let (head, body) = post(&call, &mut choice).await?.into_parts();
        let session = head.headers.get(SESSION_ID).map(|id| id.to_str().unwrap().to_owned());
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(Told { status: head.status.as_u16(), session, body })
    }

    async fn say(&self, session: &str, message: &Value) -> Result<Told, Error> {
        self.post("ann", Front::Legacy, &[("mcp-session-id", session)], message).await
    }

    async fn initialize(&self, headers: &[(&'static str, &str)]) -> String {
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
        let told = self.post("ann", Front::Legacy, headers, &request(0, "initialize", params)).await.unwrap();
        assert_eq!((told.status, &told.body["result"]["protocolVersion"]), (200, &json!("2025-06-18")));
        told.session.expect("a session")
    }

    fn choice(&self, session: &str) -> Choice {
        let headers = stage::headers(&[("mcp-session-id", session)]);
        choose_version(&self.plane, &self.server(), &headers, &caller("ann"), true).unwrap()
    }
}

fn request(id: u32, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn echo(id: u32) -> Value {
    request(id, "tools/call", json!({ "name": "echo", "arguments": {} }))
}

fn modern(method: &str) -> Value {
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": {} });
    request(1, method, json!({ "name": "echo", "arguments": {}, "_meta": meta }))
}

#[tokio::test]
async fn a_backends_session_travels_wrapped() {
    let backend = LegacyBackend::start("a").tool("echo").await;
    let world = World::new(&backend.url(), Era::Legacy);
    let session = world.initialize(&[]).await;
    let own = backend.sessions().pop().unwrap();
    assert!(!session.contains(&own));
    let told = world.say(&session, &echo(1)).await.unwrap();
    assert_eq!((told.status, &told.body["id"]), (200, &json!(1)));
    assert_eq!(told.body["result"]["structuredContent"]["session"], own.as_str());
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(world.say(&session, &note).await.unwrap().status, 202);
    for (who, headers) in [
        ("bob", vec![("mcp-session-id", session.as_str())]),
        ("ann", vec![("mcp-session-id", own.as_str())]),
        ("ann", vec![("mcp-session-id", "x")]),
    ] {
        let refused = world.post(who, Front::Legacy, &headers, &echo(1)).await;
        assert!(matches!(refused, Err(Error::SessionUnknown)), "{who} {headers:?}");
    }
    let twice = [("mcp-session-id", session.as_str()), ("mcp-session-id", session.as_str())];
    let refused = world.post("ann", Front::Legacy, &twice, &echo(1)).await;
    assert!(matches!(refused, Err(Error::Ambiguous { .. })));
    // What the backend says of a session it forgot is the client's to hear.
    backend.forget_sessions();
    assert_eq!(world.say(&session, &echo(2)).await.unwrap().status, 404);
    assert_eq!(backend.runs("echo"), 1);
}

#[tokio::test]
async fn a_session_stays_with_its_version_while_it_is_there() {
    let backend = LegacyBackend::start("a").tool("echo").await;
    let mut world = World::new(&backend.url(), Era::Legacy);
    let session = world.initialize(&[("x-mcp-server-version", "v2")]).await;
    assert_eq!(world.choice(&session).version.key.label.as_str(), "v2");
    let other = [("mcp-session-id", session.as_str()), ("x-mcp-server-version", "v1")];
    let refused = world.post("ann", Front::Legacy, &other, &echo(1)).await;
    assert!(matches!(refused, Err(Error::SessionVersion { .. })));
    world.change(|server| server.activate("v2", catalog::time::Timestamp(0)).unwrap());
    assert_eq!(world.say(&session, &echo(1)).await.unwrap().status, 200);
    world.change(|server| server.activate("v1", catalog::time::Timestamp(0)).unwrap());
    world.change(|server| server.remove("v2", catalog::time::Timestamp(0)).unwrap());
    assert!(matches!(world.say(&session, &echo(1)).await, Err(Error::SessionUnknown)));
}

#[tokio::test]
async fn calls_of_one_id_are_told_apart_and_cancelled_apart() {
    let backend = LegacyBackend::start("a").tool("slow").await;
    let world = World::new(&backend.url(), Era::Legacy);
    let session = world.initialize(&[]).await;
    let slow = |seconds: f64| {
        request(1, "tools/call", json!({ "name": "slow", "arguments": { "seconds": seconds } }))
    };
    let (first, second) = (slow(0.3), slow(0.1));
    let (first, second) = tokio::join!(world.say(&session, &first), world.say(&session, &second));
    for (told, seconds) in [(first.unwrap(), 0.3), (second.unwrap(), 0.1)] {
        assert_eq!(told.body["id"], 1);
        assert_eq!(told.body["result"]["structuredContent"]["arguments"]["seconds"], seconds);
    }
    let long = slow(20.0);
    let waited = tokio::time::timeout(Duration::from_millis(200), world.say(&session, &long)).await;
    assert!(waited.is_err(), "its client goes away");
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(world.say(&session, &cancel).await.unwrap().status, 202);
    backend.until("it is cancelled", |backend| backend.cancelled().len() == 1).await;
}

#[tokio::test]
async fn streams_pass_as_they_are_and_sessions_end() {
    let backend = LegacyBackend::start("a").tool("echo").with(|script| script.has_event_ids = true).await;
    let world = World::new(&backend.url(), Era::Legacy);
    let session = world.initialize(&[]).await;
    let choice = world.choice(&session);
    let headers = stage::headers(&[("last-event-id", "7"), ("mcp-protocol-version", "2025-06-18")]);
    let mut body = listen(&world.plane, &headers, &choice, &caller("ann")).await.unwrap().into_body();
    backend.tools_changed();
    let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let text = String::from_utf8(frame.into()).unwrap();
    assert!(text.contains("id: ") && text.contains("notifications/tools/list_changed"), "{text}");
    let seen = backend.seen().pop().unwrap();
    assert_eq!((seen.http_method.as_str(), seen.header("last-event-id")), ("GET", "7"));
    assert_eq!(end(&world.plane, &headers, &choice, &caller("ann")).await.unwrap().status(), 200);
    assert!(backend.sessions().is_empty());
    backend.set(|script| script.has_get_stream = false);
    let choice = world.choice(&world.initialize(&[]).await);
    let refused = listen(&world.plane, &headers, &choice, &caller("ann")).await;
    assert!(matches!(refused, Err(Error::MethodNotAllowed { allow: "POST, DELETE" })));
}

#[tokio::test]
async fn a_legacy_client_has_a_session_of_ours_at_a_modern_backend() {
    let backend = ModernBackend::start("m").tool("echo").await;
    let world = World::new(&backend.url(), Era::Modern);
    let session = world.initialize(&[]).await;
    let told = world.say(&session, &echo(1)).await.unwrap();
    assert_eq!(told.body["result"]["structuredContent"]["tool"], "echo");
    assert!(told.body["result"].get("resultType").is_none());
    assert_eq!(world.say(&session, &request(2, "ping", json!({}))).await.unwrap().body["result"], json!({}));
    let level = request(3, "logging/setLevel", json!({ "level": "error" }));
    assert_eq!(world.say(&session, &level).await.unwrap().body["result"], json!({}));
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(world.say(&session, &note).await.unwrap().status, 202);
    assert!(backend.asked("ping").is_empty() && backend.asked("logging/setLevel").is_empty());
    assert!(matches!(world.say("x", &echo(1)).await, Err(Error::SessionUnknown)));
    let none = world.post("ann", Front::Legacy, &[], &echo(1)).await;
    assert!(matches!(none, Err(Error::SessionMissing)));
    let nobody =
        json!({ "jsonrpc": "2.0", "method": "initialize", "params": { "protocolVersion": "2025-06-18" } });
    assert!(world.post("ann", Front::Legacy, &[], &nobody).await.is_err(), "a handshake has an id");
    let (choice, headers) = (world.choice(&session), stage::headers(&[("mcp-session-id", &session)]));
    let mut body = listen(&world.plane, &headers, &choice, &caller("ann")).await.unwrap().into_body();
    assert_eq!(end(&world.plane, &headers, &choice, &caller("ann")).await.unwrap().status(), 204);
    assert!(body.frame().await.is_none(), "its stream ends with it");
    assert!(matches!(world.say(&session, &echo(1)).await, Err(Error::SessionUnknown)));
}

#[tokio::test]
async fn a_modern_client_is_greeted_for_a_legacy_backend() {
    let backend = LegacyBackend::start("a").tool("echo").await;
    let world = World::new(&backend.url(), Era::Legacy);
    let ask = async |method: &str| world.post("ann", Front::Modern, &[], &modern(method)).await;
    let discovered = ask("server/discover").await.unwrap().body;
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(discovered["result"]["capabilities"], json!({ "tools": {}, "logging": {} }));
    assert!(backend.seen().is_empty(), "from what is known of it");
    assert_eq!(ask("tools/call").await.unwrap().body["result"]["structuredContent"]["tool"], "echo");
    for removed in ["initialize", "ping", "logging/setLevel", "resources/subscribe"] {
        assert!(matches!(ask(removed).await, Err(Error::UnknownMethod(_))), "{removed}");
    }
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(world.post("ann", Front::Modern, &[], &note).await.unwrap().status, 202);
    assert!(backend.asked("notifications/cancelled").is_empty());
}
