//! Words of texts.

use super::*;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let mut found = Vec::new();
    words(text, |word| found.push(word.to_owned()));
    assert_eq!(found, expected, "{text}");
}

#[test]
fn words_are_split_and_folded() {
    check("list_open-issues/now", &["list", "open", "issues", "now"]);
    check("GitHub", &["github", "git", "hub"]);
    check("HTTPServer getURL", &["httpserver", "http", "server", "geturl", "get", "url"]);
    check("API JSON k8s v2", &["api", "json", "k8s", "v2"]);
    check("Übersicht größer İ", &["ubersicht", "grosser", "i"]);
    check("高德地图 x 山", &["高德", "德地", "地图", "x", "山"]);
    check("mcp地图api", &["mcp", "地图", "api"]);
    check(" , ", &[]);
    check(&"x".repeat(500), &[&"x".repeat(MAX_WORD_CHARS)]);
}

#[test]
fn forms_of_a_word_share_a_stem() {
    for forms in [
        &["issue", "issues"][..],
        &["create", "creates", "created", "creating"],
        &["search", "searches", "searching", "searched"],
        &["plan", "plans", "planning", "planned"],
        &["query", "queries", "querying", "queried"],
        &["call", "calls", "calling"],
        &["database", "databases"],
    ] {
        let stems: Vec<_> = forms.iter().map(|word| stem(word)).collect();
        assert!(stems.iter().all(|one| *one == stems[0]), "{forms:?} became {stems:?}");
    }
    for word in ["bus", "css", "aws", "ring", "status", "analysis"] {
        assert!(stem(word).len() + 1 >= word.len(), "{word} became {}", stem(word));
    }
    assert_ne!(stem("string"), "str");
}

#[test]
fn stop_words_are_sorted() {
    assert!(STOP_WORDS.is_sorted());
    assert!(is_stop_word("the") && !is_stop_word("github"));
}

#[test]
fn names_are_compared_without_what_all_names_hold() {
    for (one, other) in
        [("@brave/search-mcp", "Brave Search"), ("/context7", "context7"), ("MCP Server", "mcp-server")]
    {
        assert_eq!(key(one), key(other));
    }
}
