//! Backends that speak both eras: each client is served in its own, and an operator may pin one.

use serde_json::{Value, json};
use testkit::script::Reply;
use testkit::{Client, DualBackend, LegacyBackend, Tool};

use crate::app::App;
use crate::caller::Caller;
use crate::compose::row;

/// A backend of both eras, with a tool in each that the other lacks, at `/dual`; and composed at `/virtual/all`.
struct Stage {
    app: App,
    caller: Caller,
    dual: DualBackend,
}

/// The two ways to the backend.
const WAYS: [&str; 2] = ["/dual", "/virtual/all"];

impl Stage {
    async fn start() -> Self {
        let tools =
            [Tool::new("echo"), Tool::new("older").only_for(false), Tool::new("newer").only_for(true)];
        let dual =
            DualBackend::start("dual").tools(tools).tool("ask").prompt("review").version("1.4.0").await;
        let app = App::start().await;
        app.serve("/dual", &dual.url()).await;
        let rows = ["echo", "older", "newer", "ask"].map(|tool| row(tool, "/dual", ""));
        app.compose("all", &rows).await;
        let caller = app.reader().await;
        dual.forget_history();
        Self { app, caller, dual }
    }

    fn modern(&self, path: &str) -> Client {
        self.app.modern(path, &self.caller)
    }

    async fn legacy(&self, path: &str) -> Client {
        self.app.greeted(path, &self.caller).await
    }

    async fn version(&self) -> Value {
        self.app.admin().get("/api/servers/dual/versions/v1.0.0").await.expect(200)
    }

    async fn pin(&self, era: Value) -> Value {
        let edit = json!({ "pinned_era": era });
        self.app.admin().send("PATCH /api/servers/dual/versions/v1.0.0", edit).await.expect(200)
    }

    /// Calls `echo` and says in which era the backend was called.
    async fn era_of_call(&self, client: &Client) -> &'static str {
        let result = client.call("echo", json!({ "x": 1 })).await;
        assert_eq!(result["structuredContent"]["arguments"]["x"], 1, "{result}");
        let call = self.dual.calls().pop().unwrap();
        let is_modern = call.header("mcp-protocol-version") == "2026-07-28";
        assert_eq!(call.session.is_none(), is_modern);
        if is_modern { "modern" } else { "legacy" }
    }
}

#[tokio::test]
async fn each_client_is_served_in_its_own_era() {
    let stage = Stage::start().await;
    let shown = stage.version().await;
    assert_eq!((&shown["protocol_era"], &shown["pinned_era"]), (&json!("both"), &Value::Null));
    assert_eq!((&shown["protocol_version"], &shown["num_tools"]), (&json!("2026-07-28"), &json!(4)));
    for path in WAYS {
        let (legacy, modern) = (stage.legacy(path).await, stage.modern(path));
        assert_eq!(legacy.tools().await, ["echo", "older", "ask"], "{path}");
        assert_eq!(modern.tools().await, ["echo", "newer", "ask"], "{path}");
        assert_eq!(stage.era_of_call(&legacy).await, "legacy", "{path}");
        assert_eq!(stage.era_of_call(&modern).await, "modern", "{path}");
    }
    let unknown = stage.legacy("/virtual/all").await.try_call("newer", json!({})).await.error().await;
    assert_eq!(unknown["code"], -32602);
    let unknown = stage.modern("/virtual/all").try_call("older", json!({})).await.error().await;
    assert_eq!(unknown["code"], -32602);
}

#[tokio::test]
async fn a_question_reaches_a_legacy_client_as_the_backend_asked_it() {
    let stage = Stage::start().await;
    for path in WAYS {
        let client = stage.legacy(path).await;
        let mut stream = client.try_call("ask", json!({ "message": "Sure?" })).await;
        let question = stream.message().await;
        assert_eq!(question["method"], "elicitation/create", "{path}");
        client.answer(&question["id"], json!({ "action": "decline" })).await;
        let told = stream.message().await;
        assert_eq!(told["result"]["structuredContent"]["answer"]["action"], "decline", "{path}: {told}");
    }
    assert_eq!(stage.dual.runs("ask"), 2);
}

#[tokio::test]
async fn a_pinned_era_serves_all_clients() {
    let stage = Stage::start().await;
    for (era, tools) in [("legacy", ["echo", "older", "ask"]), ("modern", ["echo", "newer", "ask"])] {
        assert_eq!(stage.pin(json!(era)).await["pinned_era"], era);
        stage.app.refresh("/dual").await;
        let shown = stage.version().await;
        assert_eq!((&shown["pinned_era"], &shown["protocol_era"]), (&json!(era), &json!(era)));
        for path in WAYS {
            let (legacy, modern) = (stage.legacy(path).await, stage.modern(path));
            assert_eq!(
                (legacy.tools().await, modern.tools().await),
                (tools.map(String::from).to_vec(), tools.map(String::from).to_vec())
            );
            assert_eq!(stage.era_of_call(&legacy).await, era, "{path}");
            assert_eq!(stage.era_of_call(&modern).await, era, "{path}");
        }
    }
    for none in [Value::Null, json!("auto")] {
        stage.pin(json!("legacy")).await;
        assert_eq!(stage.pin(none).await["pinned_era"], Value::Null);
    }
    stage.app.refresh("/dual").await;
    assert_eq!(stage.version().await["protocol_era"], "both");
    let (admin, edit) = (stage.app.admin(), json!({ "pinned_era": "both" }));
    admin.send("PATCH /api/servers/dual/versions/v1.0.0", edit).await.expect(422);
}

#[tokio::test]
async fn an_era_is_pinned_at_registration_and_by_the_command_line() {
    let old = LegacyBackend::start("old").tool("echo").await;
    let app = App::start().await;
    let body =
        json!({ "path": "/old", "proxy_pass_url": old.url(), "pinned_era": "legacy", "is_enabled": true });
    let registered = app.admin().send("POST /api/servers/register", body).await.expect(201);
    assert_eq!((&registered["pinned_era"], &registered["warnings"]), (&json!("legacy"), &Value::Null));
    app.refresh("/old").await;
    assert!(old.asked("server/discover").is_empty(), "its era is not questioned");
    let edited = app.run(&["version", "edit", "/old", "v1.0.0", "--pinned-era", "auto"]).await;
    assert_eq!(edited.status, 0, "{edited:?}");
    let shown = app.run(&["version", "show", "/old", "v1.0.0", "--json"]).await;
    let shown: Value = serde_json::from_str(&shown.said).unwrap();
    assert_eq!((&shown["pinned_era"], &shown["protocol_era"]), (&Value::Null, &json!("legacy")));
    app.refresh("/old").await;
    assert!(!old.asked("server/discover").is_empty());
}

#[tokio::test]
async fn what_contradicts_the_era_is_learnt_and_sessions_stay_in_theirs() {
    let stage = Stage::start().await;
    let of_older = stage.legacy("/dual").await;
    let in_virtual = stage.legacy("/virtual/all").await;
    stage.dual.reply("initialize", Reply::new(404, "text/plain", "gone"));
    stage.app.refresh("/dual").await;
    assert_eq!(stage.version().await["protocol_era"], "modern");
    assert_eq!(
        of_older.request("tools/list", json!({})).await.status,
        404,
        "its session was of the other era"
    );
    let of_newer = stage.legacy("/dual").await;
    assert_eq!(stage.era_of_call(&of_newer).await, "modern");
    assert_eq!(stage.era_of_call(&in_virtual).await, "modern");
    assert_eq!(in_virtual.tools().await, ["echo", "newer", "ask"]);

    stage.dual.reply_normally("initialize");
    stage.app.refresh("/dual").await;
    assert_eq!(stage.version().await["protocol_era"], "both");
    assert_eq!(stage.era_of_call(&of_newer).await, "modern", "as it was begun");
    assert_eq!(stage.era_of_call(&stage.legacy("/dual").await).await, "legacy");
    assert_eq!(stage.era_of_call(&in_virtual).await, "legacy");
    assert_eq!(in_virtual.tools().await, ["echo", "older", "ask"]);
    stage.dual.reply("initialize", Reply::new(503, "text/plain", "later"));
    let refreshed = stage.app.admin().send("POST /api/servers/dual/refresh", json!({})).await;
    assert_eq!(refreshed.status, 502, "no verdict on the older era");
    assert_eq!(stage.version().await["protocol_era"], "both", "what was known stays");
}
