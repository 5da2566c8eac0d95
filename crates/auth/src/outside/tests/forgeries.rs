//! Tokens that are none, each for another reason.

use aws_lc_rs::hmac;

use super::*;

#[tokio::test]
async fn forged_heads_are_refused() {
    use Refused::{BadSignature, Malformed, UnknownKey, WrongKind};
    let world = World::new().await;
    world.check(&world.token(&claims()), Ok(()), "good").await;
    let heads = [
        ("alg none", "alg", json!("none"), Malformed),
        ("alg HS256", "alg", json!("HS256"), UnknownKey),
        ("alg of another family", "alg", json!("RS256"), UnknownKey),
        ("no alg", "alg", Value::Null, Malformed),
        ("another kid", "kid", json!("two"), UnknownKey),
        ("a critical extension", "crit", json!(["exp"]), Malformed),
        ("an encrypted one", "enc", json!("A256GCM"), Malformed),
        ("a logout token", "typ", json!("logout+jwt"), WrongKind),
        ("a security event", "typ", json!("secevent+jwt"), WrongKind),
        ("a proof of possession", "typ", json!("dpop+jwt"), WrongKind),
    ];
    for (what, key, value, expected) in heads {
        world.check(&world.key.sign(&with(header(), key, value), &claims()), Err(expected), what).await;
    }
    for (what, key, value) in [
        ("no typ", "typ", Value::Null),
        ("plain typ", "typ", json!("JWT")),
        ("long typ", "typ", json!("application/at+jwt")),
        ("no kid", "kid", Value::Null),
    ] {
        world.check(&world.key.sign(&with(header(), key, value), &claims()), Ok(()), what).await;
    }
    let stranger = SigningKey::ec();
    world.check(&stranger.sign(&header(), &claims()), Err(BadSignature), "our kid, another key").await;
    let unsigned = world.token(&claims());
    let unsigned = unsigned.rsplit_once('.').unwrap().0;
    world.check(&format!("{unsigned}."), Err(BadSignature), "no signature").await;
}

#[tokio::test]
async fn keys_never_come_from_the_token() {
    let world = World::new().await;
    let stranger = SigningKey::ec();
    world.web.says("https://evil.example.com/keys", 200, json!({ "keys": [stranger.public("evil")] }));
    let mut head = with(header(), "kid", json!("evil"));
    head["jku"] = json!("https://evil.example.com/keys");
    head["x5u"] = json!("https://evil.example.com/keys");
    head["jwk"] = stranger.public("evil");
    world.check(&stranger.sign(&head, &claims()), Err(Refused::UnknownKey), "its own key in the head").await;
    head["kid"] = json!("one");
    world.check(&stranger.sign(&head, &claims()), Err(Refused::BadSignature), "and a known kid").await;
    assert!(world.web.asked().iter().all(|question| !question.url.contains("evil")));
}

#[tokio::test]
async fn a_public_key_is_no_shared_secret() {
    let mut world = World::before_keys(|_| {});
    world.key = SigningKey::rsa();
    world.publish(&[world.key.public("one")]);
    world.fetch_keys(now()).await;
    let head = json!({ "alg": "RS256", "typ": "JWT", "kid": "one" });
    world.check(&world.key.sign(&head, &claims()), Ok(()), "good").await;
    // The key says which algorithm it is for.
    let other = json!({ "alg": "RS512", "typ": "JWT", "kid": "one" });
    world
        .check(&world.key.sign(&other, &claims()), Err(Refused::UnknownKey), "another algorithm of the key")
        .await;
    let SigningKey::Rsa(pair) = &world.key else { panic!("RSA") };
    let secrets = [pair.public_key().as_ref().to_vec(), world.key.public("one").to_string().into_bytes()];
    for secret in secrets {
        let head = json!({ "alg": "HS256", "typ": "JWT", "kid": "one" });
        let message = [head, claims()].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), message.as_bytes());
        let forged = format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag));
        world.check(&forged, Err(Refused::UnknownKey), "signed with the public key").await;
    }
    // Nor does a provider that publishes a shared secret make one.
    let secret = json!({ "kty": "oct", "kid": "shared", "k": URL_SAFE_NO_PAD.encode([7; 32]) });
    world.publish(&[secret]);
    world.fetch_keys(now()).await;
    let head = json!({ "alg": "HS256", "typ": "JWT", "kid": "shared" });
    let message = [head, claims()].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &[7; 32]), message.as_bytes());
    let token = format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag));
    world.check(&token, Err(Refused::UnknownKey), "a published secret").await;
}

#[tokio::test]
async fn wrong_claims_are_refused() {
    use Refused::{Expired, Malformed, MissingClaim, NotYet, WrongIssuer, WrongKind};
    let world = World::new().await;
    let seconds = now().as_seconds();
    let bodies = [
        ("another issuer", "iss", json!("https://evil.example.com"), WrongIssuer),
        ("a slash more", "iss", json!(format!("{ISSUER}/")), WrongIssuer),
        ("no issuer", "iss", Value::Null, Malformed),
        ("several issuers", "iss", json!([ISSUER]), Malformed),
        ("no audience", "aud", Value::Null, MissingClaim("aud")),
        ("no audience in the list", "aud", json!([]), MissingClaim("aud")),
        ("no subject", "sub", Value::Null, MissingClaim("sub")),
        ("an empty subject", "sub", json!(" "), MissingClaim("sub")),
        ("a subject that is a number", "sub", json!(7), MissingClaim("sub")),
        ("no end", "exp", Value::Null, MissingClaim("exp")),
        ("an end that is text", "exp", json!("soon"), MissingClaim("exp")),
        ("an end beyond all calendars", "exp", json!(1e300), MissingClaim("exp")),
        ("over", "exp", json!(seconds - 61), Expired),
        ("to come", "nbf", json!(seconds + 90), NotYet),
        ("issued in the future", "iat", json!(seconds + 90), NotYet),
        ("an ID token of Keycloak", "typ", json!("ID"), WrongKind),
        ("a refresh token of Keycloak", "typ", json!("Refresh"), WrongKind),
        ("bound to a key", "cnf", json!({ "jkt": "x" }), WrongKind),
    ];
    for (what, key, value, expected) in bodies {
        world.check(&world.token(&with(claims(), key, value)), Err(expected), what).await;
    }
    for (what, key, value) in [
        ("over, within the leeway", "exp", json!(seconds - 50)),
        ("to come, within the leeway", "nbf", json!(seconds + 50)),
        ("with a fraction", "exp", json!(seconds as f64 + 100.5)),
        ("a bearer token of Keycloak", "typ", json!("Bearer")),
    ] {
        world.check(&world.token(&with(claims(), key, value)), Ok(()), what).await;
    }
}

#[tokio::test]
async fn the_operator_pins_algorithms() {
    let world = World::with(|one| one.algorithms = vec![Algorithm::RS256]).await;
    world.check(&world.token(&claims()), Err(Refused::UnknownKey), "not one that is pinned").await;
}
