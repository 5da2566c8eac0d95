//! Names and origins, with and without TLS in front.

use super::*;

fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
    all.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

fn behind(url: Option<&str>) -> Settings {
    Settings { public_url: url.map(Into::into), ..Settings::default() }
}

#[test]
fn over_tls_cookies_belong_to_one_host_alone() {
    let (tls, plain) = (behind(Some("https://mcp.example.com")), behind(None));
    let set = Name::Session.set(&tls, "v", 60);
    assert_eq!(set, "__Host-switchyard-session=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure");
    let set = Name::Session.set(&plain, "v", 60);
    assert_eq!(set, "switchyard-session=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=60");
    let sent =
        headers(&[("cookie", "a=b; switchyard-session=x=y;c"), ("cookie", "__Host-switchyard-session=z")]);
    assert_eq!(Name::Session.read(&plain, &sent).collect::<Vec<_>>(), ["x=y"]);
    assert_eq!(Name::Session.read(&tls, &sent).collect::<Vec<_>>(), ["z"]);
    assert_eq!(Name::Flow.read(&plain, &sent).count(), 0);
}

#[test]
fn only_our_own_pages_are_heard() {
    let (public, local) = (behind(Some("https://mcp.example.com/gateway")), behind(None));
    let own = [("host", "127.0.0.1:8080"), ("origin", "http://127.0.0.1:8080")];
    assert!(check_origin(&headers(&own), &local).is_ok());
    assert!(check_origin(&headers(&own), &public).is_err(), "not the public one");
    assert!(check_origin(&headers(&[("origin", "https://mcp.example.com")]), &public).is_ok());
    assert!(check_origin(&headers(&[("sec-fetch-site", "same-origin")]), &local).is_ok());
    let wrong: [&[(&'static str, &str)]; 7] = [
        &[],
        &[("host", "127.0.0.1:8080")],
        &[("host", "127.0.0.1:8080"), ("origin", "http://127.0.0.1:9090")],
        &[("host", "127.0.0.1:8080"), ("origin", "null")],
        &[("host", "127.0.0.1:8080"), ("origin", "http://127.0.0.1:8080"), ("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "none")],
    ];
    for sent in wrong {
        assert!(check_origin(&headers(sent), &local).is_err(), "{sent:?}");
    }
}
