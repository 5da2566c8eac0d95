//! What a request of 2026-07-28 must look like, whatever stands behind the path.

use http::HeaderValue;
use serde_json::{Value, json};

use super::Stage;

const PATHS: [&str; 3] = ["/old", "/new", "/virtual/both"];

#[tokio::test]
async fn headers_must_say_what_the_body_says() {
    let stage = Stage::start().await;
    for path in PATHS {
        let client = stage.modern(path);
        let tool = if path == "/virtual/both" { "old_echo" } else { "echo" };
        let message = client.message("tools/call", json!({ "name": tool, "arguments": {} }));
        let cases = [
            ("mcp-name", "search"),
            ("mcp-name", ""),
            ("mcp-name", "=?base64?!!?="),
            ("mcp-method", "tools/list"),
            ("mcp-method", ""),
            ("mcp-protocol-version", "2025-11-25"),
            ("mcp-protocol-version", ""),
        ];
        for (name, value) in cases {
            let mut headers = client.headers_for(&message);
            headers.remove(name);
            if !value.is_empty() {
                headers.insert(name, HeaderValue::from_static(value));
            }
            let answer = client.post_bytes(headers, message.to_string()).await;
            assert_eq!(answer.status, 400, "{path}: {name}: {value}");
            let reply = answer.json().await;
            assert_eq!(
                (&reply["error"]["code"], &reply["id"]),
                (&json!(-32020), &message["id"]),
                "{path}: {name}: {value}"
            );
        }
        let mut headers = client.headers_for(&message);
        headers.append("mcp-name", HeaderValue::from_static("echo"));
        let answer = client.post_bytes(headers, message.to_string()).await;
        assert_eq!(
            (answer.status.as_u16(), answer.error().await["code"].clone()),
            (400, json!(-32020)),
            "twice"
        );
    }
    assert_eq!(stage.old.calls().len() + stage.new.calls().len(), 0);
}

#[tokio::test]
async fn a_name_may_be_encoded() {
    let stage = Stage::start().await;
    for path in ["/old", "/new"] {
        let client = stage.modern(path);
        let message = client.message("tools/call", json!({ "name": "echo", "arguments": {} }));
        let mut headers = client.headers_for(&message);
        headers.insert("mcp-name", HeaderValue::from_static("=?base64?ZWNobw==?="));
        let answer = client.post_bytes(headers, message.to_string()).await;
        assert_eq!(answer.result().await["structuredContent"]["tool"], "echo", "{path}");
    }
}

#[tokio::test]
async fn what_this_era_does_not_know_is_refused() {
    let stage = Stage::start().await;
    for path in PATHS {
        let client = stage.modern(path);
        for method in
            ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "vendor/none"]
        {
            let answer = client.request(method, json!({ "uri": "file:///old", "level": "info" })).await;
            assert_eq!(answer.status, 404, "{path}: {method}");
            assert_eq!(answer.error().await["code"], -32601, "{path}: {method}");
            assert!(
                method == "vendor/none" || stage.new.asked(method).is_empty(),
                "{path}: {method} went on"
            );
        }
        for answer in [client.get().await, client.delete().await] {
            assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, "POST"), "{path}");
        }
        let answered = client.answer(&json!(1), json!({})).await;
        assert_eq!(
            (answered.status.as_u16(), answered.error().await["code"].clone()),
            (400, json!(-32600)),
            "{path}"
        );
        assert_eq!(client.notify("notifications/whatever", json!({})).await.status, 202, "{path}");
    }
}

#[tokio::test]
async fn a_revision_that_is_not_served_is_named_with_those_that_are() {
    let stage = Stage::start().await;
    for path in PATHS {
        let answer = stage.modern(path).revision("2027-01-01").request("tools/list", json!({})).await;
        assert_eq!(answer.status, 400, "{path}");
        let error = answer.error().await;
        assert_eq!(error["code"], -32022, "{path}");
        assert_eq!(
            error["data"],
            json!({ "supported": ["2026-07-28"], "requested": "2027-01-01" }),
            "{path}"
        );
        let client = stage.modern(path);
        let mut message = client.message("tools/list", json!({}));
        message["params"]["_meta"]
            .as_object_mut()
            .unwrap()
            .remove("io.modelcontextprotocol/clientCapabilities");
        let answer = client.post(&message).await;
        assert_eq!(
            (answer.status.as_u16(), answer.error().await["code"].clone()),
            (400, json!(-32602)),
            "{path}"
        );
    }
}

#[tokio::test]
async fn access_is_the_same_in_both_eras() {
    let stage = Stage::start().await;
    let guard = json!({ "required_scopes": ["mcp-access"],
        "tool_scope_overrides": [{ "tool_alias": "new_echo", "required_scopes": ["more"] }] });
    stage.app.recompose("both", guard).await;
    let refused = stage.modern("/virtual/both").request("tools/list", json!({})).await;
    assert_eq!(refused.status, 403);
    let mut nobody = stage.modern("/virtual/both");
    nobody.headers.remove("authorization");
    assert_eq!(nobody.request("server/discover", json!({})).await.status, 401);
    let entrant = stage.app.holder("entrant", &["mcp-access"]).await;
    let client = nobody.bearer(entrant.token.as_deref().unwrap());
    let tools = client.tools().await;
    assert!(tools.contains(&"old_echo".into()) && !tools.contains(&"new_echo".into()), "{tools:?}");
    let answer = client.try_call("new_echo", json!({})).await;
    assert_eq!(answer.status, 403);
    assert!(answer.header("www-authenticate").contains("scope=\"mcp-access more\""));
    let error = answer.error().await;
    assert_eq!((&error["code"], &error["message"]), (&json!(-31008), &json!("Missing required scope: more")));
    assert_ne!(client.call("old_echo", json!({})).await, Value::Null);
}
