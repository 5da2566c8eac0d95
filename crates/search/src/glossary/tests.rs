//! The table is in order, or names would not be found in it.

use super::*;

#[test]
fn the_table_is_sorted_and_names_are_explained_once() {
    assert!(TABLE.is_sorted_by(|one, next| one.0 < next.0));
    assert!(TABLE.iter().all(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())));
    let names = |words: &[&'static str]| -> Vec<&str> {
        explain(words.iter().copied()).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(&["my", "sentry", "mcp", "sentry", "slack"]), ["sentry", "slack"]);
    assert_eq!(names(&["jira", "asana", "trello", "github"]).len(), MAX_EXPLAINED);
    assert_eq!(names(&["unknown"]), [""; 0]);
}
