//! Words that are near others.

use super::*;

#[test]
fn one_edit_is_near() {
    for (one, other, expected) in [
        ("grafana", "grafana", false),
        ("grafan", "grafana", true),
        ("graffana", "grafana", true),
        ("grafena", "grafana", true),
        ("garfana", "grafana", true),
        ("xgrafana", "grafana", true),
        ("garfena", "grafana", false),
        ("grafanaxx", "grafana", false),
        ("größe", "grösse", false),
        ("größe", "grüße", true),
    ] {
        assert_eq!(is_one_off(one, other), expected, "{one} {other}");
        assert_eq!(is_one_off(other, one), expected, "{other} {one}");
    }
}

#[test]
fn forms_share_a_term_and_near_words_are_handed_out() {
    let mut vocabulary = Vocabulary::default();
    let issue = vocabulary.add("issue");
    assert_eq!(vocabulary.add("issues"), issue);
    let mongo = vocabulary.add("mongodb");
    assert_eq!((vocabulary.len(), vocabulary.terms()), (3, 2));
    assert_eq!(vocabulary.find("issued"), Some(issue));
    assert_eq!(vocabulary.find("mongo"), None);
    let near = |word: &str| {
        let mut found = Vec::new();
        vocabulary.near(word, |term, near| found.push((term, near)));
        found
    };
    assert_eq!(near("mongo"), [(mongo, Near::Longer(5.0 / 7.0))]);
    assert_eq!(near("mongobd"), [(mongo, Near::Misspelt)]);
    assert_eq!(near("mo"), []);
}
