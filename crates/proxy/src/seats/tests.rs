use super::*;
use crate::stage::caller;

#[test]
fn a_caller_has_so_many_and_gets_them_back() {
    let seats = Seats::default();
    let mut taken: Vec<Seat> = (0..MOST_OF_ONE).map(|_| seats.take(&caller("ann")).unwrap()).collect();
    assert!(matches!(seats.take(&caller("ann")), Err(Error::TooManyStreams)));
    assert!(seats.take(&caller("bob")).is_ok(), "others are not kept out");
    taken.pop();
    assert!(seats.take(&caller("ann")).is_ok());
    drop(taken);
    let left = lock(&seats.0);
    assert_eq!((left.all, left.by_caller.len()), (0, 0));
}

#[test]
fn all_callers_together_have_so_many() {
    let seats = Seats::default();
    let one = |number: usize| seats.take(&caller(&format!("caller-{}", number / MOST_OF_ONE)));
    let taken: Vec<Seat> = (0..MOST).map(|number| one(number).unwrap()).collect();
    assert!(matches!(seats.take(&caller("another")), Err(Error::TooManyStreams)));
    drop(taken);
    assert!(seats.take(&caller("another")).is_ok());
}
