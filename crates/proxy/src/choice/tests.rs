//! The table of `X-MCP-Server-Version` in and out of sessions.

use std::sync::Arc;

use catalog::Catalog;
use http::HeaderMap;
use routing::target::ServerTarget;

use super::{choose, of_session};
use crate::error::Error;
use crate::opaque::{DirectSession, Unwrapped};
use crate::stage;

fn server(labels: &[&str]) -> Arc<ServerTarget> {
    let mut catalog = Catalog::default();
    stage::add_server(&mut catalog, "/a", labels, "http://127.0.0.1:1/", None);
    stage::table(&catalog).server("/a").unwrap().clone()
}

fn asked(value: Option<&str>) -> HeaderMap {
    stage::headers(&value.map(|value| ("x-mcp-server-version", value)).into_iter().collect::<Vec<_>>())
}

#[test]
fn a_header_chooses_the_version() {
    let server = server(&["v1", "v2"]);
    let check = |value: Option<&str>, strict: bool, expected: Result<(&str, bool), &str>| {
        let chosen = choose(&asked(value), &server, strict);
        let chosen = chosen.map(|one| (one.version.key.label.to_string(), one.is_fallback));
        let expected = expected.map(|(label, is_fallback)| (label.to_owned(), is_fallback));
        assert_eq!(
            chosen.map_err(|error| error.to_string()),
            expected.map_err(str::to_owned),
            "{value:?} {strict}"
        );
    };
    for strict in [false, true] {
        for active in [None, Some(""), Some("  "), Some("latest"), Some(" latest "), Some("v1"), Some(" v1 ")]
        {
            check(active, strict, Ok(("v1", false)));
        }
        check(Some("v2"), strict, Ok(("v2", false)));
        let ambiguous = "X-MCP-Server-Version was sent twice or with more than one value";
        for value in ["v1,v2", "v1,", "gr\u{fc}n"] {
            check(Some(value), strict, Err(ambiguous));
        }
        let twice = stage::headers(&[("x-mcp-server-version", "v1"), ("x-mcp-server-version", "v1")]);
        assert!(matches!(choose(&twice, &server, strict), Err(Error::Ambiguous { .. })));
    }
    for unknown in ["v3", "V1", "Latest"] {
        check(Some(unknown), false, Ok(("v1", true)));
        check(Some(unknown), true, Err(&format!("/a has no version {unknown}; it has v1, v2")));
    }
}

#[test]
fn a_session_stays_with_its_version() {
    let server = server(&["v1", "v2"]);
    let check = |label: &str, value: Option<&str>, expected: Result<bool, &str>| {
        let identity = server.version(label).map_or(0, |version| version.identity);
        let session = DirectSession { label: label.into(), identity, session: "s".into() };
        let chosen = of_session(&asked(value), &server, Arc::new(Unwrapped::new(session, 0, Vec::new())));
        let chosen = chosen.map(|one| {
            assert_eq!(one.version.key.label.as_str(), label);
            assert_eq!(one.session.unwrap().session.session, "s");
            one.is_fallback
        });
        assert_eq!(
            chosen.map_err(|error| error.to_string()),
            expected.map_err(str::to_owned),
            "{label} {value:?}"
        );
    };
    for value in [None, Some("latest"), Some("v2"), Some("")] {
        check("v2", value, Ok(false));
    }
    check("v2", Some("v9"), Ok(true));
    check(
        "v2",
        Some("v1"),
        Err("the session runs on version v2, not on v1; begin a new session to change it"),
    );
    check("v2", Some("v1,v2"), Err("X-MCP-Server-Version was sent twice or with more than one value"));
    check("v9", None, Err("unknown session; send initialize again"));
}

#[test]
fn answers_say_their_version_where_there_are_several() {
    let check = |labels: &[&str], value: Option<&str>, expected: &[(&str, &str)]| {
        let mut headers = HeaderMap::new();
        choose(&asked(value), &server(labels), false).unwrap().dress(&mut headers);
        let told: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(told, expected, "{labels:?} {value:?}");
    };
    check(&["v1"], None, &[]);
    check(&["v1"], Some("v9"), &[]);
    let enabled = ("x-mcp-version-routing", "enabled");
    check(&["v1", "v2"], None, &[enabled, ("x-mcp-server-version", "v1")]);
    check(&["v1", "v2"], Some("v2"), &[enabled, ("x-mcp-server-version", "v2")]);
    check(
        &["v1", "v2"],
        Some("v9"),
        &[("x-mcp-version-routing", "fallback"), ("x-mcp-server-version", "v1")],
    );
}
