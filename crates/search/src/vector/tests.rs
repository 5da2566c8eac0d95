//! Vectors in small, beside those they were made of.

use super::*;

#[test]
fn likeness_is_the_cosine_within_a_hundredth() {
    let numbers = |seed: u32| -> Vec<f32> {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..384).map(next).collect()
    };
    for seed in 1..20 {
        let (one, mut other) = (numbers(seed), numbers(seed + 100));
        other.iter_mut().zip(&one).for_each(|(other, one)| *other = *other * 0.3 + one);
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let expected = dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt();
        let (one, other) = (Vector::of(&one).unwrap(), Vector::of(&other).unwrap());
        assert!((one.likeness(&other) - expected).abs() < 0.01, "{seed}");
        assert!((one.likeness(&one) - 1.0).abs() < 0.01, "{seed}");
    }
}

#[test]
fn what_has_no_direction_is_no_vector() {
    for numbers in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY]] {
        assert_eq!(Vector::of(numbers), None, "{numbers:?}");
    }
    let (short, long) = (Vector::of(&[1.0]).unwrap(), Vector::of(&[1.0, 0.0]).unwrap());
    assert_eq!(short.likeness(&long), 0.0);
}

#[test]
fn moving_halfway_ends_in_between() {
    let (east, north) = (Vector::of(&[1.0, 0.0]).unwrap(), Vector::of(&[0.0, 1.0]).unwrap());
    let between = east.towards(&[(1.0, &north)], 1.0);
    assert!((between.likeness(&east) - between.likeness(&north)).abs() < 0.02);
    assert_eq!(east.towards(&[], 1.0).numbers, east.numbers);
}

#[test]
fn signs_are_bits() {
    let mut signs = Vec::new();
    Vector::of(&[-1.0, 1.0, -0.5]).unwrap().signs(&mut signs);
    assert_eq!(signs, [0b101]);
}
