//! Revisions and what is agreed on.

use super::*;

#[test]
fn every_revision_has_one_spelling() {
    for revision in Revision::ALL {
        assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        assert_eq!(revision.is_modern(), revision == Revision::MODERN);
    }
    assert!(Revision::ALL.is_sorted());
    for unknown in ["", "2025-11-25 ", "2026-07-29", "draft", "1"] {
        assert_eq!(Revision::parse(unknown), None);
    }
}

#[test]
fn negotiates() {
    let check = |asked: &str, agreed: &str| assert_eq!(negotiate(asked).as_str(), agreed, "{asked}");
    check("2024-11-05", "2024-11-05");
    check("2025-03-26", "2025-03-26");
    check("2025-06-18", "2025-06-18");
    check("2025-11-25", "2025-11-25");
    check("2026-07-28", "2025-11-25");
    check("2023-01-01", "2025-11-25");
    check("", "2025-11-25");
}
