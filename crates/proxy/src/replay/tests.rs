//! Kept streams: who goes on with one, from where, and what is no longer kept.

use super::*;

fn ids(event: &Bytes) -> String {
    String::from_utf8(sse::Event::read(event.clone()).id.unwrap().to_vec()).unwrap()
}

fn going(replays: &Replays, owner: &str, id: &str) -> mpsc::Receiver<Bytes> {
    match replays.after(owner, id) {
        Some(After::Going(events)) => events,
        other => panic!("{other:?}"),
    }
}

fn over(replays: &Replays, owner: &str, id: &str) -> Vec<Bytes> {
    match replays.after(owner, id) {
        Some(After::Over(events)) => events,
        other => panic!("{other:?}"),
    }
}

async fn all(mut events: mpsc::Receiver<Bytes>) -> Vec<Bytes> {
    let mut read = Vec::new();
    while let Some(event) = events.recv().await {
        read.push(event);
    }
    read
}

#[tokio::test]
async fn what_was_missed_and_what_comes_is_sent_again() {
    let replays = Replays::default();
    let writing = replays.begin("ann's");
    let events = [writing.primer(), writing.event(b"1"), writing.event(b"2")];
    assert!(!writing.is_read());
    let reading = going(&replays, "ann's", &ids(&events[0]));
    assert!(writing.is_read());
    let last = writing.event(b"3");
    drop(writing);
    assert_eq!(all(reading).await, [events[1].clone(), events[2].clone(), last.clone()]);
    // It is over, and what is asked for again comes again.
    assert_eq!(over(&replays, "ann's", &ids(&events[2])), std::slice::from_ref(&last));
    assert!(over(&replays, "ann's", &ids(&last)).is_empty());
}

#[tokio::test]
async fn who_goes_on_with_a_stream_takes_it_over() {
    let replays = Replays::default();
    let (writing, events) = replays.listen("a", vec![Bytes::from_static(b"missed")]);
    let first = writing.event(b"1");
    let after = going(&replays, "a", &ids(&first));
    let second = writing.event(b"2");
    assert_eq!(all(events).await, [Bytes::from_static(b"missed"), first]);
    drop(writing);
    assert_eq!(all(after).await, [second]);
}

#[tokio::test]
async fn who_reads_too_slowly_comes_back_for_the_rest() {
    let replays = Replays::default();
    let (writing, events) = replays.listen("a", Vec::new());
    let first = writing.event(b"0");
    for _ in 0..QUEUE {
        writing.event(b"1");
    }
    assert!(!writing.is_read());
    assert_eq!(all(events).await.len(), QUEUE);
    // A call would lack something; what belongs to none goes on with what there is.
    writing.event(b"2");
    drop(writing);
    assert_eq!(over(&replays, "a", &ids(&first)).len(), MOST_EVENTS);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_left_when_nobody_reads_it_for_a_while() {
    let replays = Replays::default();
    let (writing, events) = replays.listen("a", Vec::new());
    let id = ids(&writing.primer());
    let left = tokio::spawn(writing.left());
    tokio::time::sleep(AWAY * 10).await;
    drop(events);
    tokio::time::sleep(AWAY).await;
    let events = going(&replays, "a", &id);
    tokio::time::sleep(AWAY * 10).await;
    assert!(!left.is_finished(), "read again");
    drop(events);
    tokio::time::sleep(AWAY * 2 + Duration::from_millis(1)).await;
    assert!(left.is_finished());
}

#[test]
fn ids_of_others_and_made_up_ones_are_unknown() {
    let replays = Replays::default();
    let writing = replays.begin("ann's");
    let id = ids(&writing.event(b"1"));
    assert!(replays.after("ann's", &id).is_some());
    assert!(replays.after("bob's", &id).is_none());
    assert!(replays.after("ann's", &format!("{LISTENING}{id}")).is_none());
    let number = id.split_once('-').unwrap().0;
    for id in ["", "-", "1", "0-0", "x-0", &format!("{number}-1"), &format!("{number}-{}", u64::MAX)] {
        assert!(replays.after("ann's", id).is_none(), "{id}");
    }
    assert!(Replays::default().after("ann's", &id).is_none(), "another process");
    let (listening, _events) = replays.listen("ann's", Vec::new());
    let id = ids(&listening.primer());
    assert!(is_of_listening(&id) && replays.after("bob's", &id).is_none());
    assert!(replays.after("ann's", id.trim_start_matches(LISTENING)).is_none());
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
async fn events_and_streams_are_kept_for_a_while() {
    let replays = Replays::default();
    let (running, ended) = (replays.begin("a"), replays.begin("a"));
    let [running_id, ended_id] = [&running, &ended].map(|one| ids(&one.event(b"{}")));
    drop(ended);
    replays.reap();
    assert!(replays.after("a", &ended_id).is_some());
    tokio::time::advance(KEPT - Duration::from_secs(1)).await;
    let later = running.event(b"{}");
    tokio::time::advance(Duration::from_secs(1)).await;
    replays.reap();
    assert!(replays.after("a", &ended_id).is_none() && replays.after("a", &running_id).is_some());
    assert_eq!(replays.bytes.load(Ordering::Relaxed), later.len(), "the event of then is no longer kept");
    drop(replays.streams.lock().unwrap().pop_first());
    drop(running);
    assert_eq!(replays.bytes.load(Ordering::Relaxed), 0, "nothing is left behind");
}
