//! Good tokens, and a table of forgeries.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use catalog::token::IssuedToken;
use jsonwebtoken::{EncodingKey, Header};
use proptest::prelude::*;
use serde_json::{Value, json};

use catalog::access::Scope;
use jsonwebtoken::Algorithm;

use super::*;
use crate::altered::with;
use crate::claims::{ISSUER, TOKEN_TYPE, signing_key};
use crate::issue::Issuer;

const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn root() -> RootKey {
    RootKey::from_hex(&"0f".repeat(32)).unwrap()
}

fn token() -> IssuedToken {
    IssuedToken {
        id: "0123456789abcdef".into(),
        subject: "alice".into(),
        description: "for the tests".into(),
        groups: vec!["developers".into()],
        scopes: ["github-read", "github-write"].map(|s| Scope::parse("", s).unwrap()).to_vec(),
        is_admin: false,
        resource: Some("/virtual/dev-tools".into()),
        subject_issuer: None,
        created_by: "admin".into(),
        made_with: None,
        created_at: NOW,
        expires_at: NOW.plus_seconds(60),
        revoked_at: None,
    }
}

/// Signs any header and claims with our own key: what a leaked `sign` call or an older version could have made.
fn signed(header: Value, claims: Value) -> String {
    let message = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let key = EncodingKey::from_secret(&signing_key(&root()).0).unwrap();
    format!("{message}.{}", jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap())
}

fn header() -> Value {
    json!({ "alg": "HS256", "typ": TOKEN_TYPE, "kid": signing_key(&root()).1 })
}

fn claims() -> Value {
    let exp = NOW.as_seconds() + 60;
    json!({ "iss": ISSUER, "aud": ISSUER, "sub": "alice", "jti": "1", "iat": 0, "exp": exp })
}

fn check(bearer: &str, expected: Refused, what: &str) {
    assert_eq!(Authenticator::new(&root()).authenticate(bearer, NOW), Err(expected), "{what}: {bearer}");
}

#[test]
fn an_issued_token_stands_for_what_its_record_says() {
    let principal =
        Authenticator::new(&root()).authenticate(&Issuer::new(&root()).sign(&token()), NOW).unwrap();
    assert_eq!(&*principal.subject, "alice");
    assert_eq!(principal.groups, ["developers"]);
    assert_eq!(principal.scopes, token().scopes);
    assert_eq!(principal.token.as_deref(), Some("0123456789abcdef"));
    assert_eq!(principal.resource.as_deref(), Some("/virtual/dev-tools"));
    assert_eq!(principal.expires_at, Some(NOW.plus_seconds(60)));
    assert!(!principal.is_admin);
    assert!(principal.issuer.is_empty());
}

#[test]
fn an_administrators_token_without_scopes_is_read_too() {
    let admin = IssuedToken { is_admin: true, scopes: vec![], groups: vec![], resource: None, ..token() };
    let principal =
        Authenticator::new(&root()).authenticate(&Issuer::new(&root()).sign(&admin), NOW).unwrap();
    assert!(principal.is_admin && principal.scopes.is_empty() && principal.resource.is_none());
}

#[test]
fn the_given_clock_ends_a_token_even_when_it_was_verified_before() {
    let authenticator = Authenticator::new(&root());
    let bearer = Issuer::new(&root()).sign(&token());
    let at = |seconds| authenticator.authenticate(&bearer, NOW.plus_seconds(seconds)).map(|_| ());
    assert_eq!(at(0), Ok(()));
    assert_eq!(at(59), Ok(()));
    assert_eq!(at(60), Err(Refused::Expired));
    assert_eq!(at(59), Ok(()));
    assert_eq!(
        Authenticator::new(&root()).authenticate(&bearer, NOW.plus_seconds(60)),
        Err(Refused::Expired)
    );
}

#[test]
fn a_verified_token_is_answered_from_memory() {
    let authenticator = Authenticator::new(&root());
    let bearer = Issuer::new(&root()).sign(&token());
    let [one, two] = [(), ()].map(|()| authenticator.authenticate(&bearer, NOW).unwrap());
    assert!(Arc::ptr_eq(&one, &two));
}

#[test]
fn forgeries_are_refused() {
    use Refused::{BadSignature, Malformed, UnknownKey, WrongIssuer};
    assert!(Authenticator::new(&root()).authenticate(&signed(header(), claims()), NOW).is_ok());

    let headers = [
        ("alg none", "alg", json!("none"), Malformed),
        ("alg None", "alg", json!("None"), Malformed),
        ("alg in lower case", "alg", json!("hs256"), Malformed),
        ("no alg", "alg", Value::Null, Malformed),
        ("alg HS384", "alg", json!("HS384"), UnknownKey),
        ("alg HS512", "alg", json!("HS512"), UnknownKey),
        ("alg RS256", "alg", json!("RS256"), UnknownKey),
        ("alg ES256", "alg", json!("ES256"), UnknownKey),
        ("no kid", "kid", Value::Null, UnknownKey),
        ("another kid", "kid", json!("0011223344556677"), UnknownKey),
        ("a kid that is a path", "kid", json!("../../dev/null"), UnknownKey),
        ("no typ", "typ", Value::Null, Malformed),
        ("another typ", "typ", json!("JWT"), Malformed),
        ("a critical extension", "crit", json!(["b64"]), Malformed),
    ];
    for (what, key, value, expected) in headers {
        check(&signed(with(header(), key, value), claims()), expected, what);
    }

    let bodies = [
        ("no exp", "exp", Value::Null, Malformed),
        ("exp as text", "exp", json!("2000000000"), Malformed),
        ("exp with a fraction", "exp", json!(1_900_000_000.5), Malformed),
        ("exp beyond numbers", "exp", json!(1e300), Malformed),
        ("exp passed", "exp", json!(NOW.as_seconds()), Refused::Expired),
        ("exp negative", "exp", json!(-1), Malformed),
        ("no iss", "iss", Value::Null, Malformed),
        ("another iss", "iss", json!("https://issuer.example"), WrongIssuer),
        ("no aud", "aud", Value::Null, Malformed),
        ("another aud", "aud", json!("elsewhere"), WrongIssuer),
        ("no sub", "sub", Value::Null, Malformed),
        ("empty sub", "sub", json!(""), Malformed),
        ("no jti", "jti", Value::Null, Malformed),
        ("admin as text", "admin", json!("true"), Malformed),
        ("admin as a number", "admin", json!(1), Malformed),
        ("a scope with a quote", "scope", json!("a \"b\""), Malformed),
        ("scopes as a list", "scope", json!(["a"]), Malformed),
        ("groups as text", "groups", json!("admins"), Malformed),
    ];
    for (what, key, value, expected) in bodies {
        check(&signed(header(), with(claims(), key, value)), expected, what);
    }

    let good = signed(header(), claims());
    let parts: Vec<&str> = good.split('.').collect();
    let [head, body, signature] = parts[..] else { panic!("three parts") };
    let raised = URL_SAFE_NO_PAD.encode(with(claims(), "admin", json!(true)).to_string());
    let doubled = URL_SAFE_NO_PAD.encode(r#"{"admin":false,"admin":true}"#);
    let texts = [
        ("empty", String::new(), Malformed),
        ("words", "let me in".into(), Malformed),
        ("dots", "..".into(), Malformed),
        ("two parts", format!("{head}.{body}"), Malformed),
        ("four parts", format!("{good}.{signature}"), Malformed),
        ("no signature", format!("{head}.{body}."), BadSignature),
        ("half a signature", format!("{head}.{body}.{}", &signature[..20]), BadSignature),
        ("another body", format!("{head}.{raised}.{signature}"), BadSignature),
        ("a doubled claim", format!("{head}.{doubled}.{signature}"), BadSignature),
        ("padded signature", format!("{good}="), Malformed),
        ("padded header", format!("{head}=.{body}.{signature}"), Malformed),
        ("a newline behind", format!("{good}\n"), Malformed),
        ("a blank before", format!(" {good}"), Malformed),
        ("plain base64", format!("{head}.{body}.{}+/", &signature[..signature.len() - 2]), Malformed),
        ("too long", format!("{head}.{}.{signature}", "A".repeat(MAX_TOKEN_BYTES)), Malformed),
    ];
    for (what, text, expected) in texts {
        check(&text, expected, what);
    }

    let other = RootKey::from_hex(&"0e".repeat(32)).unwrap();
    check(&Issuer::new(&other).sign(&token()), UnknownKey, "another installation");
    let mut ours = Header::new(Algorithm::HS256);
    (ours.typ, ours.kid) = (Some(TOKEN_TYPE.into()), Some(signing_key(&root()).1));
    let forged =
        jsonwebtoken::encode(&ours, &claims(), &EncodingKey::from_secret(b"guess").unwrap()).unwrap();
    check(&forged, BadSignature, "our kid, another key");
}

#[test]
fn the_unused_bits_of_the_last_digit_have_one_spelling() {
    let good = signed(header(), claims());
    let (start, last) = good.split_at(good.len() - 1);
    // 32 bytes end with a digit of which two bits are unused.
    for digit in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".chars() {
        let spelt = format!("{start}{digit}");
        let result = Authenticator::new(&root()).authenticate(&spelt, NOW);
        assert_eq!(result.is_ok(), last.contains(digit), "{digit} for {last}");
    }
}

proptest! {
    #[test]
    fn any_altered_digit_is_refused(at: prop::sample::Index, digit in "[A-Za-z0-9_.=-]") {
        let good = Issuer::new(&root()).sign(&token());
        let at = at.index(good.len());
        let altered = format!("{}{digit}{}", &good[..at], &good[at + 1..]);
        prop_assume!(altered != good);
        prop_assert!(Authenticator::new(&root()).authenticate(&altered, NOW).is_err());
    }

    #[test]
    fn no_text_makes_it_panic(text: String) {
        prop_assert!(Authenticator::new(&root()).authenticate(&text, NOW).is_err());
    }
}

#[test]
fn the_last_use_of_our_tokens_is_remembered() {
    let (issuer, authenticator) = (Issuer::new(&root()), Authenticator::new(&root()));
    assert!(authenticator.last_uses().is_empty());
    let record = token();
    let text = issuer.sign(&record);
    for seconds in [0, 30] {
        authenticator.authenticate(&text, NOW.plus_seconds(seconds)).unwrap();
    }
    assert_eq!(authenticator.last_uses(), [(record.id.clone(), NOW.plus_seconds(30))]);
    // Within a second it is the same use.
    authenticator.authenticate(&text, Timestamp(NOW.plus_seconds(30).0 + 999)).unwrap();
    assert_eq!(authenticator.last_uses(), [(record.id, NOW.plus_seconds(30))]);
}

#[test]
fn who_vouches_for_the_subject_is_read_back() {
    let (issuer, authenticator) = (Issuer::new(&root()), Authenticator::new(&root()));
    let record = IssuedToken { subject_issuer: Some("https://idp.example".into()), ..token() };
    let principal = authenticator.authenticate(&issuer.sign(&record), NOW).unwrap();
    assert_eq!((&*principal.issuer, &principal.token), ("https://idp.example", &Some(record.id)));
}
