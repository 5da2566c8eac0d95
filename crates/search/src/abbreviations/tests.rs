//! The table is in order, or words would not be found in it.

use super::*;

#[test]
fn the_table_is_sorted_and_in_lower_case() {
    assert!(TABLE.is_sorted_by(|one, next| one.0 < next.0));
    for (short, long) in TABLE {
        let all = std::iter::once(short).chain(*long);
        assert!(
            all.into_iter().all(|word| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
        );
    }
    assert_eq!(of("k8s"), ["kubernetes"]);
    assert_eq!(of("github"), [""; 0]);
}
