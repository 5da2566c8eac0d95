//! What events tell of their place, and when a stream is gone on with.

use super::*;
use crate::stage;

fn noted(events: &[&'static str]) -> Trail {
    let mut trail = Trail::default();
    for event in events {
        trail.note(&Event::read(Bytes::from_static(event.as_bytes())));
    }
    trail
}

#[test]
fn the_last_id_and_the_last_pause_count() {
    let check = |events: &[&'static str], id: Option<&str>, pause_ms: Option<u64>| {
        let trail = noted(events);
        assert_eq!(trail.last_id.as_deref(), id.map(str::as_bytes), "{events:?}");
        assert_eq!(trail.pause, pause_ms.map(Duration::from_millis), "{events:?}");
    };
    check(&[], None, None);
    check(&["data: {}\n\n"], None, None);
    check(&["id: 1\ndata: \n\n", "id: 2\nretry: 500\ndata: {}\n\n", "data: {}\n\n"], Some("2"), Some(500));
    check(&["id: 1\n\n", "id\n\n"], None, None);
    check(&["id: 1\nretry: 99999999\n\n"], Some("1"), Some(60_000));
    check(&["retry: 99999999999999999999999\n\n"], None, Some(60_000));
}

#[tokio::test]
async fn only_streams_with_ids_are_resumed_and_not_for_ever() {
    let errand = stage::errand();
    let end = backend::Error::Broken { reason: "reset".into() };
    let silence = backend::Error::TimedOut { what: "the answer", may_have_run: true };
    assert!(noted(&["data: {}\n\n"]).resume(None, Some(&errand)).is_none());
    let mut trail = noted(&["id: 1\n\n"]);
    assert!(trail.resume(None, None).is_none(), "there is no session to do it in");
    assert!(trail.resume(Some(&silence), Some(&errand)).is_none());
    assert!(!trail.is_resumed());
    for _ in 0..MOST_RESUMED {
        assert!(trail.resume(Some(&end), Some(&errand)).is_some());
    }
    assert!(trail.is_resumed() && trail.resume(None, Some(&errand)).is_none());
}
