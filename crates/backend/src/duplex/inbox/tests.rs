//! Messages for slow and for absent readers.

use std::task::Waker;

use super::*;

fn poll(inbox: &Inbox) -> Poll<Option<Result<Mail, Error>>> {
    inbox.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn messages_come_before_the_answer() {
    let inbox = Inbox::default();
    assert!(poll(&inbox).is_pending());
    assert!(inbox.push(Bytes::from_static(b"1")));
    inbox.answer(Bytes::from_static(b"2"));
    assert!(inbox.push(Bytes::from_static(b"late")), "nobody misses it");
    assert!(matches!(poll(&inbox), Poll::Ready(Some(Ok(Mail::Message(m)))) if &m[..] == b"1"));
    assert!(matches!(poll(&inbox), Poll::Ready(Some(Ok(Mail::Answer(m)))) if &m[..] == b"2"));
    assert!(matches!(poll(&inbox), Poll::Ready(None)));
}

#[test]
fn a_slow_reader_costs_a_bounded_lot() {
    let inbox = Inbox::default();
    let message = Bytes::from(vec![b'x'; 100_000]);
    let kept = (0..100).filter(|_| inbox.push(message.clone())).count();
    assert_eq!(kept, MAX_WAITING_BYTES / 100_000);
    inbox.answer(Bytes::from(vec![b'x'; 2 << 20]));
    let read = std::iter::from_fn(|| match poll(&inbox) {
        Poll::Ready(Some(mail)) => mail.ok(),
        _ => None,
    });
    assert!(matches!(read.last(), Some(Mail::Answer(answer)) if answer.len() == 2 << 20));
    let inbox = Inbox::default();
    assert_eq!((0..5000).filter(|_| inbox.push(Bytes::from_static(b"{}"))).count(), MAX_WAITING);
}

#[test]
fn only_the_first_end_counts() {
    let inbox = Inbox::default();
    inbox.fail(Error::unreachable("gone"));
    inbox.answer(Bytes::from_static(b"2"));
    assert!(matches!(poll(&inbox), Poll::Ready(Some(Err(Error::Unreachable { .. })))));
    assert!(matches!(poll(&inbox), Poll::Ready(None)));
}
