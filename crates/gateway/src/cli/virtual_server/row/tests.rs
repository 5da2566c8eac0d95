//! Rows of the command line and the mappings they mean.

use super::*;

#[test]
fn rows_are_read_with_their_options() {
    let cases = [
        ("/github:search", json!({"tool_name": "search", "backend_server_path": "/github"})),
        (
            "/github:search,alias=find,version=v2.0.0",
            json!({"tool_name": "search", "backend_server_path": "/github", "alias": "find", "backend_version": "v2.0.0"}),
        ),
        (
            "/a/b:c:d,description=Finds things, fast, alias=x",
            json!({"tool_name": "c:d", "backend_server_path": "/a/b", "description_override": "Finds things, fast, alias=x"}),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text), Ok(expected), "{text}");
    }
    for text in ["", "/github", "/github:", ":search", "/github:search,colour=red", "/github:search,alias"] {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn scopes_of_one_tool_are_gathered() {
    let pairs = [("a", "x"), ("b", "y"), ("a", "z")].map(|(name, scope)| (name.to_owned(), scope.to_owned()));
    let expected = json!([
        {"tool_alias": "a", "required_scopes": ["x", "z"]},
        {"tool_alias": "b", "required_scopes": ["y"]},
    ]);
    assert_eq!(overrides(&pairs), expected);
    assert!(parse_scope("a").is_err() && parse_scope("=x").is_err());
}
