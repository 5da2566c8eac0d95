//! Stars and their average.

use super::*;

#[test]
fn stars_are_one_to_five() {
    for number in 1..=5 {
        assert_eq!(i64::from(Stars::parse("rating", number).unwrap().count()), number);
    }
    for number in [i64::MIN, -1, 0, 6, 257, i64::MAX] {
        let fault = Stars::parse("rating", number).unwrap_err();
        assert_eq!(fault.field, "rating");
        assert_eq!(fault.reason, format!("{number} must be a whole number from 1 to 5"));
    }
}

#[test]
fn the_average_is_exact() {
    let check = |given: &[u8], expected: f64| {
        let one = |(index, stars): (usize, &u8)| (Arc::from(format!("user-{index}")), Stars(*stars));
        let ratings = Ratings(given.iter().enumerate().map(one).collect());
        assert!((ratings.average() - expected).abs() < 1e-12, "{given:?}");
    };
    check(&[], 0.0);
    check(&[3], 3.0);
    check(&[3, 4], 3.5);
    check(&[5, 5, 4], 14.0 / 3.0);
}

#[test]
fn a_full_object_still_takes_a_change_of_mind() {
    let one = |index: usize| (Arc::from(format!("user-{index}")), Stars(5));
    let mut ratings = Ratings((1..MAX_RATINGS).map(one).collect());
    assert!(ratings.has_room_for("other"));
    ratings.0.insert("other".into(), Stars(1));
    assert!(ratings.has_room_for("other"));
    assert!(!ratings.has_room_for("another"));
}
