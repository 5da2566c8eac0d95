//! Arithmetic of times, at the ends too.

use super::*;

#[test]
fn seconds_round_down() {
    for (millis, seconds) in [(0, 0), (999, 0), (1000, 1), (-1, -1), (-1000, -1), (-1001, -2)] {
        assert_eq!(Timestamp(millis).as_seconds(), seconds, "{millis}");
    }
}

#[test]
fn later_moments_do_not_wrap() {
    assert_eq!(Timestamp(1500).plus_seconds(2), Timestamp(3500));
    assert_eq!(Timestamp(1500).plus_seconds(-2), Timestamp(-500));
    assert_eq!(Timestamp(1).plus_seconds(i64::MAX), Timestamp(i64::MAX));
    assert!(Timestamp::now() > Timestamp(1_700_000_000_000));
}
