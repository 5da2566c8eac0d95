//! Sessions of a server path: the backend's own, wrapped.

use serde_json::json;
use testkit::LegacyBackend;

use super::Stage;
use crate::heard::greetings;

#[tokio::test]
async fn the_backend_sees_its_own_id_and_the_client_a_sealed_one() {
    let stage = Stage::start(&["echo"]).await;
    let told = stage.client.call("echo", json!({})).await;
    let own = told["structuredContent"]["session"].as_str().unwrap();
    let wrapped = stage.client.session.as_deref().unwrap();
    assert!(stage.backend.sessions().contains(&own.to_owned()));
    assert!(!wrapped.contains(own) && wrapped.bytes().all(|b| b.is_ascii_graphic()), "{wrapped}");
}

#[tokio::test]
async fn the_greeting_is_the_backends_own() {
    let backend = LegacyBackend::start("a").tool("echo").instructions("Be kind.").speaks("2025-06-18").await;
    let stage = Stage::of(backend).await;
    let mut client = stage.client.clone().revision("2025-11-25").capabilities(json!({ "roots": {} }));
    client.session = None;
    let greeting = client.initialize().await;
    assert_eq!(
        (&greeting["protocolVersion"], &greeting["instructions"]),
        (&json!("2025-06-18"), &json!("Be kind."))
    );
    assert_eq!(greeting["serverInfo"]["name"], "a");
    assert_eq!(greetings(&stage.backend)[0].params()["capabilities"], json!({ "roots": {} }));
    assert!(!stage.backend.asked("notifications/initialized").is_empty());
    client.call("echo", json!({})).await;
    assert_eq!(stage.backend.calls()[0].header("mcp-protocol-version"), "2025-06-18");
}

#[tokio::test]
async fn a_backend_without_sessions_needs_none() {
    let stage = Stage::of(LegacyBackend::start("a").tool("echo").without_sessions().await).await;
    assert_eq!(stage.client.session, None);
    stage.client.call("echo", json!({})).await;
    assert_eq!(stage.client.get().await.status, 405);
}

#[tokio::test]
async fn delete_ends_the_backends_session() {
    let stage = Stage::start(&["echo"]).await;
    let told = stage.client.call("echo", json!({})).await;
    let own = told["structuredContent"]["session"].as_str().unwrap().to_owned();
    assert!(stage.backend.sessions().contains(&own));
    assert_eq!(stage.client.delete().await.status, 200);
    assert!(!stage.backend.sessions().contains(&own));
    assert_eq!(stage.client.try_call("echo", json!({})).await.status, 404);
    assert_eq!(stage.backend.runs("echo"), 1);
}

#[tokio::test]
async fn a_lost_session_is_passed_on() {
    let stage = Stage::start(&["echo"]).await;
    stage.backend.forget_sessions();
    for status in [404, 400] {
        stage.backend.refuse_sessions_with(status);
        let answer = stage.client.try_call("echo", json!({})).await;
        assert_eq!(answer.status, status, "the client greets again by itself");
        assert_eq!(answer.error().await["message"], "session not found");
    }
    assert_eq!(greetings(&stage.backend).len(), 0);
    let mut client = stage.client.clone();
    client.session = None;
    client.initialize().await;
    client.call("echo", json!({})).await;
}

#[tokio::test]
async fn the_get_stream_passes_untouched() {
    let backend = LegacyBackend::start("a").tool("echo").with(|script| {
        script.has_event_ids = true;
        script.opening = "retry: 2500\n: welcome\n\n".into();
    });
    let stage = Stage::of(backend.await).await;
    let mut stream = stage.client.clone().header("last-event-id", "e-41").get().await;
    assert!(stream.is_events());
    assert_eq!(
        (stream.header("x-accel-buffering"), stream.header("cache-control")),
        ("no", "no-cache, no-transform")
    );
    let opening = stream.block().await.unwrap();
    assert_eq!(
        (opening.retry.as_deref(), &opening.comments[..]),
        (Some("2500"), &["welcome".to_owned()][..])
    );
    stage.backend.tools_changed();
    let event = stream.event().await.unwrap();
    assert!(event.id.is_some(), "{event:?}");
    assert_eq!(event.json()["method"], "notifications/tools/list_changed");
    let asked = stage.backend.seen().into_iter().find(|seen| seen.http_method == http::Method::GET).unwrap();
    assert_eq!((asked.header("last-event-id"), asked.header("accept")), ("e-41", "text/event-stream"));
    drop(stream);
    stage.backend.until("its stream is closed", |a| a.streams() == 0).await;
}

#[tokio::test]
async fn a_backend_without_a_stream_says_so() {
    let stage = Stage::of(LegacyBackend::start("a").tool("echo").without_get_stream().await).await;
    let answer = stage.client.get().await;
    assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, "POST, DELETE"));
}
