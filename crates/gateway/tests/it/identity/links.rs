//! Signing in with a browser where there is no provider: by the link of the first start, and with a token.

use super::browser::{Browser, location};
use super::*;

fn link(line: &str) -> String {
    line[line.find("http://").unwrap_or_else(|| panic!("no link in {line:?}"))..].trim().to_owned()
}

#[tokio::test]
async fn the_first_start_gives_a_link_that_signs_in_once() {
    let mut app = App::start().await;
    let link = link(&app.next_line().await);
    assert!(link.starts_with(&format!("{}/login?once=", app.url)), "{link}");
    let secret = link.rsplit_once('=').unwrap().1.to_owned();
    let mut wrong = Browser::default();
    assert_eq!(wrong.open(&format!("{}/login?once={}", app.url, "0".repeat(64))).await.status, 403);
    let mut browser = Browser::default();
    let page = browser.follow(&link).await;
    assert!(page.text.contains("signed in as <strong>admin</strong>"), "{}", page.text);
    assert_eq!(page.headers["referrer-policy"], "same-origin");
    assert!(page.headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
    let me = browser.open(&format!("{}/api/me", app.url)).await.expect(200);
    assert_eq!((&me["admin"], &me["issuer"]), (&json!(true), &Value::Null));
    let again = Browser::default().open(&link).await;
    assert_eq!(again.status, 403, "{}", again.text);
    let listed = app.admin().get("/api/tokens").await.expect(200).to_string();
    assert!(!listed.contains(&secret) && !app.log().contains(&secret), "only its hash is kept");
    app.restart().await;
    app.terminate();
    assert_eq!(app.next_line().await, "", "no link at later starts");
}

#[tokio::test]
async fn a_link_not_used_is_good_after_a_restart() {
    let mut app = App::start().await;
    let secret = link(&app.next_line().await).rsplit_once('=').unwrap().1.to_owned();
    app.crash().await;
    let next = "/api/me";
    let mut browser = Browser::default();
    let me = browser.follow(&format!("{}/login?once={secret}&next={next}", app.url)).await.expect(200);
    assert_eq!(me["subject"], "admin");
}

#[tokio::test]
async fn where_people_sign_in_elsewhere_there_is_no_link() {
    let toml =
        "[[auth.providers]]\nissuer = \"http://127.0.0.1:9\"\n[auth.providers.sign_in]\nclient_id = \"x\"";
    let mut app = App::configured(toml).await;
    app.terminate();
    assert_eq!(app.next_line().await, "");
}

#[tokio::test]
async fn a_token_signs_in_and_its_revocation_ends_the_session() {
    let app = App::start().await;
    let body = json!({ "subject": "bob", "expires_in": 3600 });
    let issued = app.admin().send("POST /api/tokens", body).await.expect(201);
    let (login, me) = (format!("{}/login", app.url), format!("{}/api/me", app.url));
    let form = format!("token={}&next=//evil.example.com", issued["token"].as_str().unwrap());
    let mut browser = Browser::default();
    assert_eq!(browser.post(&login, "https://evil.example.com", &form).await.status, 403, "another's page");
    assert_eq!(browser.post(&login, &app.url, "token=made-up").await.status, 401);
    assert!(browser.cookies.is_empty());
    let signed_in = browser.post(&login, &app.url, &form).await;
    assert_eq!(location(&signed_in).unwrap(), "/login");
    assert_eq!(browser.open(&me).await.expect(200)["subject"], "bob");
    let id = issued["id"].as_str().or(issued["token_id"].as_str()).unwrap();
    app.admin().send(&format!("DELETE /api/tokens/{id}"), Value::Null).await;
    assert_eq!(browser.open(&me).await.status, 401, "it ends with the token");
    let bound = json!({ "subject": "bob", "resource": "/github" });
    let bound = app.admin().send("POST /api/tokens", bound).await.expect(201);
    let form = format!("token={}", bound["token"].as_str().unwrap());
    assert_eq!(Browser::default().post(&login, &app.url, &form).await.status, 401, "a token of one endpoint");
}
