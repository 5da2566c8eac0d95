//! The log of changes: carried over beside them, and never for ever.

use std::sync::Arc;
use std::time::Duration;

use catalog::inventory::Inventory;

use super::open;
use crate::Store;
use crate::change::{Change, Edit};
use crate::conformance::samples::*;
use crate::embedded::{checkpoint, locked};

/// Longest wait for what is done in the background.
const PATIENCE: Duration = Duration::from_secs(10);

fn large(names: usize) -> Inventory {
    let names: Vec<String> = (0..names).map(|number| format!("tool{number}")).collect();
    inventory(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_long_log_is_carried_over_beside_changes() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path()).await;
    store.apply(Change::new(vec![Edit::put_server(None, Arc::new(server("/context7")))])).await.unwrap();
    let pages = || checkpoint::waiting(&locked(&store.inner.catalog)).unwrap();
    let few = pages();
    assert!(few > 0 && few < checkpoint::PAGES, "{few} pages of a small change wait");
    // About 80 bytes a tool and 16 KiB a page.
    let inventory = Arc::new(large(2 * 200 * usize::try_from(checkpoint::PAGES).unwrap()));
    store.apply(Change::new(vec![Edit::PutInventory(key("/context7", "v2.0.0"), inventory)])).await.unwrap();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while pages() > 0 {
        assert!(tokio::time::Instant::now() < deadline, "{} pages wait still", pages());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(store.load().await.unwrap().inventories.len(), 1);
}

#[tokio::test]
async fn what_a_reader_holds_back_is_carried_over_later() {
    let place = tempfile::tempdir().unwrap();
    let store = open(place.path()).await;
    store.apply(Change::default()).await.unwrap();
    let reader = super::super::database::open_to_read(&store.inner.file).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM state").unwrap();
    store.apply(Change::default()).await.unwrap();
    let carried = |store: &super::EmbeddedStore| checkpoint::carry_over(&locked(&store.inner.checkpoint));
    assert!(carried(&store).unwrap() > 0, "the reader sees what was before the second change");
    assert_eq!(store.apply(Change::default()).await.unwrap(), 3, "changes go on");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(carried(&store).unwrap(), 0);
}
