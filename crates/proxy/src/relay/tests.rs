//! What becomes of each kind of message that a backend sends.

use catalog::Catalog;
use catalog::endpoint::Era;

use super::*;
use crate::opaque::VirtualSession;
use crate::sessions::BackendSession;
use crate::stage::{self, Scripted, caller};
use mcp::era::Revision;

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;

/// A session with an open backend session at `backend`.
fn errand(backend: &Scripted) -> Arc<Errand> {
    let mut catalog = Catalog::default();
    stage::add_server(&mut catalog, "/a", &["v1"], &backend.url, Some(Era::Legacy));
    stage::add_inventory(&mut catalog, "/a", "v1", Era::Legacy, &["find"]);
    let plane = stage::plane(&catalog);
    let sealed = VirtualSession {
        id: "1".into(),
        revision: Revision::V2025_11_25,
        capabilities: r#"{"elicitation":{},"roots":{}}"#.into(),
        client_info: "{}".into(),
    };
    let session = plane.shared.sessions.enter("vs-1", sealed, "/virtual/dev", &caller("ann"));
    let version = plane.shared.live.full().server("/a").unwrap().active().clone();
    let id = Some(http::HeaderValue::from_static("backend-session"));
    session.slot(&version.key).set(BackendSession {
        id,
        revision: Revision::V2025_11_25,
        endpoint: None,
        identity: version.identity,
    });
    plane.errand(&session, &version)
}

async fn backend() -> Scripted {
    Scripted::answering(stage::json_answer(202, "", "")).await
}

fn message(passed: Passed) -> String {
    match passed {
        Passed::Message(bytes) => String::from_utf8(bytes.into()).unwrap(),
        other => panic!("no message: {other:?}"),
    }
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn modern(log_level: Option<&str>) -> Dress {
    let log_level = log_level.map(|level| LEVELS.iter().position(|known| *known == level).unwrap());
    Dress::ToModern { method: Method::ToolsCall, caching: None, uri: None, log_level }
}

#[test]
fn without_a_session_everything_passes_as_it_is() {
    let relay = Relay::untouched();
    assert!(!relay.rewrites());
    for text in [
        ANSWER,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no"}}"#,
        r#" {"result":{"structuredContent":{"a":"\"method\""}},"id":"x","jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"method":"GET"}}}"#,
    ] {
        assert_eq!(relay.pass(bytes(text)), Passed::Answer(bytes(text)), "{text}");
    }
    for text in [
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#,
    ] {
        assert_eq!(relay.pass(bytes(text)), Passed::Message(bytes(text)), "{text}");
    }
    for text in ["ping", "/messages?id=1", "[DONE", r#""method""#, r#"{"method":7}"#, r#"{"method":"x"}"#, ""]
    {
        let is_array = text.starts_with('[');
        let expected = if is_array { Passed::Answer(bytes(text)) } else { Passed::Nothing };
        assert_eq!(relay.pass(bytes(text)), expected, "{text}");
    }
}

#[test]
fn only_the_answer_to_our_id_gets_the_clients_back() {
    let restore = RestoreId { own: bytes("7"), clients: bytes("\"seven\"") };
    let relay = Relay { restore: Some(restore), ..Relay::untouched() };
    assert!(relay.rewrites());
    let check = |text: &str, expected: &str| {
        assert_eq!(relay.pass(bytes(text)), Passed::Answer(bytes(expected)), "{text}");
    };
    check(ANSWER, r#"{"jsonrpc":"2.0","id":"seven","result":{"content":[]}}"#);
    check(
        r#"{"id":7,"result":{"id":7},"jsonrpc":"2.0"}"#,
        r#"{"id":"seven","result":{"id":7},"jsonrpc":"2.0"}"#,
    );
    let refusal = |id: &str| format!(r#"{{"jsonrpc":"2.0","error":{{"code":1,"message":"7"}},"id":{id}}}"#);
    check(&refusal("7"), &refusal("\"seven\""));
    check(&refusal("7.0"), &refusal("\"seven\""));
    for other in ["\"7\"", "70", "null"] {
        check(&refusal(other), &refusal(other));
    }
    let request = r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#;
    assert_eq!(relay.pass(bytes(request)), Passed::Message(bytes(request)), "an id of the backend's own");
}

#[test]
fn an_answer_to_another_request_is_none() {
    let relay = Relay { awaited: Some(bytes("7")), ..Relay::untouched() };
    let answer = |id: &str| format!(r#"{{"jsonrpc":"2.0",{id}"result":{{}}}}"#);
    for (id, is_ours) in [
        (r#""id":7,"#, true),
        (r#""id":7.0,"#, true),
        (r#""\u0069d":7,"#, true),
        (r#""id":"7","#, false),
        (r#""id":8,"#, false),
        (r#""id":null,"#, false),
        ("", false),
    ] {
        let text = answer(id);
        let expected = if is_ours { Passed::Answer(bytes(&text)) } else { Passed::Nothing };
        assert_eq!(relay.pass(bytes(&text)), expected, "{text}");
        assert_eq!(relay.is_foreign(text.as_bytes()), !is_ours, "{text}");
    }
    for text in [r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#, r#"{"error":{"code":1}}"#]
    {
        assert_eq!(relay.pass(bytes(text)), Passed::Answer(bytes(text)), "{text}");
    }
}

#[tokio::test]
async fn changed_lists_are_told_once_the_snapshot_says_so() {
    let backend = backend().await;
    let relay = Relay { errand: Some(errand(&backend)), ..Relay::untouched() };
    for list in ["tools", "prompts", "resources"] {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"notifications/{list}/list_changed"}}"#);
        assert_eq!(relay.pass(bytes(&text)), Passed::Nothing, "{list}");
    }
    for text in [
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/of/their/own"}"#,
    ] {
        assert_eq!(relay.pass(bytes(text)), Passed::Message(bytes(text)), "{text}");
    }
}

#[tokio::test]
async fn modern_clients_get_the_log_messages_they_asked_for() {
    let backend = backend().await;
    let errand = errand(&backend);
    let check = |wanted: Option<&str>, level: &str, passes: bool| {
        let relay = Relay { errand: Some(errand.clone()), dress: modern(wanted), ..Relay::untouched() };
        let text =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":{level}}}}}"#);
        let expected = if passes { Passed::Message(bytes(&text)) } else { Passed::Nothing };
        assert_eq!(relay.pass(bytes(&text)), expected, "{wanted:?} {level}");
    };
    for (wanted, level, passes) in [
        (None, "\"emergency\"", false),
        (Some("debug"), "\"debug\"", true),
        (Some("warning"), "\"notice\"", false),
        (Some("warning"), "\"warning\"", true),
        (Some("warning"), "\"error\"", true),
        (Some("emergency"), "\"alert\"", false),
        (Some("debug"), "\"loud\"", false),
        (Some("debug"), "7", false),
    ] {
        check(wanted, level, passes);
    }
    let relay = Relay { errand: Some(errand), dress: modern(None), ..Relay::untouched() };
    let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b"}}"#;
    assert_eq!(relay.pass(bytes(updated)), Passed::Nothing, "it did not subscribe");
}

#[tokio::test]
async fn a_ping_is_answered_here() {
    let backend = backend().await;
    let relay = Relay { errand: Some(errand(&backend)), ..Relay::untouched() };
    assert_eq!(relay.pass(bytes(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#)), Passed::Nothing);
    backend.until_seen(r#"{"jsonrpc":"2.0","id":"p","result":{}}"#, 1).await;
    assert!(backend.seen()[0].contains("mcp-session-id: backend-session"), "{:?}", backend.seen());
}

#[tokio::test]
async fn a_request_reaches_the_client_under_an_id_of_ours() {
    let backend = backend().await;
    let errand = errand(&backend);
    let relay = Relay { errand: Some(errand.clone()), ..Relay::untouched() };
    let ask = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list","params":{{"_meta":{{"progressToken":"t"}}}}}}"#
        )
    };
    assert_eq!(message(relay.pass(bytes(&ask("1")))), ask("\"ask-0\""));
    assert_eq!(message(relay.pass(bytes(&ask("\"ask-0\"")))), ask("\"ask-1\""));
    let mut state = errand.session.state();
    let mut noted = |number: u64| {
        let asked = state.asked.remove(&number).unwrap();
        let Answer::ToBackend { key, id, .. } = asked.answer else { panic!("asked by a backend") };
        (key.to_owned(), id, asked.progress_token)
    };
    let token = Some(bytes("\"t\""));
    assert_eq!(noted(0), (errand.version.key.clone(), bytes("1"), token.clone()));
    assert_eq!(noted(1), (errand.version.key.clone(), bytes("\"ask-0\""), token));
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_refuses() {
    let backend = backend().await;
    let errand = errand(&backend);
    let ask = bytes(r#"{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{}}"#);
    let cannot = Relay { errand: Some(errand.clone()), may_ask: false, ..Relay::untouched() };
    assert_eq!(cannot.pass(ask.clone()), Passed::Nothing);
    backend.until_seen(r#""id":3,"error":{"code":-32601"#, 1).await;

    // Questions of a call that is over make room; those of one that runs do not.
    let over = Relay { errand: Some(errand.clone()), ..Relay::untouched() };
    let mut most = 0;
    while let Passed::Message(_) = over.pass(ask.clone()) {
        most += 1;
        assert!(most < 10_000, "bounded");
    }
    backend.until_seen(r#""id":3,"error":{"code":-32601"#, 2).await;
    let running = Relay { errand: Some(errand.clone()), ..Relay::untouched() };
    assert_eq!(running.pass(ask.clone()), Passed::Nothing);
    drop(over);
    assert_eq!(errand.session.state().asked.len(), most);
    assert!(matches!(running.pass(ask), Passed::Message(_)));
    assert_eq!(errand.session.state().asked.len(), 1);
}

#[tokio::test]
async fn a_modern_client_is_asked_by_a_question() {
    let backend = backend().await;
    let errand = errand(&backend);
    let relay = Relay { errand: Some(errand.clone()), dress: modern(None), ..Relay::untouched() };
    let check = |text: &str, id: &str, key: &str, method: Method, params: &str| {
        let asked = Bytes::from(text.to_owned().into_bytes());
        let Passed::Question { id: found, question } = relay.pass(asked.clone()) else {
            panic!("no question")
        };
        assert!(asked.is_unique(), "{text}: a question may wait long, and holds nothing of what it came in");
        assert_eq!((found, question.key.as_str()), (bytes(id), key), "{text}");
        assert_eq!((question.method, question.method_name.as_str()), (method, method.as_str()), "{text}");
        assert_eq!(question.params, bytes(params), "{text}");
    };
    let elicit = r#"{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"message":"Which?"}}"#;
    check(elicit, "4", "ask-4", Method::Elicit, r#"{"message":"Which?"}"#);
    check(r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#, "\"r\"", "ask-r", Method::RootsList, "{}");
    assert!(errand.session.state().asked.is_empty());
    let sample = r#"{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{}}"#;
    let Passed::Lacking(error) = relay.pass(bytes(sample)) else { panic!("it did not declare that") };
    assert!(memchr::memmem::find(&error, br#""data":{"requiredCapabilities":{"sampling":{}}}"#).is_some());
    let unknown = r#"{"jsonrpc":"2.0","id":6,"method":"vendor/ask"}"#;
    assert_eq!(relay.pass(bytes(unknown)), Passed::Nothing);
    backend.until_seen("-32601", 1).await;
    let answer = relay.pass(bytes(ANSWER));
    let dressed = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"resultType":"complete"}}"#;
    assert_eq!(answer, Passed::Answer(bytes(dressed)));
}

#[test]
fn numbers_of_questions_are_read_back() {
    for number in [0, 1, u64::MAX] {
        assert_eq!(asked_number(asked_id(number).as_bytes()), Some(number));
    }
    for id in ["1", "\"1\"", "\"ask-\"", "\"ask--1\"", "\"ask-1x\"", "null", "\"ask-18446744073709551616\""] {
        assert_eq!(asked_number(id.as_bytes()), None, "{id}");
    }
    assert_eq!(asked_number(b"\"\\u0061sk-2\""), Some(2), "in any spelling");
}

#[test]
fn a_stream_in_which_something_is_sealed_is_the_same_otherwise() {
    let mut catalog = Catalog::default();
    stage::add_server(&mut catalog, "/a", &["v1"], "http://127.0.0.1:9/mcp", Some(Era::Legacy));
    let plane = stage::plane(&catalog);
    let version = plane.shared.live.full().server("/a").unwrap().active().clone();
    let lender = crate::lending::of_stream(&plane.shared, &version, &caller("ann"), None);
    let relay = Relay { lender, ..Relay::untouched() };
    let exact = |raw: &str| String::from_utf8(relay.exact(Event::read(bytes(raw))).into()).unwrap();
    for raw in [
        ": welcome\nretry: 2500\n\n",
        "id: 1\ndata:\n\n",
        "event: message\r\nid: 2\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"x\"}\r\n\r\n",
        "data: \"taskId\"\n\n",
    ] {
        assert_eq!(exact(raw), raw);
    }
    let told = exact(
        "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"taskId\":\"mine\",\"y\":1}}\n\n",
    );
    assert!(
        told.starts_with("event: message\nid: 7\ndata: {\"jsonrpc\"") && told.ends_with("\",\"y\":1}}\n\n"),
        "{told}"
    );
    assert!(!told.contains("mine"), "{told}");
}

#[test]
fn progress_gets_the_token_of_the_request_that_waits() {
    let tokens =
        RestoreId { own: Bytes::from_static(b"\"first\""), clients: Bytes::from_static(b"\"second\"") };
    let relay = Relay { progress: Some(tokens), ..Relay::untouched() };
    let told = |token: &str| {
        let data = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progress":1.50,"progressToken":{token}}}}}"#
        );
        let outline = Outline::read(data.as_bytes()).unwrap();
        relay.retold(&outline, data.into())
    };
    let expected = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.50,"progressToken":"second"}}"#;
    assert_eq!(told("\"first\""), expected);
    // Another's stays as it is.
    assert!(told("7").ends_with(br#""progressToken":7}}"#));
}
