//! What backends give comes back to the version that made it, whole, and to nobody else.

use catalog::Catalog;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::lent::{as_lent, shown};
use crate::stage::{self, caller};

/// `/a` with v1 active and v2 beside it.
fn plane() -> crate::plane::Plane {
    let mut catalog = Catalog::default();
    stage::add_server(&mut catalog, "/a", &["v1", "v2"], "http://127.0.0.1:9/mcp", Some(Era::Modern));
    stage::plane(&catalog)
}

fn version(plane: &crate::plane::Plane, label: &str) -> Arc<VersionTarget> {
    plane.shared.live.full().server("/a").unwrap().version(label).unwrap().clone()
}

/// What the client of `subject` is told by a version.
fn told(plane: &crate::plane::Plane, subject: &str, label: &str, loan: Loan, answer: &str) -> String {
    let (call, version) = (call(plane, subject, "tools/call", json!({})), version(plane, label));
    let gives = Gives { loan: Some(loan), tasks: Some(Tasks::Told) };
    let lending = Lending { call: &call, version: &version, place: Place::OWN, gives };
    let sealed = lending.sealed(Bytes::copy_from_slice(answer.as_bytes()));
    assert_eq!(lending.to_lender().sealed(Bytes::from_static(b"{}")), "{}");
    String::from_utf8(sealed.to_vec()).unwrap()
}

fn call(plane: &crate::plane::Plane, subject: &str, method: &str, params: Value) -> Call {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    stage::call(plane, &caller(subject), Front::Modern, &message.to_string())
}

fn state_of(answer: &str) -> Value {
    serde_json::from_str::<Value>(answer).unwrap()["result"]["requestState"].take()
}

#[test]
fn only_what_an_answer_gives_is_sealed() {
    let plane = plane();
    let cursor = Loan::Cursor(Method::ToolsList);
    let same = |loan: Loan, answer: &str| assert_eq!(told(&plane, "ann", "v1", loan, answer), answer);
    for answer in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":null}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"nextCursor":"x"}]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"nextCursor":"x"}}}"#,
        r#"{"id":1,"result":{"nextCursor":"x"}} cut"#,
    ] {
        same(cursor, answer);
    }
    for answer in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"\"requestState\""}]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","requestState":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":7}}"#,
    ] {
        same(Loan::State, answer);
    }
    let answer =
        r#"{"jsonrpc":"2.0","id":1,"result":{"requestState" : "x", "resultType":"input_required","y":1}}"#;
    let sealed = told(&plane, "ann", "v1", Loan::State, answer);
    assert_eq!(sealed.replace(&state_of(&sealed).to_string(), "\"x\""), answer, "all else stays");
}

#[test]
fn it_is_of_one_caller_one_list_and_one_purpose() {
    let plane = plane();
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"n"}}"#;
    let sealed = told(&plane, "ann", "v2", Loan::Cursor(Method::ToolsList), answer);
    let cursor = serde_json::from_str::<Value>(&sealed).unwrap()["result"]["nextCursor"].take();
    let shows = |subject: &str, method: &str, params: &Value| {
        shown(&call(&plane, subject, method, params.clone()), "/a", "/a", false)
            .map(|shown| shown.unwrap().version)
    };
    let params = json!({ "cursor": cursor });
    assert_eq!(shows("ann", "tools/list", &params).unwrap().key, version(&plane, "v2").key);
    assert!(shows("bob", "tools/list", &params).is_err());
    assert!(shows("ann", "prompts/list", &params).is_err());
    assert!(shows("ann", "tools/call", &json!({ "requestState": cursor })).is_err());
    assert!(shows("ann", "tools/list", &json!({ "cursor": "n" })).is_err());
    assert!(shown(&call(&plane, "ann", "tools/list", params), "/b", "/b", false).is_err());
    let nothing = [("tools/list", json!({ "requestState": "x" })), ("tools/call", json!({ "cursor": "x" }))];
    for (method, params) in nothing {
        assert!(
            shown(&call(&plane, "ann", method, params), "/a", "/a", false).unwrap().is_none(),
            "{method}"
        );
    }
}

proptest! {
    // Each case has a gateway of its own.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_was_given_comes_back_byte_for_byte(state: String, at: prop::sample::Index, with in "[A-Za-z0-9_-]") {
        let plane = plane();
        let answer = json!({ "jsonrpc": "2.0", "id": 1,
            "result": { "resultType": "input_required", "requestState": state } });
        let sealed = state_of(&told(&plane, "ann", "v2", Loan::State, &answer.to_string()));
        let params = json!({ "name": "echo", "requestState": sealed });
        let again = call(&plane, "ann", "tools/call", params);
        let found = shown(&again, "/a", "/a", false).unwrap().unwrap();
        prop_assert_eq!(&found.version.key, &version(&plane, "v2").key);
        let lent = as_lent(&again, &found, &[]).unwrap().unwrap();
        let raw = lent.outline.request_state.unwrap().of(&lent.body);
        let expected = json!(state).to_string();
        prop_assert_eq!(raw, expected.as_bytes());
        // One digit changed, and it is nobody's.
        let mut changed = sealed.as_str().unwrap().to_owned();
        let at = at.index(changed.len());
        changed.replace_range(at..=at, &with);
        if Some(&*changed) != sealed.as_str() {
            let params = json!({ "name": "echo", "requestState": changed });
            prop_assert!(shown(&call(&plane, "ann", "tools/call", params), "/a", "/a", false).is_err());
        }
    }
}
