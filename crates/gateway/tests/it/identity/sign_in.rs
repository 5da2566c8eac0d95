//! People who sign in with a browser at their provider, and what is tried against them.

use super::browser::{Browser, location};
use super::*;

/// The cookie of a session.
const SESSION: &str = "switchyard-session";
/// The cookie of a sign-in under way.
const FLOW: &str = "switchyard-sign-in";

const SIGN_IN: &str = "admin_groups = [\"developers\"]\n[auth.providers.sign_in]\nname = \"Example\"\n\
    client_id = \"site\"\nclient_secret = \"site-secret\"";

/// Headers of a request.
type Headers<'a> = &'a [(&'a str, &'a str)];

impl Stage {
    async fn for_people() -> Option<Self> {
        let stage = Self::configured(SIGN_IN).await?;
        stage.provider.set(json!({ "site": stage.app.url })).await;
        Some(stage)
    }

    async fn signed_in(&self) -> (Browser, Value) {
        let mut browser = Browser::default();
        let me = browser.follow(&self.at("/login?next=/api/me")).await.expect(200);
        (browser, me)
    }

    fn key(&self, name: &str) -> (String, String) {
        (self.app.authority().to_owned(), name.to_owned())
    }

    async fn is_signed_in(&self, browser: &mut Browser) -> bool {
        browser.open(&self.at("/api/me")).await.status == 200
    }
}

#[tokio::test]
async fn people_sign_in_and_call_the_api_with_a_cookie() {
    let Some(stage) = Stage::for_people().await else { return };
    let mut browser = Browser::default();
    let first = browser.open(&stage.at("/login?next=/api/me")).await;
    let cookie = first.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("; HttpOnly; SameSite=Lax; Max-Age=600"), "{cookie}");
    let (mut browser, me) = stage.signed_in().await;
    assert_eq!((&me["subject"], &me["issuer"]), (&json!("alice"), &json!(stage.provider.issuer)));
    assert_eq!((&me["groups"], &me["admin"]), (&json!(["developers"]), &json!(true)), "{me}");
    assert_eq!(me["scopes"], json!(["mcp-access"]), "what the group grants");
    assert!(!browser.cookies.contains_key(&stage.key(FLOW)), "used up");
    browser.open(&stage.at("/api/servers")).await.expect(200);
    let page = browser.open(&stage.at("/login")).await;
    assert!(page.text.contains("signed in as <strong>alice</strong>"), "{}", page.text);
    let endpoint = stage.at("/virtual/dev-tools");
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let greeting = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let refused = browser.send("POST", &endpoint, &headers, greeting).await;
    assert_eq!(refused.status, 401, "cookies open no endpoint");
    let audit = stage.app.admin().get("/api/audit?action=session").await.expect(200);
    assert_eq!(audit["entries"][0]["action"], "session.begin");
    assert_eq!(audit["entries"][0]["actor"], "alice");
    for secret in
        ["site-secret", browser.cookies[&stage.key(SESSION)].as_str(), me["csrf_token"].as_str().unwrap()]
    {
        assert!(!stage.app.log().contains(secret), "in the log");
    }
}

#[tokio::test]
async fn a_write_by_cookie_must_come_from_our_own_page() {
    let Some(stage) = Stage::for_people().await else { return };
    let (mut browser, me) = stage.signed_in().await;
    let (own, proof) = (stage.app.url.as_str(), me["csrf_token"].as_str().unwrap());
    let evil = "https://evil.example.com";
    let tries: [(&str, Headers<'_>, u16); 8] = [
        ("nothing", &[], 403),
        ("no proof", &[("origin", own)], 403),
        ("a wrong proof", &[("origin", own), ("x-csrf-token", "guessed")], 403),
        ("no origin", &[("x-csrf-token", proof)], 403),
        ("another origin", &[("origin", evil), ("x-csrf-token", proof)], 403),
        ("a hidden origin", &[("origin", "null"), ("x-csrf-token", proof)], 403),
        ("cross-site", &[("sec-fetch-site", "cross-site"), ("x-csrf-token", proof)], 403),
        ("our own page", &[("origin", own), ("sec-fetch-site", "same-origin"), ("x-csrf-token", proof)], 201),
    ];
    for (what, headers, expected) in tries {
        let headers: Vec<_> = headers.iter().copied().chain([("content-type", "application/json")]).collect();
        let answer = browser.send("POST", &stage.at("/api/groups"), &headers, r#"{"name":"made"}"#).await;
        assert_eq!(answer.status, expected, "{what}: {}", answer.text);
    }
    let (_, other) = stage.signed_in().await;
    let of_another = [("origin", own), ("x-csrf-token", other["csrf_token"].as_str().unwrap())];
    let answer = browser.send("DELETE", &stage.at("/api/groups/made"), &of_another, "").await;
    assert_eq!(answer.status, 403, "another session's proof");
}

#[tokio::test]
async fn signing_out_ends_a_stolen_cookie_too() {
    let Some(mut stage) = Stage::for_people().await else { return };
    let (mut browser, me) = stage.signed_in().await;
    let mut thief = browser.clone();
    assert!(stage.is_signed_in(&mut thief).await);
    let form = format!("csrf_token={}", me["csrf_token"].as_str().unwrap());
    let (leave, own) = (stage.at("/logout"), stage.app.url.clone());
    for (from, form) in [
        ("https://evil.example.com", form.as_str()),
        (own.as_str(), "csrf_token=guessed"),
        (own.as_str(), ""),
    ] {
        assert_eq!(browser.post(&leave, from, form).await.status, 403, "{from} {form}");
    }
    assert!(stage.is_signed_in(&mut browser).await, "nobody else signs one out");
    assert_eq!(browser.open(&leave).await.status, 405, "nor does a link");
    let left = browser.post(&leave, &own, &form).await;
    let to = location(&left).unwrap();
    assert!(to.starts_with(&format!("{}/session/end?client_id=site&", stage.provider.issuer)), "{to}");
    assert_eq!(browser.open(&to).await.status, 200, "the provider knows where to send one back");
    assert!(!stage.is_signed_in(&mut thief).await, "the stolen cookie is of no more use");
    let key = stage.key(SESSION);
    stage.app.restart().await;
    let stolen = thief.cookies.remove(&key).unwrap();
    thief.cookies.insert(stage.key(SESSION), stolen);
    assert!(!stage.is_signed_in(&mut thief).await, "nor after a restart");
}

#[tokio::test]
async fn a_session_outlives_a_restart_and_an_administrator_ends_it() {
    let Some(mut stage) = Stage::for_people().await else { return };
    let (mut browser, _) = stage.signed_in().await;
    let cookie = browser.cookies.remove(&stage.key(SESSION)).unwrap();
    stage.app.restart().await;
    browser.cookies.insert(stage.key(SESSION), cookie.clone());
    assert!(stage.is_signed_in(&mut browser).await);
    for at in [0, 10, cookie.len() / 2, cookie.len() - 1] {
        let mut changed = cookie.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        browser.cookies.insert(stage.key(SESSION), String::from_utf8(changed).unwrap());
        assert!(!stage.is_signed_in(&mut browser).await, "changed at {at}");
    }
    browser.cookies.insert(stage.key(SESSION), cookie);
    let listed = stage.app.admin().get("/api/tokens?limit=1000").await.expect(200);
    let session = listed["tokens"].as_array().unwrap().iter().find(|one| one["subject"] == "alice").unwrap();
    let revoke = format!("DELETE /api/tokens/{}", session["id"].as_str().unwrap());
    assert!(stage.app.admin().send(&revoke, Value::Null).await.status.is_success());
    assert!(!stage.is_signed_in(&mut browser).await, "ended for the next request");
}

#[tokio::test]
async fn a_callback_is_taken_once_and_only_from_the_browser_that_began() {
    let Some(stage) = Stage::for_people().await else { return };
    let mut browser = Browser::default();
    // Up to the callback, and no further.
    let mut url = stage.at("/login");
    while !url.contains("/login/callback") {
        let answer = browser.open(&url).await;
        url = url::Url::parse(&url).unwrap().join(&location(&answer).unwrap()).unwrap().into();
    }
    let (before, callback) = (browser.clone(), url);
    let stranger = Browser::default().open(&callback).await;
    assert_eq!(stranger.status, 400, "another browser: {}", stranger.text);
    let (start, state) = callback.split_once("state=").unwrap();
    let forged = format!("{start}state={}{}", "0".repeat(64), &state[64..]);
    let mut victim = before.clone();
    assert_eq!(victim.open(&forged).await.status, 400, "another state");
    let mut mixed_up = before.clone();
    let other_issuer = callback.replace("iss=http", "iss=https");
    assert_ne!(other_issuer, callback);
    assert_eq!(mixed_up.open(&other_issuer).await.status, 400, "another issuer");
    let mut flow_changed = before.clone();
    flow_changed.cookies.insert(stage.key(FLOW), "AAAA".repeat(40));
    assert_eq!(flow_changed.open(&callback).await.status, 400, "a made-up sign-in");
    assert_eq!(browser.open(&callback).await.status, 303);
    assert!(stage.is_signed_in(&mut browser).await);
    assert_eq!(browser.open(&callback).await.status, 400, "again");
    let mut replayed = before.clone();
    assert_eq!(replayed.open(&callback).await.status, 400, "again, with the cookie it had then");
    assert!(!stage.is_signed_in(&mut replayed).await);
}

#[tokio::test]
async fn a_sign_in_leads_to_no_other_host() {
    let Some(stage) = Stage::for_people().await else { return };
    for next in [
        "//evil.example.com",
        "/%5Cevil.example.com",
        "https%3A%2F%2Fevil.example.com",
        "/%09/evil.example.com",
    ] {
        let mut browser = Browser::default();
        let page = browser.follow(&stage.at(&format!("/login?next={next}"))).await;
        assert!(page.text.contains("signed in as"), "{next}: {}", page.text);
        assert!(
            !browser.been_at.iter().any(|at| at.starts_with("http://evil")),
            "{next}: {:?}",
            browser.been_at
        );
    }
}

#[tokio::test]
async fn of_several_providers_people_choose_one() {
    let Some(provider) = Provider::start().await else { return };
    let toml = format!(
        "[[auth.providers]]\nissuer = \"{}\"\n{SIGN_IN}\n[[auth.providers]]\nissuer = \"http://127.0.0.1:9\"\n\
         [auth.providers.sign_in]\nname = \"<Other>\"\nclient_id = \"x\"",
        provider.issuer
    );
    let stage = Stage::between(provider, &toml).await;
    stage.provider.set(json!({ "site": stage.app.url })).await;
    let mut browser = Browser::default();
    let page = browser.open(&stage.at("/login?next=/api/me")).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("Sign in with Example") && page.text.contains("Sign in with &lt;Other&gt;"));
    let away = browser.open(&stage.at("/login?provider=http://127.0.0.1:9")).await;
    assert_eq!(away.status, 503, "one that is away: {}", away.text);
    assert_eq!(browser.open(&stage.at("/login?provider=https://evil.example.com")).await.status, 404);
    let link = page.text.split("href=\"").find(|part| part.starts_with("/login?provider")).unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let me = browser.follow(&stage.at(&link)).await.expect(200);
    assert_eq!(me["subject"], "alice");
}
