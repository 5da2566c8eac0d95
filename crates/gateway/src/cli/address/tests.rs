//! Addresses made of what people write.

use super::*;

fn check(made: Result<String, Failure>, expected: Result<&str, &str>) {
    match (made, expected) {
        (Ok(address), Ok(expected)) => {
            assert_eq!(address, expected);
            let url = url::Url::parse(&format!("http://host{address}")).expect("a URL");
            assert_eq!(url.path(), expected, "nothing in it is resolved");
        }
        (Err(failure), Err(part)) => {
            assert_eq!(failure.status, 2, "{failure:?}");
            assert!(failure.message.contains(part), "{failure:?} lacks {part:?}");
        }
        (made, expected) => panic!("{made:?}, not {expected:?}"),
    }
}

#[test]
fn servers() {
    for (path, expected) in [
        ("/team/github", Ok("/api/servers/team/github")),
        ("GitHub/", Ok("/api/servers/github")),
        ("/...", Ok("/api/servers/...")),
        ("", Err("path: is required")),
        ("/", Err("path: is required")),
        ("..", Err("`.` or `..` segment")),
        ("/a/../b", Err("`.` or `..` segment")),
        ("/./a", Err("`.` or `..` segment")),
        ("/a//b", Err("empty")),
        ("/a/versions/v1", Err("meaning of its own")),
        ("/a?include_disabled=true", Err("other characters")),
        ("/a#b", Err("other characters")),
        ("/%2e%2e/tokens", Err("other characters")),
        ("/a\\..\\b", Err("other characters")),
    ] {
        check(of_server(path), expected);
    }
}

#[test]
fn versions() {
    for (label, expected) in [
        ("v1.0.0+x", Ok("/api/servers/a/versions/v1.0.0+x")),
        ("", Err("letters, digits")),
        (".", Err("meaning of its own")),
        ("..", Err("meaning of its own")),
        ("../../tokens", Err("letters, digits")),
        ("v1/..", Err("letters, digits")),
        ("%2e%2e", Err("letters, digits")),
        ("default", Err("cannot be a label")),
    ] {
        check(of_version("/a", label), expected);
        let diffs = [of_diff("/a", label, "v2"), of_diff("/a", "v2", label)];
        for diff in diffs {
            assert_eq!(diff.is_ok(), expected.is_ok(), "{diff:?}");
        }
    }
    check(of_version("..", "v1"), Err("path:"));
    check(of_diff("/a", "v1", "v2"), Ok("/api/servers/a/versions/v1/diff/v2"));
}

#[test]
fn virtual_servers() {
    for (text, expected) in [
        ("dev-tools", Ok("/api/virtual-servers/dev-tools")),
        ("/virtual/dev-tools", Ok("/api/virtual-servers/dev-tools")),
        ("virtual/dev-tools", Ok("/api/virtual-servers/dev-tools")),
        ("", Err("slug:")),
        ("/virtual/", Err("slug:")),
        ("..", Err("slug:")),
        ("../servers/d", Err("slug:")),
        ("a/preview", Err("slug:")),
    ] {
        check(slug(text).and_then(|slug| of_virtual_server(&slug)), expected);
    }
}

#[test]
fn tokens() {
    for (id, expected) in [
        ("9f86d081884c7d65", Ok("/api/tokens/9f86d081884c7d65")),
        ("../servers/c", Ok("/api/tokens/..%2Fservers%2Fc")),
        ("a?b#c d", Ok("/api/tokens/a%3Fb%23c%20d")),
        ("%2e%2e", Ok("/api/tokens/%252e%252e")),
        ("...", Ok("/api/tokens/...")),
        ("\\..", Ok("/api/tokens/%5C..")),
        ("é", Ok("/api/tokens/%C3%A9")),
        ("", Err("id: must not be empty")),
        (".", Err("meaning of its own")),
        ("..", Err("meaning of its own")),
    ] {
        check(of_token(id), expected);
    }
}
