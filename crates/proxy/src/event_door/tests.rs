//! What the gateway's stories do not show of an event stream: its bounds.

use std::time::Duration;

use bytes::Bytes;

use super::door::Door;
use super::*;
use crate::answered::Listener;
use crate::stage::caller;

#[test]
fn the_door_stands_beside_the_endpoint() {
    for (path, expected) in [
        ("/a/sse", Some("/a")),
        ("/virtual/v/sse/", Some("/virtual/v")),
        ("/a/b/sse", Some("/a/b")),
        ("/a/mcp", None),
        ("/asse", None),
        ("/sse", Some("")),
    ] {
        assert_eq!(endpoint(path), expected, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_reads_too_slowly_is_given_up() {
    let (door, mut receiver) = Door::new("/a", &Arc::new(caller("ann")), None);
    let large = Bytes::from(vec![b'1'; 12 << 20]);
    assert!(door.tell(large.clone()).await);
    let begun = tokio::time::Instant::now();
    assert!(!door.tell(large.clone()).await, "there is room for one of them");
    assert!(begun.elapsed() >= Duration::from_secs(30));
    tokio::time::timeout(Duration::from_secs(1), door.given_up()).await.expect("the stream closes");
    // What was read makes room.
    drop(receiver.recv().await);
    assert!(door.tell(large).await);
}

#[tokio::test]
async fn so_many_requests_and_one_greeting() {
    let (door, receiver) = Door::new("/a", &Arc::new(caller("ann")), None);
    let places: Vec<_> = std::iter::from_fn(|| door.take_place()).collect();
    assert_eq!(places.len(), 64);
    assert!(door.begin());
    assert!(!door.begin());
    door.begun(None, true);
    assert!(door.begin(), "one that failed may be tried again");
    drop(receiver);
    door.gone().await;
    assert!(!door.tell(Bytes::from_static(b"{}")).await);
}
