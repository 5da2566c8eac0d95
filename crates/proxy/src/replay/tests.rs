//! Kept streams: who goes on with one, from where, and what is no longer kept.

use super::*;

fn ids(event: &Bytes) -> String {
    String::from_utf8(sse::Event::read(event.clone()).id.unwrap().to_vec()).unwrap()
}

async fn read(reading: Reading) -> Vec<Bytes> {
    let (sender, mut receiver) = mpsc::channel(1);
    tokio::spawn(reading.run(sender));
    let mut events = Vec::new();
    while let Some(event) = receiver.recv().await {
        events.push(event);
    }
    events
}

#[tokio::test]
async fn what_was_missed_and_what_comes_is_sent_again() {
    let replays = Replays::default();
    let writing = replays.begin("ann's");
    let events = [writing.primer(), writing.event(b"1"), writing.event(b"2")];
    let reading = replays.after("ann's", &ids(&events[0])).unwrap();
    let is_read = writing.readers();
    assert!(!is_read());
    let reading = tokio::spawn(read(reading));
    tokio::task::yield_now().await;
    let last = writing.event(b"3");
    tokio::task::yield_now().await;
    drop(writing);
    assert_eq!(reading.await.unwrap(), [events[1].clone(), events[2].clone(), last.clone()]);
    // It is over, and what is asked for again comes again.
    assert_eq!(read(replays.after("ann's", &ids(&events[2])).unwrap()).await, std::slice::from_ref(&last));
    assert!(read(replays.after("ann's", &ids(&last)).unwrap()).await.is_empty());
}

#[test]
fn ids_of_others_and_made_up_ones_are_unknown() {
    let replays = Replays::default();
    let writing = replays.begin("ann's");
    let id = ids(&writing.event(b"1"));
    assert!(replays.after("ann's", &id).is_some());
    assert!(replays.after("bob's", &id).is_none());
    let number = id.split_once('-').unwrap().0;
    for id in ["", "-", "1", "0-0", "x-0", &format!("{number}-1"), &format!("{number}-{}", u64::MAX)] {
        assert!(replays.after("ann's", id).is_none(), "{id}");
    }
    assert!(Replays::default().after("ann's", &id).is_none(), "another process");
}

#[test]
fn old_events_are_dropped_and_then_not_skipped() {
    let replays = Replays::default();
    let writing = replays.begin("a");
    let first: Vec<_> = (0..2).map(|_| ids(&writing.event(b"{}"))).collect();
    for _ in 0..MOST_EVENTS - 1 {
        writing.event(b"{}");
    }
    assert!(replays.after("a", &first[0]).is_some(), "all after it is here");
    writing.event(b"{}");
    assert!(replays.after("a", &first[0]).is_none() && replays.after("a", &first[1]).is_some());
    let large = writing.event(&vec![b'x'; MOST_STREAM_BYTES + 1]);
    assert!(replays.after("a", &first[1]).is_none());
    assert!(replays.after("a", &ids(&large)).is_some(), "nothing came after it");
    assert_eq!(replays.bytes.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn streams_are_kept_for_a_while() {
    let replays = Replays::default();
    let (running, ended) = (replays.begin("a"), replays.begin("a"));
    let [running_id, ended_id] = [&running, &ended].map(|one| ids(&one.event(b"{}")));
    drop(ended);
    replays.reap();
    assert!(replays.after("a", &ended_id).is_some());
    tokio::time::advance(KEPT).await;
    replays.reap();
    assert!(replays.after("a", &ended_id).is_none() && replays.after("a", &running_id).is_some());
    assert!(replays.bytes.load(Ordering::Relaxed) > 0);
    drop(replays.streams.lock().unwrap().pop_first());
    drop(running);
    assert_eq!(replays.bytes.load(Ordering::Relaxed), 0, "nothing is left behind");
}
