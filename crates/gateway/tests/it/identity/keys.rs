//! Keys that are rotated, providers that are away, several providers.

use std::time::{Duration, Instant};

use super::*;
use crate::app::PATIENCE;

/// Asks until the answer is this; keys are fetched a second apart at the most.
async fn until(stage: &Stage, token: &str, expected: u16) {
    let begun = Instant::now();
    while stage.status("/virtual/dev-tools", token).await != expected {
        assert!(begun.elapsed() < PATIENCE, "never {expected}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn keys_are_rotated_while_calls_run() {
    let Some(stage) = Stage::set().await else { return };
    let first = stage.token().await;
    stage.check(&first, 200, "the first key").await;
    stage.provider.set(json!({ "rotate": "second", "keep": true })).await;
    let second = stage.token().await;
    assert_eq!(parts(&second).0["kid"], "second");
    until(&stage, &second, 200).await;
    stage.check(&first, 200, "the first key is still published").await;
    stage.provider.set(json!({ "rotate": "third", "keep": false })).await;
    let third = stage.token().await;
    until(&stage, &third, 200).await;
    stage.check(&first, 401, "withdrawn, though it was remembered").await;
    stage.check(&second, 401, "withdrawn").await;
}

#[tokio::test]
async fn keys_that_are_here_serve_while_the_provider_is_away() {
    let Some(stage) = Stage::set().await else { return };
    let (seen, unseen) = (stage.token().await, stage.provider.token(&stage.at("/github"), "").await);
    stage.check(&seen, 200, "before").await;
    stage.provider.set(json!({ "rotate": "second", "keep": true })).await;
    let late = stage.token().await;
    let Stage { provider, app, github } = stage;
    drop(provider);
    let client = |path: &str, token: &str| app.client(path, &Caller::new(app.authority(), Some(token)));
    assert_eq!(client("/virtual/dev-tools", &seen).try_initialize().await.status, 200);
    assert_eq!(
        client("/github", &unseen).try_initialize().await.status,
        200,
        "never seen, by the keys that are here"
    );
    let refused = client("/virtual/dev-tools", &late).try_initialize().await;
    assert!([401, 503].contains(&refused.status.as_u16()), "its key was never fetched: {}", refused.status);
    assert_eq!(github.runs("search"), 0);
}

#[tokio::test]
async fn a_provider_that_is_away_from_the_start_is_named_and_then_found() {
    let Some(provider) = Provider::start().await else { return };
    let issuer = provider.issuer.clone();
    let token = provider.token("http://127.0.0.1/github", "").await;
    drop(provider);
    let app = App::configured(&format!("[[auth.providers]]\nissuer = \"{issuer}\"")).await;
    let client = app.client("/github", &Caller::new(app.authority(), Some(&token)));
    let refused = client.try_initialize().await;
    assert_eq!(refused.status, 503);
    assert!(refused.header("retry-after").parse::<u64>().is_ok());
    let message = refused.error().await["message"].as_str().unwrap().to_owned();
    assert!(message.contains("identity provider cannot be reached"), "{message}");
    assert!(app.log().contains(&issuer), "the log names it: {}", app.log());
    // Our own tokens need nobody else.
    app.admin().get("/api/servers").await.expect(200);
}

#[tokio::test]
async fn several_providers_are_told_apart() {
    let (Some(first), Some(second), Some(third)) =
        (Provider::start().await, Provider::start().await, Provider::start().await)
    else {
        return;
    };
    let toml = format!(
        "[[auth.providers]]\nissuer = \"{}\"\n[[auth.providers]]\nissuer = \"{}\"\ngroup_prefix = \"partner/\"",
        first.issuer, second.issuer
    );
    let stage = Stage::between(first, &toml).await;
    let at = stage.at("/virtual/dev-tools");
    let ours = stage.provider.token(&at, "").await;
    stage.check(&ours, 200, "a developer").await;
    let theirs = second.token(&at, "").await;
    stage.check(&theirs, 403, "a developer of somebody else").await;
    stage.check(&second.token(&at, "mcp-access").await, 200, "with the scope").await;
    stage.check(&third.token(&at, "mcp-access").await, 401, "a provider nobody named").await;
    // The same subject of two providers is two callers.
    let mut client = stage.client("/virtual/dev-tools", &ours);
    client.initialize().await;
    let session = client.session.clone().expect("a session");
    let scoped = second.token(&at, "mcp-access").await;
    let thief = stage.client("/virtual/dev-tools", &scoped).in_session(&session);
    assert_eq!(thief.try_call("search", json!({})).await.status, 404);
    // The second one's key does not sign for the first.
    let (_, claims, _) = parts(&ours);
    second.set(json!({ "claims": { "iss": claims["iss"] } })).await;
    stage.check(&second.token(&at, "mcp-access").await, 401, "in the first one's name").await;
}
