//! Folding, as a table.

use super::*;

#[test]
fn the_path_of_a_server_becomes_one_segment() {
    let cases = [
        ("/api/servers", None),
        ("/api/servers/", Some("/api/servers")),
        ("/api/servers/register", Some("/api/servers/register")),
        ("/api/servers/context7", Some("/api/servers/context7")),
        ("/api/servers//context7/", Some("/api/servers/context7")),
        ("/api/servers/team/github", Some("/api/servers/team%2Fgithub")),
        ("/api/servers/a/b/c/versions", Some("/api/servers/a%2Fb%2Fc/versions")),
        ("/api/servers/a/versions/default", Some("/api/servers/a/versions/default")),
        ("/api/servers/a/b/versions/v1/diff/v2", Some("/api/servers/a%2Fb/versions/v1/diff/v2")),
        ("/api/servers/a/versions/tools", Some("/api/servers/a/versions/tools")),
        ("/api/servers/tools", Some("/api/servers/tools")),
        ("/api/servers/tools/tools", Some("/api/servers/tools/tools")),
        ("/api/servers/a/toggle", Some("/api/servers/a/toggle")),
        ("/api/virtual-servers/dev-tools/", Some("/api/virtual-servers/dev-tools")),
        ("/api/health", None),
        ("/v0/servers", None),
        ("/v0/servers/", Some("/v0/servers")),
        ("/v0/servers/switchyard.local/context7/", Some("/v0/servers/switchyard.local%2Fcontext7")),
        ("/v0/servers/switchyard.local%2fcontext7", Some("/v0/servers/switchyard.local%2fcontext7")),
        ("/v0/servers/s.local/a/versions/latest", Some("/v0/servers/s.local%2Fa/versions/latest")),
        ("/v0/servers/s.local%2Fa/versions/latest", Some("/v0/servers/s.local%2Fa/versions/latest")),
    ];
    for (path, folded) in cases {
        assert_eq!(fold(path).as_deref(), folded, "{path}");
    }
}

#[test]
fn the_query_stays() {
    let uri: Uri = "/api/servers/a/b/versions/v1?force=true".parse().unwrap();
    let folded = with_path(&uri, &fold(uri.path()).unwrap());
    assert_eq!(folded.to_string(), "/api/servers/a%2Fb/versions/v1?force=true");
}
