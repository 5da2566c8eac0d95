//! How often sessions are looked over.

use super::*;

#[test]
fn sessions_are_looked_for_as_often_as_they_end() {
    for (idle_ms, expected_ms) in
        [(1_000, 250), (2_500, 250), (10_000, 1_000), (30_000, 3_000), (3_600_000, 5_000)]
    {
        let every = reap_every(Duration::from_millis(idle_ms));
        assert_eq!(every, Duration::from_millis(expected_ms), "{idle_ms} ms");
    }
}
