//! What counts more than what.

use super::*;

#[test]
fn words_and_meaning_add_up() {
    let order = [score(0.0, Some(-0.5)), score(0.1, Some(0.0)), score(0.0, Some(0.3)), score(0.5, Some(0.3))];
    assert!(order.is_sorted_by(|one, next| one < next), "{order:?}");
    assert_eq!(score(1.0, Some(1.0)), 1.0);
    assert!(score(0.8, None) > score(0.2, Some(0.2)), "an entry waits for its vector and is found meanwhile");
}

#[test]
fn a_query_is_drawn_towards_the_best_only() {
    let [query, near, far] =
        [[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]].map(|numbers| Vector::of(&numbers).unwrap());
    let drawn = drawn(&query, &[(0.9, 0.8, &near), (0.8, 0.8, &near), (0.7, 0.8, &near), (0.1, 0.1, &far)]);
    assert!(drawn.likeness(&near) > query.likeness(&near));
    assert!(drawn.likeness(&far).abs() < 0.01);
}
