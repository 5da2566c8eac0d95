//! Paths and the plane they lead to.

use super::*;

#[test]
fn the_first_segment_decides() {
    let cases = [
        ("/api", "", true),
        ("/api/servers", "", true),
        ("/healthz", "", true),
        ("/ui/", "", true),
        ("/v0/servers", "", true),
        ("/apis", "", false),
        ("/api2/x", "", false),
        ("/", "", false),
        ("", "", false),
        ("/context7", "", false),
        ("/context7/api", "", false),
        ("/virtual/dev-tools", "", false),
        ("/.well-known/oauth-protected-resource/context7", "", false),
        ("/gateway/api", "/gateway", true),
        ("/api", "/gateway", true),
        ("/gateway/context7", "/gateway", false),
        ("/gateway2/api", "/gateway", false),
        ("/gateway", "/gateway", false),
    ];
    for (path, prefix, expected) in cases {
        assert_eq!(is_control(path, prefix), expected, "{path} {prefix}");
    }
}

#[test]
fn a_prefix_is_taken_off_by_whole_segments() {
    let cases = [
        ("/api", "", None),
        ("/gateway/api?a=b", "/gateway", Some("/api?a=b")),
        ("/gateway", "/gateway", Some("/")),
        ("/gateway?a", "/gateway", Some("/?a")),
        ("/gateway/", "/gateway", Some("/")),
        ("/gateway2/x", "/gateway", None),
        ("/api", "/gateway", None),
        ("http://host:1/gateway/x", "/gateway", Some("http://host:1/x")),
    ];
    for (uri, prefix, expected) in cases {
        let uri: Uri = uri.parse().expect("a URI");
        let short = without_prefix(&uri, prefix).map(|uri| uri.to_string());
        assert_eq!(short.as_deref(), expected, "{uri} {prefix}");
    }
}
