//! The table is in order, or words would not be found in it.

use super::*;
use crate::text;

#[test]
fn the_table_is_sorted_and_folded() {
    assert!(TABLE.is_sorted_by(|one, next| one.0 < next.0));
    for (word, _) in TABLE {
        let mut folded = String::new();
        text::fold(word, &mut folded);
        assert_eq!(folded, *word);
    }
}

#[test]
fn words_and_parts_of_compounds_are_translated() {
    for (word, expected) in [
        ("kalender", &["calendar"][..]),
        ("kalendereintrag", &["calendar"]),
        ("kundenrechnung", &["invoice"]),
        ("天气", &["weather"]),
        ("umbrella", &[]),
    ] {
        assert_eq!(of(word), expected, "{word}");
    }
}
