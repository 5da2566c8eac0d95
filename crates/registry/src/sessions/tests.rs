//! Sessions over time: who they stand for, and when they end.

use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::Settings;
use crate::scene::Scene;

fn person(subject: &str) -> Principal {
    Principal { subject: subject.into(), issuer: "https://idp.example.com".into(), ..Principal::anonymous() }
}

async fn begin(scene: &Scene, person: &Principal) -> Begun {
    scene.registry.begin_session(person, &Trail::default()).await.unwrap()
}

#[tokio::test]
async fn a_session_stands_for_its_person_until_it_ends() {
    let settings = Settings { session_life: Duration::from_secs(60), ..Settings::default() };
    let scene = Scene::start_with(settings).await;
    let begun = begin(&scene, &person("alice")).await;
    assert_eq!(begun.seconds, 60);
    let now = Timestamp::now();
    let open = scene.registry.session(&begun.cookie, now).unwrap();
    assert_eq!((&*open.principal.subject, &*open.principal.issuer), ("alice", "https://idp.example.com"));
    assert!(open.principal.token.is_none(), "the same caller as with the provider's token");
    assert!(scene.registry.session(&begun.cookie, now.plus_seconds(61)).is_none(), "over");
    scene.registry.end_session(&open, &Trail::default()).await.unwrap();
    assert!(scene.registry.session(&begun.cookie, now).is_none(), "ended");
}

#[tokio::test]
async fn a_session_ends_with_the_token_that_began_it() {
    let scene = Scene::start().await;
    let short = Principal { expires_at: Some(Timestamp::now().plus_seconds(30)), ..person("alice") };
    assert!(begin(&scene, &short).await.seconds <= 30);
}

#[tokio::test]
async fn an_administrator_ends_sessions_by_their_ids() {
    let scene = Scene::start().await;
    let begun = begin(&scene, &person("alice")).await;
    let listed = scene.admin("GET /api/tokens", Value::Null).await.expect(200);
    let id = listed["tokens"].as_array().unwrap().iter().find(|one| one["subject"] == "alice").unwrap()["id"]
        .clone();
    scene.admin(&format!("DELETE /api/tokens/{}", id.as_str().unwrap()), Value::Null).await;
    assert!(scene.registry.session(&begun.cookie, Timestamp::now()).is_none());
}

#[tokio::test]
async fn a_person_has_so_many_sessions_and_no_more() {
    let scene = Scene::start().await;
    let first = begin(&scene, &person("alice")).await;
    let bob = begin(&scene, &person("bob")).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    for _ in 0..MAX_OF_ONE {
        begin(&scene, &person("alice")).await;
    }
    let now = Timestamp::now();
    assert!(scene.registry.session(&first.cookie, now).is_none(), "the oldest made room");
    assert!(scene.registry.session(&bob.cookie, now).is_some());
    let count = scene
        .registry
        .catalog()
        .tokens
        .values()
        .filter(|one| one.subject == "alice" && one.is_live(now))
        .count();
    assert_eq!(count, MAX_OF_ONE);
}

#[tokio::test]
async fn a_link_signs_in_once() {
    let scene = Scene::start().await;
    let secret = scene.registry.make_admin_link().await.unwrap();
    assert!(!format!("{:?}", scene.registry.catalog().tokens).contains(&secret), "only a hash is kept");
    let (first, second) = (Trail::default(), Trail::default());
    let (one, other) = tokio::join!(
        scene.registry.redeem_link(&secret, &first),
        scene.registry.redeem_link(&secret, &second),
    );
    assert_eq!((one.is_ok(), other.is_ok()), (true, false), "of two at once one wins");
    let open = scene.registry.session(&one.unwrap().cookie, Timestamp::now()).unwrap();
    assert!(open.principal.is_admin && !open.principal.is_nameless());
    assert!(scene.registry.redeem_link("made up", &Trail::default()).await.is_err());
    let old = scene.registry.make_admin_link().await.unwrap();
    let mut record = IssuedToken::clone(&scene.registry.catalog().tokens[&link::id_of(&old)]);
    record.expires_at = Timestamp::now();
    let edit = Change::new(vec![Edit::PutToken(Arc::new(record))]);
    scene.registry.apply(|_| Ok((edit, ()))).await.unwrap();
    assert!(scene.registry.redeem_link(&old, &Trail::default()).await.is_err(), "too old");
}
