//! Who comes first. Nothing here waits for a clock: each future is polled by hand, in the order that matters.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use super::{Turn, Turns};

fn poll(waiting: &mut Pin<&mut impl Future<Output = Turn>>) -> Option<Turn> {
    match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(turn) => Some(turn),
        Poll::Pending => None,
    }
}

#[tokio::test]
async fn people_go_before_a_note_that_came_first() {
    let turns = Turns::default();
    let held = turns.for_note().await;
    let (mut note, mut first, mut second) =
        (pin!(turns.for_note()), pin!(turns.for_person()), pin!(turns.for_person()));
    assert!(poll(&mut note).is_none(), "it stands in line first");
    assert!(poll(&mut first).is_none());
    assert!(poll(&mut second).is_none());
    drop(held);
    assert!(poll(&mut note).is_none(), "its turn came, and it gave it back");
    let held = poll(&mut first).expect("the first of the people is next");
    assert!(poll(&mut note).is_none());
    drop(held);
    assert!(poll(&mut note).is_none());
    let held = poll(&mut second).expect("people keep their order");
    assert!(poll(&mut note).is_none());
    drop(held);
    assert!(poll(&mut note).is_some(), "nobody else wants one");
}

#[tokio::test]
async fn a_person_who_leaves_the_line_holds_up_nobody() {
    let turns = Turns::default();
    let held = turns.for_person().await;
    let mut note = pin!(turns.for_note());
    {
        let mut person = pin!(turns.for_person());
        assert!(poll(&mut person).is_none());
    }
    assert!(poll(&mut note).is_none());
    drop(held);
    assert!(poll(&mut note).is_some());
}
