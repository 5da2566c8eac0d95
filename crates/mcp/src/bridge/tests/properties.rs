//! What holds for any message: there and back again leaves everything else as it was.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::bridge::{Dress, answer_to_legacy, answer_to_modern, to_legacy, to_modern};
use crate::message::Outline;
use crate::method::Method;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object_of(inner).prop_map(Value::Object),
        ]
    })
}

fn object_of(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec(("[a-zA-Z_/.\"é]{1,8}", inner), 0..4).prop_map(|pairs| pairs.into_iter().collect())
}

/// Members that have a meaning of their own are not part of "everything else".
fn plain(mut object: Map<String, Value>) -> Map<String, Value> {
    for name in ["_meta", "name", "uri", "cursor", "taskId", "inputResponses", "requestState"] {
        object.remove(name);
    }
    object
}

proptest! {
    #[test]
    fn a_request_comes_back_as_it_went(params in object_of(value()), meta in object_of(value()), has_meta: bool) {
        let mut params = plain(params);
        if has_meta {
            params.insert("_meta".into(), Value::Object(meta));
        }
        let before = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        let body = Bytes::from(before.to_string());
        let dress = Dress { client_info: "{\"name\":\"p\"}", client_capabilities: "{}", log_level: None };
        let modern = to_modern(&body, &Outline::read(&body).expect("a request"), &dress);
        let legacy = to_legacy(&modern, &Outline::read(&modern).expect("still a request"));
        let mut after: Value = serde_json::from_slice(&legacy).expect("still JSON");
        if !has_meta {
            let params = after["params"].as_object_mut().expect("params");
            prop_assert_eq!(params.remove("_meta"), Some(json!({})));
        }
        prop_assert_eq!(after, before);
    }

    #[test]
    fn an_answer_comes_back_as_it_went(result in object_of(value())) {
        let mut result = result;
        for name in ["resultType", "ttlMs", "cacheScope", "structuredContent"] {
            result.remove(name);
        }
        let before = json!({"jsonrpc": "2.0", "id": "a", "result": result});
        let body = Bytes::from(before.to_string());
        let modern = answer_to_modern(&body, Method::ToolsCall, None, None);
        let dressed: Value = serde_json::from_slice(&modern).expect("still JSON");
        prop_assert_eq!(&dressed["result"]["resultType"], "complete");
        let legacy = answer_to_legacy(&modern, Method::ToolsCall);
        let after: Value = serde_json::from_slice(&legacy).expect("still JSON");
        prop_assert_eq!(after, before);
    }
}
