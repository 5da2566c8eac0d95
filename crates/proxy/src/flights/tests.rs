use std::sync::Arc;

use catalog::VersionKey;
use catalog::name::{ServerPath, VersionLabel};

use super::Flights;

fn key() -> VersionKey {
    VersionKey::new(&ServerPath::parse("path", "/a").expect("path"), &VersionLabel::first())
}

#[test]
fn a_second_request_of_one_id_gets_an_id_of_ours() {
    let flights = Arc::new(Flights::new());
    let first = flights.begin(1, b"1", &key());
    let second = flights.begin(1, b"1", &key());
    let third = flights.begin(1, b"1", &key());
    assert_eq!(first.own_id, None);
    assert_ne!(second.own_id, None);
    assert_ne!(second.own_id, third.own_id);
    drop(first);
    assert_eq!(flights.begin(1, b"1", &key()).own_id, None, "free again");
}

#[test]
fn sessions_and_spellings_do_not_meet() {
    let flights = Arc::new(Flights::new());
    let _held =
        [flights.begin(1, b"1", &key()), flights.begin(1, b"\"1\"", &key()), flights.begin(2, b"1", &key())];
    assert!(_held.iter().all(|flight| flight.own_id.is_none()));
    assert!(flights.find(1, b"1").is_some());
    assert!(flights.find(3, b"1").is_none());
}

#[test]
fn of_several_with_one_id_the_oldest_is_meant() {
    let flights = Arc::new(Flights::new());
    let first = flights.begin(1, b"1", &key());
    let second = flights.begin(1, b"1", &key());
    let third = flights.begin(1, b"1", &key());
    let meant = || flights.find(1, b"1").map(|flight| flight.own_id);
    assert_eq!(meant(), Some(None));
    drop(first);
    assert_eq!(meant(), Some(second.own_id.clone()));
    drop(second);
    assert_eq!(meant(), Some(third.own_id.clone()));
    drop(third);
    assert_eq!(meant(), None);
}

#[test]
fn each_cancellation_means_a_request_of_its_own() {
    let flights = Arc::new(Flights::new());
    let first = flights.begin(1, b"1", &key());
    let (second, third) = (flights.begin(1, b"1", &key()), flights.begin(1, b"1", &key()));
    let mut held = Vec::new();
    for expected in [&first, &second, &third] {
        let (meant, cancellation) = flights.cancel(1, b"1").expect("one is left");
        assert_eq!(meant.own_id, expected.own_id);
        held.push(cancellation);
    }
    assert!(flights.cancel(1, b"1").is_none(), "all are cancelled");
    assert!(flights.cancel(2, b"1").is_none());
}

#[test]
fn an_id_is_taken_until_its_cancellation_was_sent() {
    let flights = Arc::new(Flights::new());
    let first = flights.begin(1, b"1", &key());
    let (_, cancellation) = flights.cancel(1, b"1").expect("it runs");
    drop(first);
    let second = flights.begin(1, b"1", &key());
    assert_ne!(second.own_id, None, "or the cancellation could hit it");
    let (meant, _) = flights.cancel(1, b"1").expect("the second runs");
    assert_eq!(meant.own_id, second.own_id);
    drop(cancellation);
    assert_eq!(flights.begin(1, b"1", &key()).own_id, None, "free again");
}
