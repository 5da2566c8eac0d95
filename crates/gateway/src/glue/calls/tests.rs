use std::time::Instant;

use catalog::time::Timestamp;
use store::audit::Query;
use store::embedded::EmbeddedStore;

use super::*;

struct Plain;

impl store::record::Sealer for Plain {
    fn seal(&self, plain: &str) -> String {
        plain.into()
    }

    fn open(&self, sealed: &str) -> Option<String> {
        Some(sealed.into())
    }
}

fn ended() -> Ended {
    Ended {
        at: Timestamp(1),
        caller: "ann".into(),
        endpoint: "/github".into(),
        method: "tools/call",
        name: "search".into(),
        version: None,
        outcome: Outcome::Ok,
        took: Duration::from_micros(1500),
    }
}

#[tokio::test]
async fn what_finds_no_room_is_dropped_and_the_rest_is_kept_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(folder.path(), Arc::new(Plain)).await.unwrap());
    let calls = Calls::new(store.clone());
    let began = Instant::now();
    for number in 0..MAX_WAITING + 10 {
        calls.note(Ended { name: number.to_string(), ..ended() });
    }
    assert!(began.elapsed() < Duration::from_secs(5), "nothing is waited for");
    calls.flush().await;
    let page = store.audit(Query { limit: 2, ..Query::default() }).await.unwrap();
    assert_eq!(page.total, MAX_WAITING as u64);
    let newest = &page.entries[0].entry;
    assert_eq!((&*newest.action, &*newest.detail), ("mcp.tools/call", &*(MAX_WAITING - 1).to_string()));
    assert_eq!(newest.data.as_deref(), Some(r#"{"duration_ms":1.5}"#));
}
