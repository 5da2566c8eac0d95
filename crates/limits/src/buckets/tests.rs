use super::*;

const SECOND: u64 = 1_000_000_000;

fn rate(text: &str) -> Rate {
    Rate::parse(text).unwrap()
}

#[test]
fn a_burst_then_one_at_a_time() {
    let (buckets, rate) = (Buckets::default(), rate("60/m burst 3"));
    for _ in 0..3 {
        assert_eq!(buckets.take(1, &rate, 0), Ok(()));
    }
    assert_eq!(buckets.take(1, &rate, 0), Err(SECOND));
    assert_eq!(buckets.take(1, &rate, SECOND / 4), Err(SECOND - SECOND / 4));
    assert_eq!(buckets.take(1, &rate, SECOND), Ok(()));
    assert_eq!(buckets.take(1, &rate, SECOND), Err(SECOND));
    assert_eq!(buckets.take(2, &rate, SECOND), Ok(()), "another's");
    for _ in 0..3 {
        assert_eq!(buckets.take(1, &rate, 60 * SECOND), Ok(()), "no more than the burst is saved up");
    }
    assert!(buckets.take(1, &rate, 60 * SECOND).is_err());
}

#[test]
fn what_is_given_back_can_be_taken() {
    let (buckets, rate) = (Buckets::default(), rate("1/s"));
    buckets.take(1, &rate, 0).unwrap();
    buckets.give_back(1, &rate);
    assert_eq!(buckets.take(1, &rate, 0), Ok(()));
    buckets.give_back(9, &rate);
}

#[test]
fn keys_are_bounded_and_swept() {
    let (buckets, slow) = (Buckets::default(), rate("1/m"));
    let most = (SHARDS * MAX_KEYS) as u64;
    // Spread over the parts by the upper half.
    let key = |number: u64| number << 32 | number;
    for number in 0..most + 1000 {
        assert_eq!(buckets.take(key(number), &slow, 0), Ok(()));
    }
    assert_eq!(buckets.len() as u64, most);
    assert!(buckets.take(key(0), &slow, 0).is_err(), "whoever is known stays known");
    assert_eq!(buckets.take(key(most + 1), &slow, 61 * SECOND), Ok(()), "the old make room");
    assert!(buckets.len() < most as usize);
    buckets.sweep(200 * SECOND);
    assert_eq!(buckets.len(), 0);
}
