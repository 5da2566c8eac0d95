//! Scopes against RFC 6749, section 3.3.

use super::*;

#[test]
fn scopes() {
    let longest = "a".repeat(MAX_SCOPE_BYTES);
    for text in ["github-write", "mcp:tools/call", "!", "~", "#[]", &longest] {
        assert_eq!(Scope::parse("scope", text).unwrap().as_str(), text);
    }
    for text in ["", " a", "a b", "a\"b", "a\\b", "é", "a\n", &format!("{longest}a")] {
        let invalid = Scope::parse("scope", text).unwrap_err();
        assert!(invalid.to_string().starts_with("scope: "), "{invalid}");
    }
}

#[test]
fn names_that_urls_swallow_are_refused() {
    for bad in [".", ".."] {
        assert!(Scope::parse("name", bad).is_err(), "{bad}");
    }
    Scope::parse("name", "...").expect("an ordinary name");
}
