//! Arguments that headers repeat (`x-mcp-header`, `Mcp-Param-*`), with backends and clients of either era.

use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use testkit::script::Reply;
use testkit::{Client, Tool};

use super::Stage;
use crate::compose::row;

/// A tool that marks its arguments, beside one that marks none, and one that does so as nobody can follow.
fn tools() -> [Tool; 3] {
    let marked = json!({ "type": "object", "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
        "count": { "type": "integer", "x-mcp-header": "Count" },
        "dry": { "type": "boolean", "x-mcp-header": "Dry" },
        "plain": { "type": "string" },
    } });
    let unfit = json!({ "type": "object", "properties": { "n": { "type": "number", "x-mcp-header": "N" } } });
    [Tool::new("deploy").schema(marked), Tool::new("echo"), Tool::new("unfit").schema(unfit)]
}

/// Both backends offer these tools, and `/virtual/marked` has them of both under aliases.
async fn stage() -> Stage {
    let stage = Stage::start().await;
    stage.old.set_tools(tools());
    stage.new.set_tools(tools());
    let mut rows = Vec::new();
    for name in ["old", "new"] {
        stage.app.refresh(&format!("/{name}")).await;
        rows.extend(["deploy", "echo"].map(|tool| row(tool, &format!("/{name}"), &format!("{name}_{tool}"))));
    }
    rows[2]["backend_version"] = json!("v1.0.0");
    stage.app.compose("marked", &rows).await;
    stage
}

/// Calls with these headers beside the usual ones.
async fn call(client: &Client, tool: &str, arguments: Value, sent: &[(&str, &str)]) -> (u16, Value) {
    let message = client.message("tools/call", json!({ "name": tool, "arguments": arguments }));
    let mut headers = client.headers_for(&message);
    for (name, value) in sent {
        let name = HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    let answer = client.post_bytes(headers, message.to_string()).await;
    (answer.status.as_u16(), answer.json().await)
}

#[tokio::test]
async fn a_client_that_knows_no_such_headers_need_not_send_them() {
    let stage = stage().await;
    for (path, tool) in [("/new", "deploy"), ("/virtual/marked", "new_deploy")] {
        let client = stage.legacy(path).await;
        let arguments = json!({ "region": "zürich", "count": 42, "dry": true, "plain": "p" });
        assert_eq!(client.call(tool, arguments.clone()).await["structuredContent"]["arguments"], arguments);
        let seen = stage.new.calls().pop().unwrap();
        let params = ["region", "count", "dry", "plain"]
            .map(|name| seen.header(&format!("mcp-param-{name}")).to_owned());
        assert_eq!(params, ["=?base64?esO8cmljaA==?=", "42", "true", ""], "{path}");
        // What is null or absent has no header; an empty text has an empty one. The backend checks them all.
        let result = client.call(tool, json!({ "region": "", "count": null })).await;
        assert_eq!(result["structuredContent"]["arguments"]["region"], "", "{path}: {result}");
        let seen = stage.new.calls().pop().unwrap();
        assert!(
            seen.headers.contains_key("mcp-param-region") && !seen.headers.contains_key("mcp-param-count")
        );
        client.call(&tool.replace("deploy", "echo"), json!({ "region": "x" })).await;
        assert!(!stage.new.calls().pop().unwrap().headers.contains_key("mcp-param-region"));
    }
}

#[tokio::test]
async fn headers_that_do_not_repeat_their_arguments_are_refused() {
    let stage = stage().await;
    let arguments = json!({ "region": "eu", "count": 42 });
    for (path, tool) in
        [("/old", "deploy"), ("/virtual/marked", "old_deploy"), ("/virtual/marked", "new_deploy")]
    {
        let client = stage.modern(path);
        let refused: [&[(&str, &str)]; 8] = [
            &[],
            &[("region", "eu")],
            &[("region", "us"), ("count", "42")],
            &[("region", "eu"), ("count", "43")],
            &[("region", "=?base64?ZXU?="), ("count", "42")],
            &[("region", "eü"), ("count", "42")],
            &[("region", "eu"), ("region", "eu"), ("count", "42")],
            &[("region", "eu"), ("count", "42"), ("dry", "true")],
        ];
        for sent in refused {
            let (status, reply) = call(&client, tool, arguments.clone(), sent).await;
            assert_eq!((status, &reply["error"]["code"]), (400, &json!(-32020)), "{path}: {sent:?}: {reply}");
            assert!(reply["id"].is_number() || reply["id"].is_string(), "{reply}");
        }
        let served: [&[(&str, &str)]; 3] = [
            &[("region", "eu"), ("count", "42")],
            &[("Region", "=?base64?ZXU=?="), ("COUNT", "42")],
            &[("region", "eu"), ("count", "42"), ("unknown", "whatever")],
        ];
        for sent in served {
            let (status, reply) = call(&client, tool, arguments.clone(), sent).await;
            assert_eq!(
                (status, &reply["result"]["structuredContent"]["arguments"]),
                (200, &arguments),
                "{path}: {sent:?}"
            );
        }
    }
    assert_eq!((stage.old.runs("deploy"), stage.new.runs("deploy")), (6, 3), "what was refused never ran");
    assert_eq!(stage.new.calls().len(), 3, "and was not sent");
    let seen = stage.new.calls().pop().unwrap();
    assert_eq!(seen.header("mcp-param-unknown"), "whatever", "what we do not know passes");
}

#[tokio::test]
async fn a_wrong_header_is_told_before_a_missing_scope() {
    let stage = stage().await;
    let guard =
        json!({ "tool_scope_overrides": [{ "tool_alias": "old_deploy", "required_scopes": ["more"] }] });
    stage.app.recompose("marked", guard).await;
    let client = stage.modern("/virtual/marked");
    assert_eq!(call(&client, "old_deploy", json!({ "region": "eu" }), &[]).await.0, 400);
    assert_eq!(call(&client, "old_deploy", json!({ "region": "eu" }), &[("region", "eu")]).await.0, 403);
}

#[tokio::test]
async fn a_tool_nobody_can_make_headers_for_is_left_out() {
    let stage = stage().await;
    let rows = ["unfit", "echo"].map(|tool| row(tool, "/new", ""));
    let composed = stage.app.compose("odd", &rows).await;
    assert!(composed["warnings"].to_string().contains("x-mcp-header of \\\"n\\\""), "{composed}");
    for client in
        [stage.legacy("/new").await, stage.legacy("/virtual/odd").await, stage.modern("/virtual/odd")]
    {
        let tools = client.tools().await;
        assert!(!tools.contains(&"unfit".into()) && tools.contains(&"echo".into()), "{tools:?}");
        assert_eq!(client.try_call("unfit", json!({ "n": 1 })).await.error().await["code"], -32602);
    }
    assert_eq!(stage.new.runs("unfit"), 0);
    let tools = stage.app.admin().send("GET /api/virtual-servers/odd/tools", Value::Null).await.expect(200);
    let row = &tools["tools"][0];
    assert!(row["missing"] == true && row["reason"].as_str().unwrap().contains("x-mcp-header"), "{row}");
    let board = stage.app.admin().send("GET /api/health", Value::Null).await.expect(200);
    assert!(board["left_out"].to_string().contains("/virtual/odd: unfit of /new"), "{board}");
    let catalogue = stage.app.admin().send("GET /api/servers/new/tools", Value::Null).await.expect(200);
    assert_eq!(catalogue["unusable"][0]["name"], "unfit", "{catalogue}");
}

/// The client sends the headers that its list asks for, which the backend has changed since.
#[tokio::test]
async fn a_virtual_server_mends_the_headers_of_a_modern_client_once() {
    let stage = stage().await;
    let before = [("region", "eu")];
    let client = stage.modern("/virtual/marked");
    let changed = json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Place" } } });
    stage.new.set_tools([Tool::new("deploy").schema(changed), Tool::new("echo")]);
    let direct = call(&stage.modern("/new"), "deploy", json!({ "region": "eu" }), &before).await;
    assert_eq!(
        (direct.0, &direct.1["error"]["code"]),
        (400, &json!(-32020)),
        "on a server's path it is the client's"
    );
    let (status, reply) = call(&client, "new_deploy", json!({ "region": "eu" }), &before).await;
    assert_eq!(
        (status, &reply["result"]["structuredContent"]["arguments"]["region"]),
        (200, &json!("eu")),
        "{reply}"
    );
    assert_eq!(stage.new.runs("deploy"), 1);
    let seen = stage.new.calls().pop().unwrap();
    assert_eq!(
        (seen.header("mcp-param-place"), seen.headers.contains_key("mcp-param-region")),
        ("eu", false)
    );
    assert_eq!(seen.header("mcp-name"), "deploy");
    stage.app.refresh("/new").await;
    let (status, _) = call(&client, "new_deploy", json!({ "region": "eu" }), &before).await;
    assert_eq!(status, 400, "now the client can know better");
    let (status, _) = call(&client, "new_deploy", json!({ "region": "eu" }), &[("place", "eu")]).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_refusal_that_cannot_be_mended_is_passed_on_after_one_more_try() {
    let stage = stage().await;
    let refusal = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32020, "message": "never" } });
    stage.new.reply("tools/call", Reply::new(400, "application/json", refusal.to_string()));
    let (status, reply) = call(&stage.modern("/virtual/marked"), "new_echo", json!({}), &[]).await;
    assert_eq!((status, &reply["error"]["message"]), (400, &json!("never")));
    assert_eq!(stage.new.calls().len(), 2);
    stage.new.set_tools([Tool::new("deploy")]);
    assert_eq!(call(&stage.modern("/virtual/marked"), "new_echo", json!({}), &[]).await.0, 400);
    assert_eq!(stage.new.calls().len(), 3, "a tool that is gone is not called again");
}

#[tokio::test]
async fn a_tool_with_other_marks_than_were_read_is_read_again() {
    let stage = stage().await;
    let changed = json!({ "type": "object", "properties": {
        "plain": { "type": "string", "x-mcp-header": "Plain" },
        "region": { "type": "string" },
    } });
    let clients =
        [(stage.legacy("/new").await, "deploy"), (stage.legacy("/virtual/marked").await, "new_deploy")];
    stage.new.set_tools([Tool::new("deploy").schema(changed), Tool::new("echo")]);
    for (client, tool) in &clients {
        let arguments = json!({ "plain": "p", "region": "eu" });
        assert_eq!(client.call(tool, arguments.clone()).await["structuredContent"]["arguments"], arguments);
        let seen = stage.new.calls().pop().unwrap();
        assert_eq!(
            (seen.header("mcp-param-plain"), seen.headers.contains_key("mcp-param-region")),
            ("p", false)
        );
    }
    assert_eq!(stage.new.runs("deploy"), 2, "what was refused never ran");
    let refusal =
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32020, "message": "no" } }).to_string();
    stage.new.reply("tools/call", Reply::new(400, "application/json", refusal));
    let before = stage.new.calls().len();
    let answer = clients[0].0.try_call("deploy", json!({ "plain": "p" })).await;
    assert_eq!((answer.status.as_u16(), answer.error().await["code"].clone()), (200, json!(-32603)));
    assert_eq!(stage.new.calls().len(), before + 2, "once more, and no further");
}
