//! Hosts, origins, credentials and scopes.

use auth::{Issuer, RootKey};
use catalog::Catalog;
use catalog::token::IssuedToken;

use super::*;
use crate::stage;

#[test]
fn only_names_of_ours_are_served() {
    let check = |host: Option<&str>, origin: Option<&str>, is_served: bool| {
        let host_value = host.map(|host| HeaderValue::from_bytes(host.as_bytes()).unwrap());
        let pairs: Vec<_> = origin.map(|origin| ("origin", origin)).into_iter().collect();
        let checked = check_host(host_value.as_ref(), &stage::headers(&pairs), &stage::settings());
        assert_eq!(checked.is_ok(), is_served, "{host:?} {origin:?}");
    };
    for host in ["localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8080"] {
        check(Some(host), None, true);
    }
    for host in ["mcp.example.com", "mcp.example.com:443", "MCP.example.COM"] {
        check(Some(host), None, true);
    }
    for host in [
        "",
        ":8080",
        "evil.example.com",
        "mcp.example.com.evil.org",
        "localhost.evil.org",
        "127.0.0.2",
        "[::2]:1",
        "::1",
        "[::1",
        "localhost@evil.org",
        "evil.org:localhost",
        "127.0.0.1:1@evil.org",
        "127.0.0.1:evil",
        "127.0.0.1:",
        "127.0.0.1:1\",x=\"y",
        "[::1].evil.org",
        "[::1]evil",
        "gr\u{fc}n",
    ] {
        check(Some(host), None, false);
    }
    check(None, None, false);
    for origin in [
        "http://localhost:3000",
        "http://127.0.0.1",
        "https://[::1]:5173",
        "https://app.example.com",
        "HTTPS://App.Example.com",
        "https://mcp.example.com",
        "https://mcp.example.com:8443",
    ] {
        check(Some("mcp.example.com"), Some(origin), true);
    }
    for origin in [
        "null",
        "",
        "localhost",
        "https://app.example.com:444",
        "http://app.example.com",
        "https://evil.org",
        "https://localhost.evil.org",
        "https://mcp.example.com.evil.org",
        "file://",
        "gr\u{fc}n",
    ] {
        check(Some("mcp.example.com"), Some(origin), false);
    }
    // One of two origins may not hide behind the other.
    let two = stage::headers(&[("origin", "http://localhost"), ("origin", "https://evil.org")]);
    let host = HeaderValue::from_static("localhost");
    assert!(check_host(Some(&host), &two, &stage::settings()).is_err());
}

#[test]
fn a_star_allows_every_host_but_no_strange_origin_of_pages() {
    let settings = Settings { allowed_hosts: vec!["*".into()], ..stage::settings() };
    let host = HeaderValue::from_static("anything.example.org:9");
    assert!(check_host(Some(&host), &HeaderMap::new(), &settings).is_ok());
    assert!(check_host(Some(&host), &stage::headers(&[("origin", "null")]), &settings).is_err());
    let own = stage::headers(&[("origin", "http://anything.example.org:9")]);
    assert!(check_host(Some(&host), &own, &settings).is_ok());
}

#[test]
fn the_host_is_the_authority_where_there_is_one() {
    let host = |request: http::request::Builder| {
        let (parts, ()) = request.body(()).unwrap().into_parts();
        host(&parts.uri, &parts.headers).map(|host| host.to_str().unwrap().to_owned())
    };
    let request = http::Request::builder;
    assert_eq!(host(request().uri("/a").header("host", "one:1")).as_deref(), Some("one:1"));
    assert_eq!(host(request().uri("http://two:2/a").header("host", "one:1")).as_deref(), Some("two:2"));
    assert_eq!(host(request().uri("/a")), None);
}

fn token(subject: &str) -> IssuedToken {
    let now = Timestamp::now();
    IssuedToken {
        id: Issuer::new_id(),
        subject: subject.into(),
        description: String::new(),
        groups: Vec::new(),
        scopes: Vec::new(),
        is_admin: false,
        resource: None,
        subject_issuer: None,
        created_by: "admin".into(),
        made_with: None,
        created_at: now,
        expires_at: now.plus_seconds(600),
        revoked_at: None,
    }
}

#[tokio::test]
async fn a_caller_shows_one_good_token_or_comes_where_none_is_needed() {
    let mut catalog = Catalog::default();
    let revoked = IssuedToken { revoked_at: Some(Timestamp(1)), ..token("ann") };
    Arc::make_mut(&mut catalog.tokens).insert(revoked.id.clone(), Arc::new(revoked.clone()));
    let table = stage::table(&catalog);
    let settings = Settings { anonymous: vec!["/open".into()], ..stage::settings() };
    let shared = stage::plane_with(&catalog, stage::Memory::default(), settings).shared;
    let issuer = Issuer::new(&RootKey::from_hex(&"5e".repeat(32)).unwrap());
    let check = async |pairs: &[(&'static str, &str)], path: &str, expected: Result<&str, &str>| {
        let admitted = caller(&stage::headers(pairs), None, path, &table, &shared).await;
        let admitted = admitted.map(|principal| principal.subject.to_string());
        let admitted = admitted.map_err(|error| error.to_string());
        assert_eq!(admitted, expected.map(str::to_owned).map_err(str::to_owned), "{pairs:?} {path}");
    };
    let needed = "a bearer token is needed: Authorization: Bearer <token>";
    check(&[], "/a", Err(needed)).await;
    check(&[], "/open", Ok("anonymous")).await;
    check(&[], "/open/b", Err(needed)).await;
    let good = issuer.sign(&token("ann"));
    for scheme in ["Bearer ", "bearer ", "BEARER   "] {
        check(&[("authorization", &format!("{scheme}{good}"))], "/a", Ok("ann")).await;
    }
    check(&[("authorization", &format!("Bearer {good}"))], "/open", Ok("ann")).await;
    for form in [&good, "Basic YTpi", "Bearer", ""] {
        let form_needed = "Authorization is not of the form: Bearer <token>";
        check(&[("authorization", form)], "/open", Err(form_needed)).await;
    }
    let invalid = "the token is not valid, or no longer";
    check(&[("authorization", "Bearer x")], "/open", Err(invalid)).await;
    check(&[("authorization", &format!("Bearer {good}x"))], "/a", Err(invalid)).await;
    let old = issuer.sign(&IssuedToken { expires_at: Timestamp::now().plus_seconds(-600), ..token("ann") });
    check(&[("authorization", &format!("Bearer {old}"))], "/a", Err(invalid)).await;
    let twice = format!("Bearer {good}");
    check(&[("authorization", &twice), ("authorization", &twice)], "/a", Err("Authorization was sent twice"))
        .await;
    check(
        &[("authorization", &format!("Bearer {}", issuer.sign(&revoked)))],
        "/a",
        Err("the token was revoked"),
    )
    .await;
    let bound = issuer.sign(&IssuedToken { resource: Some("/a".into()), ..token("bob") });
    check(&[("authorization", &format!("Bearer {bound}"))], "/a", Ok("bob")).await;
    for other in ["/b", "/a/b", "/open"] {
        let bound = format!("Bearer {bound}");
        check(&[("authorization", &bound)], other, Err("the token is for another endpoint")).await;
    }
}

#[test]
fn a_refusal_names_every_scope_that_is_needed() {
    let table = stage::table(&Catalog::default());
    let scopes = |names: &[&str]| names.iter().map(|name| stage::scope(name)).collect::<Vec<_>>();
    let check = |held: &[&str], endpoint: &[&str], tool: &[&str], expected: Option<(&str, &[&str])>| {
        let principal = Principal { scopes: scopes(held), ..stage::caller("ann") };
        let refused = may(&table, &principal, &scopes(endpoint), &scopes(tool)).err();
        let refused = refused.map(|error| match error {
            Error::MissingScope { missing, needed } => (missing, needed),
            other => panic!("{other}"),
        });
        let expected = expected.map(|(missing, needed)| (stage::scope(missing), scopes(needed)));
        assert_eq!(refused, expected, "{held:?}");
    };
    check(&[], &[], &[], None);
    check(&["enter", "write"], &["enter"], &["write"], None);
    check(&[], &["enter"], &["write", "enter"], Some(("enter", &["enter", "write"])));
    check(&["enter"], &["enter"], &["write", "admin"], Some(("write", &["enter", "write", "admin"])));
    check(&["write"], &["enter"], &["write"], Some(("enter", &["enter", "write"])));
}

#[test]
fn an_audience_is_an_endpoints_url_under_a_name_of_ours() {
    let check = |settings: &Settings, host: &str, audience: &str, expected: bool| {
        let host = HeaderValue::from_str(host).unwrap();
        assert_eq!(
            is_endpoint(audience, Some(&host), "/virtual/dev", settings),
            expected,
            "{host:?} {audience}"
        );
    };
    let local = stage::settings();
    check(&local, "127.0.0.1:8080", "http://127.0.0.1:8080/virtual/dev", true);
    for other in ["/virtual/dev/", "/virtual/dev/mcp", "/virtual/dev2", "/virtual", "", "/virtual/dev?x"] {
        check(&local, "127.0.0.1:8080", &format!("http://127.0.0.1:8080{other}"), false);
    }
    check(&local, "127.0.0.1:8080", "http://127.0.0.1:80801/virtual/dev", false);
    check(&local, "127.0.0.1:8080", "https://127.0.0.1:8080/virtual/dev", false);
    check(&local, "127.0.0.1:8080", "/virtual/dev", false);
    let any = Settings { allowed_hosts: vec!["*".into(), "mcp.internal".into()], ..stage::settings() };
    check(&any, "mcp.internal", "http://mcp.internal/virtual/dev", true);
    // A token that its holder was shown for another service, which it says we are.
    check(&any, "evil.example.com", "http://evil.example.com/virtual/dev", false);
    let behind = Settings { path_prefix: "/gw".into(), ..stage::settings() };
    check(&behind, "localhost", "http://localhost/gw/virtual/dev", true);
    check(&behind, "localhost", "http://localhost/virtual/dev", false);
    let public = Settings { public_url: Some("https://mcp.example.com/gw".into()), ..stage::settings() };
    check(&public, "127.0.0.1", "https://mcp.example.com/gw/virtual/dev", true);
    check(&public, "127.0.0.1", "http://127.0.0.1/virtual/dev", false);
}
