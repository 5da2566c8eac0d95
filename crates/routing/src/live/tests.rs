use std::sync::{Arc, Mutex};

use super::Live;
use crate::Table;

fn table(revision: u64) -> Table {
    Table { revision, ..Table::default() }
}

#[test]
fn a_request_keeps_the_table_it_loaded() {
    let live = Live::new(table(1));
    let (held, kept) = (live.load(), live.full());
    live.publish(Arc::new(table(2)));
    assert_eq!((held.revision, kept.revision, live.load().revision), (1, 1, 2));
}

#[test]
fn observers_see_each_publication_once_and_in_order() {
    let live = Live::new(table(1));
    live.publish(Arc::new(table(2)));
    let seen = Arc::new(Mutex::new(Vec::new()));
    for name in ["first", "second"] {
        let seen = seen.clone();
        live.subscribe(Box::new(move |old, new| {
            seen.lock().unwrap().push((name, old.revision, new.revision));
        }));
    }
    live.publish(Arc::new(table(3)));
    live.publish(Arc::new(table(4)));
    let expected = [("first", 2, 3), ("second", 2, 3), ("first", 3, 4), ("second", 3, 4)];
    assert_eq!(*seen.lock().unwrap(), expected);
}
