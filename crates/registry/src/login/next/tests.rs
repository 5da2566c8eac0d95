//! Paths that lead away, in every spelling.

use url::Url;

use super::*;

#[test]
fn only_paths_of_this_host_are_gone_to() {
    for good in ["/", "/ui/", "/ui/servers?tag=a#b", "/gateway/ui/", "/a//b", "/@evil.example.com"] {
        assert_eq!(local(Some(good), ""), good);
        let here = Url::parse("https://mcp.example.com/login").unwrap();
        assert_eq!(here.join(good).unwrap().host_str(), Some("mcp.example.com"), "{good}");
    }
    let long = format!("/{}", "a".repeat(2000));
    for bad in [
        "",
        "//evil.example.com",
        "/\\evil.example.com",
        "\\\\evil.example.com",
        "/\t/evil.example.com",
        "/\n/evil",
        " //evil.example.com",
        "https://evil.example.com",
        "javascript:alert(1)",
        "evil",
        "/a\r\nSet-Cookie: x=y",
        "/ü",
        "///evil.example.com",
        &long,
    ] {
        assert_eq!(local(Some(bad), "/gateway"), "/gateway/login", "{bad:?}");
    }
    assert_eq!(local(None, ""), "/login");
}
