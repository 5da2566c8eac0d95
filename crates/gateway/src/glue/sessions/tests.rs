//! Sessions on a real store: what was put is read back, before and after it is written.

use proxy::sessions::SessionStore;
use store::embedded::EmbeddedStore;
use store::record::Sealer;

use super::*;

struct Plain;

impl Sealer for Plain {
    fn seal(&self, plain: &str) -> String {
        plain.into()
    }

    fn open(&self, sealed: &str) -> Option<String> {
        Some(sealed.into())
    }
}

async fn open(folder: &std::path::Path) -> (Arc<dyn Store>, Sessions) {
    let store = EmbeddedStore::open(folder, Arc::new(Plain)).await.expect("the store opens");
    let store: Arc<dyn Store> = Arc::new(store);
    (store.clone(), Sessions(StoredSessions::new(store)))
}

#[tokio::test]
async fn what_was_put_is_read_before_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, sessions) = open(folder.path()).await;
    sessions.put("a".into(), b"1".to_vec(), 60);
    sessions.put("a".into(), b"2".to_vec(), 60);
    sessions.put("gone".into(), b"x".to_vec(), 0);
    assert_eq!(sessions.get("a".into()).await, Some(b"2".to_vec()));
    assert_eq!(sessions.get("gone".into()).await, None);
    assert_eq!(sessions.get("b".into()).await, None);
    assert_eq!(store.session("a", Timestamp::now()).await.expect("a read"), None);
}

#[tokio::test]
async fn a_flush_leaves_everything_in_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, sessions) = open(folder.path()).await;
    let writer = tokio::spawn({
        let sessions = sessions.clone();
        async move { sessions.0.run().await }
    });
    sessions.0.flush().await;
    for round in 0..3u8 {
        for key in 0..50 {
            sessions.put(key.to_string(), vec![round], 60);
        }
        tokio::task::yield_now().await;
    }
    sessions.0.flush().await;
    writer.abort();
    for key in 0..50 {
        let kept = store.session(&key.to_string(), Timestamp::now()).await.expect("a read");
        assert_eq!(kept, Some(vec![2]), "{key}");
    }
    assert!(sessions.0.lock().order.is_empty());
}

#[tokio::test]
async fn more_than_may_wait_is_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, sessions) = open(folder.path()).await;
    for key in 0..=MAX_WAITING {
        sessions.put(key.to_string(), Vec::new(), 60);
    }
    assert_eq!(sessions.0.lock().writes.len(), MAX_WAITING);
    sessions.put("7".into(), b"later".to_vec(), 60);
    assert_eq!(sessions.get("7".into()).await, Some(b"later".to_vec()));
}
