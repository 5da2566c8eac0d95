//! Client and backend of different eras.

use testkit::ModernBackend;

use super::*;

/// A modern request that says it can be asked.
fn modern(id: impl Into<Value>, name: &str, arguments: Value) -> Value {
    let mut message = tool(id, name, arguments);
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {}, "sampling": {} },
        "vendor.example/kept": true,
    });
    message
}

#[tokio::test]
async fn a_modern_client_shares_one_session_at_a_legacy_backend_with_nobody() {
    let backend = LegacyBackend::start("a").tool("echo").await;
    let world = World::new(&backend.url(), Era::Legacy);
    let ask = async |who: &str, id: u32| {
        world.ask_modern(&caller(who), &modern(id, "echo", json!({}))).await.unwrap()
    };
    let first = ask("ann", 1).await;
    assert_eq!(first.last()["id"], 1);
    assert_eq!(first.last()["result"]["resultType"], "complete");
    let meta = &first.echoed()["meta"];
    assert_eq!(meta, &json!({ "vendor.example/kept": true }), "nothing of the modern era");
    assert_eq!(ask("ann", 2).await.echoed()["session"], first.echoed()["session"]);
    assert_ne!(ask("bob", 3).await.echoed()["session"], first.echoed()["session"]);
    let nameless = Principal::anonymous();
    for _ in 0..2 {
        world.ask_modern(&nameless, &modern(4, "echo", json!({}))).await.unwrap();
    }
    backend.until("sessions of nameless callers end", |backend| backend.sessions().len() == 2).await;
    assert_eq!(backend.asked("initialize").len(), 4);
}

#[tokio::test]
async fn a_question_ends_the_request_and_its_answer_goes_on_with_the_call() {
    let backend = LegacyBackend::start("a").tool("ask").await;
    let world = World::new(&backend.url(), Era::Legacy);
    let call = modern(1, "ask", json!({ "message": "Which?" }));
    let asked = world.ask_modern(&caller("ann"), &call).await.unwrap();
    let result = &asked.last()["result"];
    assert_eq!((&asked.last()["id"], &result["resultType"]), (&json!(1), &json!("input_required")));
    let (key, question) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let mut again = modern("two", "ask", json!({ "message": "Which?" }));
    again["params"]["requestState"] = result["requestState"].clone();
    // Nothing is answered yet: it is asked again, under the id of this request.
    let repeated = world.ask_modern(&caller("ann"), &again).await.unwrap();
    assert_eq!(repeated.last()["id"], "two");
    assert_eq!(repeated.last()["result"]["inputRequests"], result["inputRequests"]);
    again["params"]["requestState"] = repeated.last()["result"]["requestState"].clone();
    again["params"]["inputResponses"] = json!({ key: { "action": "accept", "content": { "x": "blue" } } });
    // Another caller, other arguments, or a state that was used: none of them goes on.
    let refused = async |who: &str, message: &Value| {
        let refused = world.ask_modern(&caller(who), message).await;
        assert!(matches!(refused, Err(Error::InvalidParams(_))), "{who}");
    };
    refused("bob", &again).await;
    let mut other = again.clone();
    other["params"]["arguments"]["message"] = json!("What?");
    refused("ann", &other).await;
    let answered = world.ask_modern(&caller("ann"), &again).await.unwrap();
    assert_eq!(answered.last()["id"], "two");
    assert_eq!(answered.last()["result"]["resultType"], "complete");
    assert!(answered.last()["result"].to_string().contains("blue"), "{}", answered.last());
    refused("ann", &again).await;
    assert_eq!(backend.calls().len(), 1, "one call for all rounds");
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert!(backend.asked("notifications/cancelled").is_empty());
}

#[tokio::test]
async fn a_parked_call_holds_nothing_of_its_request() {
    let backend = LegacyBackend::start("a").tool("ask").await;
    let world = World::new(&backend.url(), Era::Legacy);
    let message = modern("one", "ask", json!({ "message": "Which?", "long": "x".repeat(10_000) }));
    let call = stage::call(&world.plane, &caller("ann"), Front::Modern, &message.to_string());
    let exchange = Exchange::at_server(&call, world.version.clone());
    let asked = run(exchange).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&asked).contains("input_required"));
    assert!(call.body.is_unique());
}

#[tokio::test]
async fn a_modern_client_that_closes_cancels_what_has_no_answer_yet() {
    let backend = LegacyBackend::start("a").tools(["slow", "progress"]).with_events().await;
    let world = World::new(&backend.url(), Era::Legacy);
    let slow = modern(7, "slow", json!({ "seconds": 20 }));
    let ann = caller("ann");
    tokio::select! {
        _ = world.ask_modern(&ann, &slow) => panic!("it takes longer"),
        () = backend.until("it runs", |backend| backend.runs("slow") == 1) => {}
    }
    backend.until("it is cancelled", |backend| backend.cancelled() == [json!(7)]).await;
    // One that read its answer and closes cancels nothing.
    let call = stage::call(
        &world.plane,
        &caller("ann"),
        Front::Modern,
        &modern(8, "progress", json!({})).to_string(),
    );
    let exchange = Exchange::at_server(&call, world.version.clone());
    let mut body = run(exchange).await.unwrap().into_body();
    let mut seen = String::new();
    while !seen.contains("\"id\":8") {
        let frame = body.frame().await.unwrap().unwrap();
        seen.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
    }
    drop(body);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(backend.asked("notifications/cancelled").len(), 1);
}

/// Answers the question with this id as a legacy client does.
fn answer_question(world: &World, id: &Value, result: Value) {
    let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    aside::answered(&world.legacy(&message), &world.session);
}

#[tokio::test]
async fn a_legacy_client_is_asked_on_the_stream_of_its_call() {
    let backend = ModernBackend::start("m").tool("ask").await;
    let world = World::new(&backend.url(), Era::Modern);
    let call = world.legacy(&tool(1, "ask", json!({ "message": "Which?" })));
    let mut body = world.begin(call).await.unwrap().into_body();
    let primer = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(primer.starts_with(b"id: ") && events(primer).is_empty(), "a place to come back to");
    let mut read = async || {
        let frame = body.frame().await?.unwrap().into_data().unwrap();
        assert!(frame.starts_with(b"id: ") || frame.windows(5).any(|line| line == b"\nid: "), "{frame:?}");
        events(frame).into_iter().next()
    };
    let question = read().await.unwrap();
    assert_eq!((&question["method"], &question["id"]), (&json!("elicitation/create"), &json!("ask-0")));
    answer_question(&world, &question["id"], json!({ "action": "accept", "content": { "x": "blue" } }));
    let answer = read().await.unwrap();
    assert_eq!(answer["id"], 1);
    assert!(answer["result"].to_string().contains("blue"), "{answer}");
    assert!(answer["result"].get("resultType").is_none());
    assert!(read().await.is_none(), "and nothing after it");
    assert!(world.session.state().asked.is_empty());
}

#[tokio::test]
async fn each_round_is_a_request_of_its_own() {
    let backend = ModernBackend::start("m").tool("ask").await;
    let world = World::new(&backend.url(), Era::Modern);
    let call = world.legacy(&tool("mine", "ask", json!({})));
    let mut body = world.begin(call).await.unwrap().into_body();
    let mut last = Value::Null;
    while let Some(frame) = body.frame().await {
        for event in events(frame.unwrap().into_data().unwrap()) {
            if event["method"] == "elicitation/create" {
                answer_question(&world, &event["id"], json!({ "action": "decline" }));
            }
            last = event;
        }
    }
    assert_eq!(last["id"], "mine");
    let mut ids: Vec<_> = backend.calls().iter().map(|call| call.message["id"].to_string()).collect();
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert!(all >= 2 && ids.len() == all, "{ids:?}");
}

#[tokio::test]
async fn a_client_that_takes_only_json_is_not_asked() {
    let backend = ModernBackend::start("m").tools(["ask", "echo"]).await;
    let world = World::new(&backend.url(), Era::Modern);
    let only_json = mcp::headers::Accepts { json: true, events: false };
    let ask = async |name: &str| {
        let call = Call { accepts: only_json, ..world.legacy(&tool(1, name, json!({}))) };
        let told = told(world.begin(call).await.unwrap()).await;
        assert_eq!((told.status, told.messages.len(), &told.last()["id"]), (200, 1, &json!(1)), "{name}");
        told.last()["result"].clone()
    };
    assert_eq!(ask("ask").await["isError"], true);
    assert_eq!(ask("echo").await["structuredContent"]["tool"], "echo");
    backend.set(|script| script.uses_events = true);
    assert_eq!(ask("echo").await["structuredContent"]["tool"], "echo");
    assert!(world.session.state().asked.is_empty());
}

#[tokio::test]
async fn a_legacy_client_cancels_at_a_modern_backend_with_its_own_words() {
    let backend = ModernBackend::start("m").tools(["slow", "ask"]).await;
    let world = World::new(&backend.url(), Era::Modern);
    let slow = tool(3, "slow", json!({ "seconds": 20 }));
    let (ended, ()) = tokio::join!(world.ask(&slow), async {
        backend.until("it runs", |backend| backend.runs("slow") == 1).await;
        world.cancel(&json!(3));
    });
    assert!(matches!(ended, Err(Error::Cancelled)));
    // While it is asked, too.
    let call = world.legacy(&tool(4, "ask", json!({})));
    let body = world.begin(call).await.unwrap().into_body();
    world.cancel(&json!(4));
    let rest = tokio::time::timeout(Duration::from_secs(5), body.collect()).await.unwrap();
    assert!(!String::from_utf8_lossy(&rest.unwrap().to_bytes()).contains("\"id\":4"));
    assert!(world.session.state().asked.is_empty());
    assert!(world.plane.shared.flights.find(world.session.number, b"4").is_none());
}

#[tokio::test]
async fn a_legacy_client_that_goes_away_cancels_nothing() {
    let backend = ModernBackend::start("m").tool("slow").with_events().await;
    let world = World::new(&backend.url(), Era::Modern);
    // Once before the head of the answer, once on its stream.
    for is_open in [false, true] {
        let call = world.legacy(&tool(3, "slow", json!({ "seconds": 0.3 })));
        let mut begun = Box::pin(world.begin(call));
        let waited = tokio::time::timeout(Duration::from_millis(100), &mut begun).await;
        if is_open && waited.is_err() {
            let _ = begun.await;
        }
    }
    backend.until("both ran", |backend| backend.runs("slow") == 2).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(backend.cancelled().is_empty());
    assert!(world.plane.shared.flights.find(world.session.number, b"3").is_none(), "and both are over");
}

#[tokio::test]
async fn a_renamed_tool_is_renamed_in_body_and_header() {
    let backend = ModernBackend::start("m").tool("echo").await;
    let world = World::new(&backend.url(), Era::Modern);
    let message = modern(1, "alias", json!({ "name": "alias" }));
    for front in [Front::Legacy, Front::Modern] {
        let mut call = stage::call(&world.plane, &caller("ann"), front, &message.to_string());
        call.headers = stage::headers(&[
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "alias"),
            ("authorization", "Bearer secret"),
            ("x-mcp-server-version", "v1"),
            ("traceparent", "00-1"),
        ]);
        let at = call.outline.name.unwrap();
        let edit = Edit { at, with: Bytes::from_static(b"\"echo\"") };
        let renamed = Some(Renamed { edit, original: "echo".into() });
        let session = (front == Front::Legacy).then(|| world.session.clone());
        let exchange = Exchange { session, renamed, ..Exchange::at_server(&call, world.version.clone()) };
        let answer = told(run(exchange).await.unwrap()).await;
        assert_eq!(answer.echoed()["arguments"], json!({ "name": "alias" }), "{front:?}");
        let seen = backend.calls().pop().unwrap();
        assert_eq!((seen.name(), seen.header("mcp-name")), ("echo", "echo"), "{front:?}");
        assert_eq!(seen.header("traceparent"), "00-1");
        for secret in ["authorization", "x-mcp-server-version", "mcp-session-id"] {
            assert!(!seen.headers.contains_key(secret), "{front:?} {secret}");
        }
    }
}
