//! The figures, beside some computed by hand.

use super::*;

#[test]
fn figures_are_as_defined() {
    let grades = HashMap::from([("/a".to_owned(), 3), ("/b".to_owned(), 2), ("/c".to_owned(), 1)]);
    let check = |found: &[&str], expected: [f64; 3]| {
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        let Figures(figures) = Figures::of(&found, &grades);
        let close = figures.iter().zip(expected).all(|(one, other)| (one - other).abs() < 0.001);
        assert!(close, "{found:?}: {figures:?}, not {expected:?}");
    };
    check(&["/a", "/b", "/c"], [1.0, 1.0, 1.0]);
    check(&[], [0.0, 0.0, 0.0]);
    // (3 / log2(3) + 1 / log2(4)) / (7 + 3 / log2(3) + 1 / log2(4))
    check(&["/x", "/b", "/c"], [0.2548, 0.5, 0.5]);
    check(&["/c"], [0.1065, 0.0, 0.0]);
}

#[test]
fn words_are_shared_in_any_usual_form() {
    let servers = [vec!["/a".to_owned(), "GitHub".to_owned(), "Tracks issues".to_owned()]];
    let grades = HashMap::from([("/a".to_owned(), 3)]);
    for (query, expected) in
        [("an issue", true), ("tracking it", true), ("the hub", true), ("what is it", false)]
    {
        assert_eq!(shares_words(query, &grades, &servers), expected, "{query}");
    }
}
