//! Tokens that only their provider can read.

use catalog::endpoint::Secret;

use super::*;

const INTROSPECT: &str = "https://idp.example.com/introspect";

async fn world() -> World {
    let asking = IntrospectionSettings {
        endpoint: None,
        client_id: "gate way".into(),
        client_secret: Secret::new("s3:cret"),
        keep: Duration::from_secs(20),
    };
    World::with(|one| one.introspection = Some(asking)).await
}

fn questions(world: &World) -> Vec<Question> {
    world.web.asked().into_iter().filter(|question| question.form.is_some()).collect()
}

fn active() -> Value {
    with(claims(), "active", json!(true))
}

#[tokio::test]
async fn its_provider_says_whom_it_stands_for() {
    let world = world().await;
    world.web.says(INTROSPECT, 200, active());
    let alice = world.authenticator.identify("opaque-token", now()).await.unwrap();
    assert_eq!(
        (&*alice.subject, &*alice.issuer, alice.groups.as_slice()),
        ("alice", ISSUER, &["developers".into()][..])
    );
    let asked = questions(&world);
    assert_eq!(asked[0].form.as_ref().unwrap().reveal(), "token=opaque-token&token_type_hint=access_token");
    // Both parts form-encoded before they are joined (RFC 6749, section 2.3.1).
    assert_eq!(asked[0].authorization.as_ref().unwrap().reveal(), "Basic Z2F0ZSt3YXk6czMlM0FjcmV0");
    assert!(!format!("{asked:?}").contains("opaque-token"), "neither token nor secret shows");
}

#[tokio::test]
async fn a_program_is_known_by_its_client_id() {
    let world = world().await;
    let robot = with(with(active(), "sub", Value::Null), "client_id", json!("robot"));
    world.web.says(INTROSPECT, 200, robot);
    assert_eq!(&*world.authenticator.identify("opaque", now()).await.unwrap().subject, "robot");
    world.web.says(INTROSPECT, 200, with(active(), "sub", Value::Null));
    world.check("another", Err(Refused::MissingClaim("sub")), "nobody's").await;
}

#[tokio::test]
async fn the_answer_is_good_for_a_while_and_then_asked_for_again() {
    let world = world().await;
    world.web.says(INTROSPECT, 200, active());
    let begin = now();
    for seconds in [0, 1, 19] {
        world.authenticator.identify("opaque", begin.plus_seconds(seconds)).await.unwrap();
    }
    assert_eq!(questions(&world).len(), 1);
    world.web.says(INTROSPECT, 200, json!({ "active": false }));
    let later = world.authenticator.identify("opaque", begin.plus_seconds(21)).await;
    assert_eq!(later.map(|_| ()), Err(Refused::Inactive), "revoked there");
    for _ in 0..5 {
        assert!(world.authenticator.identify("opaque", begin.plus_seconds(22)).await.is_err());
    }
    assert_eq!(questions(&world).len(), 2, "a refusal is remembered, too");
}

#[tokio::test]
async fn bad_answers_let_nobody_in() {
    use Refused::{Expired, Inactive, MissingClaim, NotYet, Unreachable, WrongIssuer, WrongKind};
    let world = world().await;
    let seconds = now().as_seconds();
    let answers = [
        ("inactive", with(active(), "active", json!(false)), Inactive),
        ("silent", with(active(), "active", Value::Null), Inactive),
        ("active as text", with(active(), "active", json!("true")), Inactive),
        ("another issuer", with(active(), "iss", json!("https://evil.example.com")), WrongIssuer),
        ("no audience", with(active(), "aud", Value::Null), MissingClaim("aud")),
        ("over", with(active(), "exp", json!(seconds - 100)), Expired),
        ("to come", with(active(), "nbf", json!(seconds + 100)), NotYet),
        ("a refresh token", with(active(), "token_type", json!("refresh_token")), WrongKind),
        ("bound to a key", with(active(), "cnf", json!({ "jkt": "x" })), WrongKind),
        ("no object", json!([]), Unreachable),
    ];
    for (number, (what, answer, expected)) in answers.into_iter().enumerate() {
        world.web.says(INTROSPECT, 200, answer);
        world.check(&format!("opaque-{number}"), Err(expected), what).await;
    }
    world.web.says(INTROSPECT, 401, active());
    world.check("opaque-a", Err(Unreachable), "our secret is wrong").await;
    world.web.is_gone();
    world.check("opaque-b", Err(Unreachable), "away").await;
    let before = world.web.asked().len();
    world.check("with blank", Err(Refused::Malformed), "no token at all").await;
    assert_eq!(world.web.asked().len(), before);
}

#[tokio::test]
async fn without_introspection_nobody_is_asked() {
    let world = World::new().await;
    world.check("opaque", Err(Refused::Malformed), "no introspection").await;
    assert!(questions(&world).is_empty());
}
