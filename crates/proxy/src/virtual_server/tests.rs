//! Virtual servers as their clients see them: greeting, lists, calls, streams, the end.

use std::time::Duration;

use catalog::Catalog;
use catalog::endpoint::Era;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use testkit::LegacyBackend;

use super::*;
use crate::plane::Front;
use crate::stage::{self, caller};

mod streams;
mod tasks;

/// A virtual server `dev` of what these servers offer, and what its clients do.
struct World {
    plane: Plane,
    catalog: Catalog,
}

impl World {
    /// `servers`: path, URL, era, tools.
    fn new(servers: &[(&str, &str, Era, &[&str])]) -> Self {
        let mut catalog = Catalog::default();
        let mut tools = Vec::new();
        for (path, url, era, offered) in servers {
            stage::add_server(&mut catalog, path, &["v1"], url, Some(*era));
            stage::add_inventory(&mut catalog, path, "v1", *era, offered);
            tools.extend(offered.iter().map(|tool| (*tool, *path)));
        }
        stage::add_virtual(&mut catalog, "dev", &tools);
        Self { plane: stage::plane(&catalog), catalog }
    }

    fn change(&mut self, edit: impl FnOnce(&mut Catalog)) {
        edit(&mut self.catalog);
        let live = &self.plane.shared.live;
        let next = routing::compile::compile(&self.catalog, Some(&live.full())).table;
        live.publish(Arc::new(next));
    }

    fn target(&self) -> Arc<VirtualTarget> {
        self.plane.shared.live.full().virtual_server("dev").unwrap().clone()
    }

    fn call(&self, session: Option<&str>, message: &Value) -> Call {
        let call = stage::call(&self.plane, &caller("ann"), Front::Legacy, &message.to_string());
        Call { headers: named(session), ..call }
    }

    /// Sends a legacy message; returns status, session id and body.
    async fn send(
        &self,
        session: Option<&str>,
        message: &Value,
    ) -> Result<(u16, Option<String>, Value), Error> {
        let answer = legacy(&self.call(session, message), &self.target()).await?;
        let (head, body) = answer.into_parts();
        let id = head.headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
        let bytes = body.collect().await.unwrap().to_bytes();
        Ok((head.status.as_u16(), id, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    async fn initialize(&self, revision: &str) -> (String, Value) {
        let params = json!({ "protocolVersion": revision, "capabilities": { "roots": {} }, "clientInfo": { "name": "c", "version": "1" } });
        let (status, session, body) = self.send(None, &request("initialize", params)).await.unwrap();
        assert_eq!(status, 200);
        (session.expect("a session"), body["result"].clone())
    }

    async fn modern(&self, method: &str, params: Value) -> Result<Value, Error> {
        let message = request(method, params).to_string();
        let call = stage::call(&self.plane, &caller("ann"), Front::Modern, &message);
        let body = modern(&call, &self.target()).await?.into_body();
        Ok(serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap_or_default())
    }
}

fn named(session: Option<&str>) -> HeaderMap {
    stage::headers(&session.map(|id| ("mcp-session-id", id)).into_iter().collect::<Vec<_>>())
}

fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn tool_names(list: &Value) -> Vec<&str> {
    list["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

const NOWHERE: &str = "http://127.0.0.1:9/mcp";

#[tokio::test]
async fn greeting_asks_no_backend() {
    let world = World::new(&[("/a", NOWHERE, Era::Legacy, &["one"])]);
    for (asked, agreed) in
        [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25")]
    {
        let (session, result) = world.initialize(asked).await;
        assert!(session.starts_with("vs-"));
        assert_eq!(result["protocolVersion"], agreed);
        assert_eq!(result["serverInfo"]["name"], "dev");
        assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
        let (status, _, pong) = world.send(Some(&session), &request("ping", json!({}))).await.unwrap();
        assert_eq!((status, &pong["result"]), (200, &json!({})));
    }
    let no_version = world.send(None, &request("initialize", json!({}))).await;
    assert!(matches!(no_version, Err(Error::InvalidParams(_))));
    // One without an id is no handshake, and nothing can be answered to it.
    let note =
        json!({ "jsonrpc": "2.0", "method": "initialize", "params": { "protocolVersion": "2025-06-18" } });
    assert!(matches!(world.send(None, &note).await, Err(Error::SessionMissing)));
    let discovered = world.modern("server/discover", json!({})).await.unwrap();
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(discovered["result"]["resultType"], "complete");
}

#[tokio::test]
async fn a_session_is_needed_known_and_ones_own() {
    let world = World::new(&[("/a", NOWHERE, Era::Legacy, &["one"])]);
    let list = request("tools/list", json!({}));
    assert!(matches!(world.send(None, &list).await, Err(Error::SessionMissing)));
    assert!(matches!(world.send(Some("vs-x"), &list).await, Err(Error::SessionUnknown)));
    let (session, _) = world.initialize("2025-06-18").await;
    assert_eq!(tool_names(&world.send(Some(&session), &list).await.unwrap().2), ["one"]);
    let theirs = stage::call(&world.plane, &caller("bob"), Front::Legacy, &list.to_string());
    let theirs = Call { headers: named(Some(&session)), ..theirs };
    assert!(matches!(legacy(&theirs, &world.target()).await, Err(Error::SessionUnknown)));
    let mut twice = world.call(Some(&session), &list);
    twice.headers.append("mcp-session-id", session.parse().unwrap());
    assert!(matches!(legacy(&twice, &world.target()).await, Err(Error::Ambiguous { .. })));
    // Memory is not needed for a session to be known.
    let elsewhere = World { plane: stage::plane(&world.catalog), catalog: world.catalog.clone() };
    assert_eq!(tool_names(&elsewhere.send(Some(&session), &list).await.unwrap().2), ["one"]);
}

#[tokio::test]
async fn lists_hide_what_the_caller_may_not_use_and_page() {
    let mut world = World::new(&[("/a", NOWHERE, Era::Legacy, &["one", "two"])]);
    let (session, _) = world.initialize("2025-06-18").await;
    world.change(|catalog| {
        let all = Arc::make_mut(&mut catalog.virtual_servers);
        let mut dev = (*all["dev"]).clone();
        let required_scopes = vec![stage::scope("secret")];
        dev.overrides = vec![catalog::virtual_server::ScopeOverride { name: "two".into(), required_scopes }];
        all.insert(dev.slug.clone(), Arc::new(dev));
    });
    let list = request("tools/list", json!({}));
    assert_eq!(tool_names(&world.send(Some(&session), &list).await.unwrap().2), ["one"]);
    let call = request("tools/call", json!({ "name": "two", "arguments": {} }));
    let refused = world.send(Some(&session), &call).await;
    assert!(matches!(refused, Err(Error::MissingScope { .. })));
    let unknown = request("tools/call", json!({ "name": "three" }));
    assert!(matches!(
        world.send(Some(&session), &unknown).await,
        Err(Error::UnknownName { kind: "tool", .. })
    ));
    let nameless = request("tools/call", json!({ "arguments": {} }));
    assert!(matches!(world.send(Some(&session), &nameless).await, Err(Error::InvalidParams(_))));
    let modern = world.modern("tools/list", json!({})).await.unwrap();
    assert_eq!(modern["result"]["cacheScope"], "private");

    let names: Vec<String> = (0..2300).map(|number| format!("tool_{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = World::new(&[("/a", NOWHERE, Era::Legacy, &names)]);
    let (session, _) = world.initialize("2025-06-18").await;
    let (mut all, mut params, mut sizes) = (Vec::new(), json!({}), Vec::new());
    loop {
        let page = world.send(Some(&session), &request("tools/list", params)).await.unwrap().2;
        all.extend(tool_names(&page).into_iter().map(str::to_owned));
        sizes.push(tool_names(&page).len());
        let Some(next) = page["result"]["nextCursor"].as_str() else { break };
        params = json!({ "cursor": next });
    }
    assert_eq!((all.iter().map(String::as_str).collect::<Vec<_>>(), sizes), (names, vec![1000, 1000, 300]));
    let first = world.send(Some(&session), &request("tools/list", json!({}))).await.unwrap().2;
    let cursor = json!({ "cursor": first["result"]["nextCursor"] });
    let made_up = world.send(Some(&session), &request("tools/list", json!({ "cursor": "x" }))).await;
    assert!(matches!(made_up, Err(Error::InvalidParams(_))));
    world.change(|catalog| stage::add_inventory(catalog, "/a", "v1", Era::Legacy, &["tool_1"]));
    let stale = world.send(Some(&session), &request("tools/list", cursor)).await;
    assert!(matches!(stale, Err(Error::InvalidParams(_))), "the list is another one now");
}

#[tokio::test]
async fn methods_of_kinds_that_are_not_offered_are_unknown() {
    let world = World::new(&[("/a", NOWHERE, Era::Legacy, &["one"])]);
    let (session, _) = world.initialize("2025-06-18").await;
    for method in [
        "prompts/list",
        "prompts/get",
        "resources/read",
        "completion/complete",
        "tasks/get",
        "x/y",
        "initialized",
    ] {
        let answer =
            world.send(Some(&session), &request(method, json!({ "name": "x", "uri": "x://y" }))).await;
        assert!(matches!(answer, Err(Error::UnknownMethod(name)) if name == method), "{method}");
    }
    for method in ["ping", "logging/setLevel", "resources/subscribe", "initialize", "prompts/list"] {
        let answer = world.modern(method, json!({})).await;
        assert!(matches!(answer, Err(Error::UnknownMethod(name)) if name == method), "modern {method}");
    }
}

#[tokio::test]
async fn the_end_of_a_session_ends_it_at_its_backends() {
    let backend = LegacyBackend::start("a").tool("echo").await;
    let world = World::new(&[("/a", &backend.url(), Era::Legacy, &["echo"])]);
    let (session, _) = world.initialize("2025-06-18").await;
    let call = request("tools/call", json!({ "name": "echo", "arguments": {} }));
    assert_eq!(world.send(Some(&session), &call).await.unwrap().0, 200);
    assert_eq!(backend.client_capabilities(), [json!({ "roots": {} })], "the client's own");
    assert_eq!(backend.revisions(), ["2025-06-18"]);
    let answer = end(&world.plane, &named(Some(&session)), &world.target(), &caller("ann")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    backend.until("its session ended", |backend| backend.sessions().is_empty()).await;
    assert!(matches!(world.send(Some(&session), &call).await, Err(Error::SessionUnknown)));
    let again = end(&world.plane, &named(Some(&session)), &world.target(), &caller("ann")).await;
    assert!(matches!(again, Err(Error::SessionUnknown)));
}

#[tokio::test]
async fn a_log_level_reaches_backends_that_are_open_and_those_to_come() {
    let (first, second) =
        (LegacyBackend::start("a").tool("one").await, LegacyBackend::start("b").tool("two").await);
    let world = World::new(&[
        ("/a", &first.url(), Era::Legacy, &["one"]),
        ("/b", &second.url(), Era::Legacy, &["two"]),
    ]);
    let (session, _) = world.initialize("2025-06-18").await;
    let call = |name: &str| request("tools/call", json!({ "name": name, "arguments": {} }));
    world.send(Some(&session), &call("one")).await.unwrap();
    let level = |level: Value| request("logging/setLevel", json!({ "level": level }));
    let refused = world.send(Some(&session), &level(json!("loud"))).await;
    assert!(matches!(refused, Err(Error::InvalidParams(_))));
    assert_eq!(world.send(Some(&session), &level(json!("error"))).await.unwrap().2["result"], json!({}));
    assert_eq!(first.asked("logging/setLevel").len(), 1, "it was told before the client had its answer");
    world.send(Some(&session), &call("two")).await.unwrap();
    assert_eq!(second.asked("logging/setLevel")[0].params(), &json!({ "level": "error" }));
}
