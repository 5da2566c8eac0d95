//! Cases about backend sessions. Times are arguments, so no case waits.

use catalog::time::Timestamp;

use super::samples::NOW;
use crate::Store;

pub(super) async fn are_kept_and_overwritten(open: &impl AsyncFn() -> Box<dyn Store>) {
    let store = open().await;
    check(&*store, "a", NOW, None).await;
    keep(&*store, "a", b"one", 60).await;
    keep(&*store, "b", b"\0\xff bytes", 60).await;
    keep(&*store, "A", b"", 60).await;
    check(&*store, "a", NOW, Some(b"one")).await;
    check(&*store, "b", NOW, Some(b"\0\xff bytes")).await;
    check(&*store, "A", NOW, Some(b"")).await;
    keep(&*store, "a", b"two", 120).await;
    check(&*store, "a", NOW.plus_seconds(61), Some(b"two")).await;
    assert_eq!(*store.changes().borrow(), 0, "sessions are no change of the catalog");
}

pub(super) async fn end_at_their_time(open: &impl AsyncFn() -> Box<dyn Store>) {
    let store = open().await;
    keep(&*store, "a", b"one", 60).await;
    check(&*store, "a", Timestamp(NOW.plus_seconds(60).0 - 1), Some(b"one")).await;
    check(&*store, "a", NOW.plus_seconds(60), None).await;
    keep(&*store, "past", b"one", -1).await;
    check(&*store, "past", NOW, None).await;
}

pub(super) async fn are_forgotten(open: &impl AsyncFn() -> Box<dyn Store>) {
    let store = open().await;
    keep(&*store, "a", b"one", 60).await;
    keep(&*store, "ab", b"other", 60).await;
    store.forget_session("a").await.expect("the session is dropped");
    store.forget_session("a").await.expect("dropping it again is no fault");
    check(&*store, "a", NOW, None).await;
    check(&*store, "ab", NOW, Some(b"other")).await;
}

pub(super) async fn are_swept(open: &impl AsyncFn() -> Box<dyn Store>) {
    let store = open().await;
    assert_eq!(store.sweep(NOW).await.expect("nothing to sweep"), 0);
    for index in 0..30 {
        keep(&*store, &format!("s{index}"), b"x", index * 10).await;
    }
    let now = NOW.plus_seconds(100);
    assert_eq!(store.sweep(now).await.expect("the sweep works"), 11, "those of 0 to 100 s");
    assert_eq!(store.sweep(now).await.expect("the sweep works"), 0);
    check(&*store, "s10", NOW, None).await;
    check(&*store, "s11", now, Some(b"x")).await;
}

pub(super) async fn survive_a_restart(open: &impl AsyncFn() -> Box<dyn Store>) {
    let store = open().await;
    keep(&*store, "a", b"one", 60).await;
    drop(store);
    check(&*open().await, "a", NOW, Some(b"one")).await;
}

async fn keep(store: &dyn Store, key: &str, value: &[u8], seconds: i64) {
    let expires_at = NOW.plus_seconds(seconds);
    store.keep_session(key, value.to_vec(), expires_at).await.expect("the session is kept");
}

async fn check(store: &dyn Store, key: &str, now: Timestamp, expected: Option<&[u8]>) {
    let found = store.session(key, now).await.expect("the store answers");
    assert_eq!(found.as_deref(), expected, "session {key}");
}
