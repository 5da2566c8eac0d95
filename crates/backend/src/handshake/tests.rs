use std::time::Duration;

use testkit::{DualBackend, LegacyBackend, ModernBackend};

use super::*;
use crate::stub::{Stub, backends, endpoint, json, settings, whole};

const GREETED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"2.1"},"instructions":"a\nb"}}"#;

fn hello() -> Hello<'static> {
    Hello {
        revision: Revision::V2025_06_18,
        capabilities: r#"{"roots":{}}"#,
        client_info: r#"{"name":"c","version":"3"}"#,
    }
}

#[tokio::test]
async fn a_session_is_opened_used_and_ended() {
    for with_events in [false, true] {
        let setup = LegacyBackend::start("github").tool("search").version("1.2.3").instructions("be kind");
        let backend = if with_events { setup.with_events().await } else { setup.await };
        let (backends, endpoint) = (backends(), endpoint(&backend.url()));
        let greeting = backends.greet(&endpoint, &hello()).await.unwrap();
        assert_eq!(greeting.revision, Revision::V2025_06_18);
        assert_eq!(greeting.reported_version.as_deref(), Some("1.2.3"));
        assert_eq!(greeting.instructions.as_deref(), Some("be kind"));
        assert!(greeting.server_info.contains("\"github\"") && greeting.capabilities.contains("\"tools\""));
        let session = greeting.session.unwrap();
        assert_eq!(backend.sessions(), [session.as_str()]);
        assert_eq!(backend.client_capabilities()[0].to_string(), r#"{"roots":{}}"#);
        assert_eq!(backend.asked("notifications/initialized").len(), 1);
        backends.end_session(&endpoint, &session, greeting.revision).await.unwrap();
        assert!(backend.sessions().is_empty());
        backends.end_session(&endpoint, &session, greeting.revision).await.unwrap();
    }
}

#[tokio::test]
async fn a_greeting_is_read_as_it_was_written() {
    let stub = Stub::answering(json(GREETED)).await;
    let greeting = backends().greet(&stub.endpoint(), &hello()).await.unwrap();
    let expected = Greeting {
        revision: Revision::V2025_06_18,
        session: None,
        capabilities: r#"{"tools":{}}"#.into(),
        server_info: r#"{"name":"x","version":"2.1"}"#.into(),
        instructions: Some("a\nb".into()),
        reported_version: Some("2.1".into()),
        has_event_stream: false,
    };
    assert_eq!(greeting, expected);
    let seen = stub.requests();
    assert!(!seen[0].head.contains("mcp-"), "{}", seen[0].head);
    assert!(seen[0].head.contains("accept: application/json, text/event-stream\r\n"));
    let asked = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"3"}}}"#;
    assert_eq!(seen[0].body, asked);
    assert!(seen[1].head.contains("mcp-protocol-version: 2025-06-18\r\n"));
}

#[tokio::test]
async fn a_greeting_is_found_in_an_array() {
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
    let array = format!("[{GREETED},{note}]");
    let event = whole(200, "text/event-stream", &format!("data: {array}\n\n"));
    for answer in [json(&array), event] {
        let stub = Stub::answering(answer).await;
        let greeting = backends().greet(&stub.endpoint(), &hello()).await.unwrap();
        assert_eq!(greeting.reported_version.as_deref(), Some("2.1"));
    }
}

#[tokio::test]
async fn answers_that_are_no_greeting_say_why() {
    let events = |data: &str| whole(200, "text/event-stream", &format!("event: message\ndata: {data}\n\n"));
    let cases = [
        (whole(200, "text/html", "<html>"), "not MCP: answered text/html (HTTP 200), not JSON"),
        (json(&GREETED[..90]), "not JSON"),
        (json(""), "an empty answer (HTTP 200)"),
        (json("[]"), "an empty array (HTTP 200)"),
        (json("[[]]"), "batch"),
        (json(&GREETED.replace("2025-06-18", "1999-01-01")), "unknown revision \"1999-01-01\""),
        (json(&GREETED.replace("2025-06-18", "2026-07-28")), "unknown revision"),
        (json(r#"{"jsonrpc":"2.0","id":1,"result":[]}"#), "something else than an object"),
        (json(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#), "a message that is no response"),
        (
            json(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}"#),
            "answered error -32000: no",
        ),
        (
            whole(400, "text/plain", r#"{"error":{"code":-32000,"message":"no id"}}"#),
            "answered error -32000: no id",
        ),
        (whole(404, "text/html", "<html>"), "answered HTTP 404"),
        (whole(500, "application/json", "{}"), "answered HTTP 500"),
        (whole(302, "text/html", ""), "answered HTTP 302"),
        (events(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#), "ended without the answer"),
        (events("{cut"), "an event that is no message"),
    ];
    for (answer, expected) in cases {
        let stub = Stub::answering(answer).await;
        let error = backends().greet(&stub.endpoint(), &hello()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
    }
}

#[tokio::test]
async fn a_session_id_that_is_too_long_is_refused() {
    for (length, is_fine) in [(4096, true), (4097, false)] {
        let id = "s".repeat(length);
        let head = format!("HTTP/1.1 200 OK\r\nmcp-session-id: {id}\r\n");
        let stub = Stub::answering(json(GREETED).replace("HTTP/1.1 200 x\r\n", &head)).await;
        match backends().greet(&stub.endpoint(), &hello()).await {
            Ok(greeting) => assert!(is_fine && greeting.session == Some(id)),
            Err(error) => {
                assert!(!is_fine && error.to_string().contains("session id is longer than"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn an_answer_is_found_among_other_events_and_pings_are_answered() {
    let stream = [
        ": hello\n\n",
        "event: endpoint\ndata: /elsewhere\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":\"p-1\",\"method\":\"ping\"}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"of\":\"another\"}}\n\n",
    ];
    let answer = format!("{}data: {}\n\n", stream.concat(), GREETED.replace("\"id\":1", "\"id\":1.0"));
    let stub = Stub::start(move |mut wire| {
        let answer = answer.clone();
        async move {
            while let Some(said) = wire.request().await {
                if said.body.contains("initialize\"") {
                    wire.say(
                        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nmcp-session-id: s1\r\n\r\n",
                    )
                    .await;
                    for byte in answer.chars() {
                        wire.say(&byte.to_string()).await;
                    }
                    // It would leave the stream open.
                    wire.closed().await;
                }
                wire.say("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await;
            }
        }
    })
    .await;
    let greeting = backends().greet(&stub.endpoint(), &hello()).await.unwrap();
    assert_eq!(greeting.session.as_deref(), Some("s1"));
    let seen = stub.requests();
    assert_eq!(seen[1].body, r#"{"jsonrpc":"2.0","id":"p-1","result":{}}"#);
    assert!(seen[1].head.contains("mcp-session-id: s1\r\n"));
    assert!(seen[2].body.contains("notifications/initialized"));
}

#[tokio::test]
async fn a_handshake_does_not_wait_for_ever() {
    let stub = Stub::start(|mut wire| async move {
        wire.request().await;
        wire.say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await;
        loop {
            wire.say(": still here\n\n").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let mut settings = settings();
    settings.probe = Duration::from_millis(200);
    let backends = Backends::new(std::sync::Arc::new(settings));
    let error = backends.greet(&stub.endpoint(), &hello()).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { may_have_run: true, .. }), "{error}");
}

#[tokio::test]
async fn each_era_is_learnt() {
    let legacy = LegacyBackend::start("old").tool("a").version("1.0.1").await;
    let modern = ModernBackend::start("new").tool("a").version("2.0.1").instructions("read me").await;
    let backends = backends();
    for known in [None, Some(Eras::Legacy), Some(Eras::Modern), Some(Eras::Both)] {
        let learnt = backends.learn(&endpoint(&legacy.url()), known).await.unwrap();
        let Learnt::Legacy(greeting) = learnt else { panic!("{learnt:?}") };
        assert_eq!(greeting.revision, Revision::V2025_11_25);
        assert_eq!(greeting.reported_version.as_deref(), Some("1.0.1"));
        let learnt = backends.learn(&endpoint(&modern.url()), known).await.unwrap();
        let Learnt::Modern(discovery) = learnt else { panic!("{learnt:?}") };
        let Discovery { revision, capabilities, instructions, reported_version, .. } = discovery;
        assert_eq!((revision, reported_version.as_deref()), (Revision::MODERN, Some("2.0.1")));
        assert!(capabilities.contains("tools") && instructions.as_deref() == Some("read me"));
    }
}

#[tokio::test]
async fn a_backend_of_both_eras_is_greeted_in_both() {
    let both = DualBackend::start("dual").tool("a").version("1.0.1").await;
    let Learnt::Both(discovery, greeting) = backends().learn(&endpoint(&both.url()), None).await.unwrap()
    else {
        panic!("both are spoken")
    };
    assert_eq!((discovery.revision, greeting.revision), (Revision::MODERN, Revision::V2025_11_25));
    assert_eq!(both.sessions(), [greeting.session.unwrap()], "for the caller to end");
    for (pinned, expected) in [(Era::Legacy, Eras::Legacy), (Era::Modern, Eras::Modern)] {
        let pinned = Endpoint { pinned_era: Some(pinned), ..endpoint(&both.url()) };
        assert_eq!(backends().learn(&pinned, Some(Eras::Both)).await.unwrap().eras(), expected);
    }
    assert_eq!((both.asked("server/discover").len(), both.asked("initialize").len()), (2, 2));
}

#[tokio::test]
async fn what_says_nothing_of_the_older_era_unlearns_it_not() {
    let modern =
        r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    let failing = |greeted: &str| {
        let greeted = greeted.to_owned();
        Stub::start(move |mut wire| {
            let greeted = greeted.clone();
            async move {
                while let Some(said) = wire.request().await {
                    let is_discover = said.body.contains("server/discover");
                    wire.say(if is_discover { json(modern) } else { greeted.clone() }.as_str()).await;
                }
            }
        })
    };
    let slow = failing(&whole(503, "text/plain", "")).await;
    for (known, expected) in [
        (None, Some(Eras::Modern)),
        (Some(Eras::Modern), Some(Eras::Modern)),
        (Some(Eras::Both), None),
        (Some(Eras::Legacy), None),
    ] {
        let learnt = backends().learn(&slow.endpoint(), known).await;
        assert_eq!(learnt.as_ref().ok().map(Learnt::eras), expected, "{known:?}: {learnt:?}");
    }
    let grown = failing(&whole(404, "text/plain", "")).await;
    let learnt = backends().learn(&grown.endpoint(), Some(Eras::Both)).await.unwrap();
    assert_eq!(learnt.eras(), Eras::Modern, "it said so");
}

/// What a stub answers to `server/discover`, to `initialize`, and what is learnt.
async fn verdict_of(discovered: String, greeted: String) -> (String, usize) {
    let stub = Stub::start(move |mut wire| {
        let (discovered, greeted) = (discovered.clone(), greeted.clone());
        async move {
            while let Some(said) = wire.request().await {
                let text = if said.body.contains("server/discover") { &discovered } else { &greeted };
                wire.say(text).await;
            }
        }
    })
    .await;
    let learnt = match backends().learn(&stub.endpoint(), None).await {
        Ok(learnt) => learnt.eras().as_str().into(),
        Err(error) => error.to_string(),
    };
    (learnt, stub.requests().iter().filter(|said| said.body.contains("server/discover")).count())
}

#[tokio::test]
async fn the_era_follows_from_what_discover_answers() {
    let result = |list: &str| {
        json(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"supportedVersions":{list},"capabilities":{{}}}}}}"#
        ))
    };
    let error = |status, code: i32, data: &str| {
        whole(
            status,
            "application/json",
            &format!(
                r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"m","data":{data}}}}}"#
            ),
        )
    };
    let plain = |status| whole(status, "text/plain", "Bad Request");
    let cases = [
        (result(r#"["2025-11-25","2026-07-28"]"#), "both", 1),
        (result(r#"["2026-07-28"]"#), "both", 1),
        (result(r#"["2025-11-25"]"#), "legacy", 1),
        (result(r#"["2031-01-01"]"#), "legacy", 1),
        (json(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "legacy", 1),
        (error(400, -32020, "{}"), "answered error -32020: m", 1),
        (error(400, -32022, r#"{"supported":["2026-07-28"]}"#), "answered error -32022: m", 2),
        (error(400, -32022, r#"{"supported":["2025-11-25"]}"#), "legacy", 1),
        (error(200, -32601, "{}"), "legacy", 1),
        (error(404, -32601, "{}"), "legacy", 1),
        (error(400, -32000, "{}"), "legacy", 1),
        (plain(400), "legacy", 1),
        (plain(404), "legacy", 1),
        (plain(405), "legacy", 1),
        (json(""), "legacy", 1),
        (whole(200, "text/html", "<html>"), "legacy", 1),
        (plain(401), "answered HTTP 401", 1),
        (plain(403), "answered HTTP 403", 1),
        (plain(503), "answered HTTP 503", 1),
    ];
    for (discovered, expected, asked) in cases {
        let shown = discovered.clone();
        let (learnt, times) = verdict_of(discovered, json(GREETED)).await;
        assert_eq!((learnt.as_str(), times), (expected, asked), "{shown}");
    }
}

#[tokio::test]
async fn a_backend_of_neither_era_says_so() {
    let nothing = whole(404, "text/html", "not here");
    let (error, _) = verdict_of(nothing.clone(), nothing).await;
    assert!(
        error.starts_with("not MCP: it answers neither server/discover nor initialize (HTTP 404)"),
        "{error}"
    );
}

#[tokio::test]
async fn a_pinned_era_is_not_questioned() {
    let legacy = LegacyBackend::start("old").await;
    let pinned = Endpoint { pinned_era: Some(Era::Modern), ..endpoint(&legacy.url()) };
    assert!(matches!(backends().learn(&pinned, None).await, Err(Error::NotMcp { .. })));
    let pinned = Endpoint { pinned_era: Some(Era::Legacy), ..pinned };
    assert!(matches!(backends().learn(&pinned, Some(Eras::Modern)).await, Ok(Learnt::Legacy(_))));
    assert_eq!(legacy.asked("server/discover").len(), 1);
}
