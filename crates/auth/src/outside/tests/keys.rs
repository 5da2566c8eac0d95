//! Keys: rotation, withdrawal, a provider that is away.

use super::*;

/// Keeps keys for as long as it is held.
fn keep(world: &World) -> tokio::task::JoinHandle<()> {
    let authenticator = world.authenticator.clone();
    tokio::spawn(async move { authenticator.keep_keys().await })
}

fn fetches(world: &World) -> usize {
    world.web.asked().iter().filter(|question| question.url.ends_with("/keys")).count()
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_new_is_fetched_at_once_and_then_not_again_for_a_while() {
    let world = World::with(|one| one.refetch_every = Duration::ZERO).await;
    let keeping = keep(&world);
    tokio::task::yield_now().await;
    let next = SigningKey::ec();
    let head = with(header(), "kid", json!("two"));
    world.check(&next.sign(&head, &claims()), Err(Refused::UnknownKey), "before it is published").await;
    world.publish(&[world.key.public("one"), next.public("two")]);
    world.check(&next.sign(&head, &claims()), Ok(()), "after").await;
    world.check(&world.token(&claims()), Ok(()), "the old one goes on").await;
    keeping.abort();

    let world = World::with(|one| one.refetch_every = Duration::from_secs(30)).await;
    let keeping = keep(&world);
    tokio::task::yield_now().await;
    let before = fetches(&world);
    for number in 0..20 {
        let head = with(header(), "kid", json!(format!("guess {number}")));
        world.check(&next.sign(&head, &claims()), Err(Refused::UnknownKey), "guessed").await;
    }
    assert_eq!(fetches(&world), before, "not within thirty seconds");
    keeping.abort();
}

#[tokio::test]
async fn tokens_of_a_key_that_was_withdrawn_end_though_they_were_remembered() {
    let world = World::new().await;
    let token = world.token(&claims());
    world.check(&token, Ok(()), "before").await;
    assert!(world.authenticator.recall(&token, now()).is_some(), "remembered");
    world.publish(&[SigningKey::ec().public("two")]);
    world.fetch_keys(now()).await;
    world.check(&token, Err(Refused::UnknownKey), "after").await;
}

#[tokio::test(start_paused = true)]
async fn keys_serve_while_the_provider_is_away_and_then_no_longer() {
    let world = World::with(|one| one.keys_keep = Duration::from_secs(3600)).await;
    world.web.is_gone();
    world.fetch_keys(now()).await;
    world.check(&world.token(&claims()), Ok(()), "cached keys").await;
    let unknown = with(header(), "kid", json!("two"));
    let unknown = SigningKey::ec().sign(&unknown, &claims());
    world.check(&unknown, Err(Refused::UnknownKey), "a key that is not among them").await;
    let later = now().plus_seconds(3700);
    let lasting = with(claims(), "exp", json!(later.as_seconds() + 60));
    let found = world.authenticator.identify(&world.token(&lasting), later).await;
    assert_eq!(found.map(|_| ()), Err(Refused::Unreachable), "too old to be believed");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_was_never_there_is_said_to_be_away() {
    let world = World::before_keys(|_| {});
    world.web.is_gone();
    let keeping = keep(&world);
    world.check(&world.token(&claims()), Err(Refused::Unreachable), "away").await;
    assert!(Refused::Unreachable.to_string().contains("cannot be reached"));
    keeping.abort();
}

#[tokio::test]
async fn metadata_of_somebody_else_brings_no_keys() {
    let world = World::before_keys(|_| {});
    let about = json!({ "issuer": "https://evil.example.com", "jwks_uri": "https://idp.example.com/keys" });
    world.web.says(&format!("{ISSUER}/.well-known/openid-configuration"), 200, about);
    world.fetch_keys(now()).await;
    world.check(&world.token(&claims()), Err(Refused::Unreachable), "no keys").await;
    assert_eq!(fetches(&world), 0);
}

#[tokio::test]
async fn oauth_metadata_serves_where_there_is_none_of_openid() {
    let world = World::before_keys(|_| {});
    let about = json!({ "issuer": ISSUER, "jwks_uri": "https://keys.example.com/keys" });
    world.web.is_gone();
    world.web.says("https://idp.example.com/.well-known/oauth-authorization-server/realms/main", 200, about);
    world.web.says("https://keys.example.com/keys", 200, json!({ "keys": [world.key.public("one")] }));
    world.fetch_keys(now()).await;
    world.check(&world.token(&claims()), Ok(()), "good").await;
    let learnt: Vec<bool> = world.web.asked().iter().map(|question| question.is_learnt).collect();
    assert_eq!(learnt, [false, false, true], "keys on another host are not the operator's word");
}

#[tokio::test]
async fn keys_that_cannot_be_used_are_left_out() {
    let world = World::before_keys(|_| {});
    let encrypts = with(SigningKey::ec().public("enc"), "use", json!("enc"));
    let broken = json!({ "kty": "EC", "crv": "P-256", "kid": "broken" });
    world.publish(&[json!(7), encrypts, broken, json!({ "kty": "quantum" }), world.key.public("one")]);
    world.fetch_keys(now()).await;
    world.check(&world.token(&claims()), Ok(()), "the good one").await;
}
