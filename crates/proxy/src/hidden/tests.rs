//! Lists of which a caller sees a part.

use std::sync::Arc;

use catalog::Catalog;
use catalog::access::Principal;
use catalog::rights::{Pattern, Place, ScopeDocument, ServerAccess};
use serde_json::{Value, json};

use super::*;
use crate::plane::Front;
use crate::stage;

/// A caller who may list, and see what begins with `get_`.
fn call() -> Call {
    let mut catalog = Catalog::default();
    let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(*text)).collect();
    let access = ServerAccess {
        at: Place::parse("a"),
        methods: patterns(&["tools/list"]),
        tools: patterns(&["get_*"]),
    };
    let document = ScopeDocument { access: vec![access], ..ScopeDocument::default() };
    Arc::make_mut(&mut catalog.scopes).insert(stage::scope("part"), Arc::new(document));
    let caller = Principal { scopes: vec![stage::scope("part")], ..stage::caller("ann") };
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    stage::call(&stage::plane(&catalog), &caller, Front::Legacy, &message)
}

fn list(tools: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "result": { "x": [1], "tools": tools, "nextCursor": "c", "cacheScope": "public" } })
}

async fn told(content: &'static str, body: String) -> Result<(String, Value), Error> {
    let mut answer = Response::new(Body::full(body.into()));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content));
    let (head, body) = tools(&call(), "/a", answer).await?.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let content = head.headers[CONTENT_TYPE].to_str().unwrap().to_owned();
    Ok((content, serde_json::from_slice(&bytes).unwrap()))
}

#[tokio::test]
async fn what_may_not_be_seen_is_taken_out_and_all_else_stays() {
    let all =
        json!([{ "name": "get_one", "x": 1 }, { "name": "set_one" }, { "n": 1 }, 7, { "name": "get_two" }]);
    let shown = json!([{ "name": "get_one", "x": 1 }, { "name": "get_two" }]);
    let mut expected = list(shown);
    expected["result"]["cacheScope"] = json!("private");
    assert_eq!(told("application/json", list(all.clone()).to_string()).await.unwrap().1, expected);
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} });
    let stream = format!("data: {note}\n\nid: 7\ndata: {}\n\n", list(all));
    assert_eq!(told("text/event-stream", stream).await.unwrap(), ("application/json".into(), expected));
    let none = list(json!([{ "name": "set_one" }])).to_string();
    assert_eq!(told("application/json", none).await.unwrap().1["result"]["tools"], json!([]));
}

#[tokio::test]
async fn an_error_is_passed_on_and_what_cannot_be_read_is_not() {
    let error = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32000, "message": "no" } });
    assert_eq!(told("application/json", error.to_string()).await.unwrap().1, error);
    let twice = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"tools":[{"name":"set_one"}]}}"#.to_owned();
    let batch = json!([list(json!([{ "name": "set_one" }]))]).to_string();
    for odd in [twice, batch, list(json!({ "name": "set_one" })).to_string(), "{".into()] {
        assert!(matches!(told("application/json", odd.clone()).await, Err(Error::Unusable { .. })), "{odd}");
    }
    assert!(told("text/event-stream", "data: {}\n\n".into()).await.is_err());
}

#[tokio::test]
async fn only_lists_of_the_limited_are_read() {
    let call = call();
    assert!(hides(&call, "/a") && !hides(&call, "/b"));
    let admin =
        Call { principal: Arc::new(Principal { is_admin: true, ..stage::caller("root") }), ..call.clone() };
    assert!(!hides(&admin, "/a"));
    let other = json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/list" }).to_string();
    let other = stage::call(&call.plane, &call.principal, Front::Legacy, &other);
    assert!(!hides(&other, "/a"));
}
