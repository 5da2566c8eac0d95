//! Files that an older version made.

use catalog::time::Timestamp;
use rusqlite::Connection;

use super::{CATALOG_STEPS, Kind, open};
use crate::audit::{Entry, Outcome, Query};
use crate::embedded::audit;

#[test]
fn the_trail_of_an_older_file_is_taken_over_and_no_id_comes_twice() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("catalog.db");
    let old = Connection::open(&file).unwrap();
    for step in &CATALOG_STEPS[..2] {
        old.execute_batch(step).unwrap();
    }
    old.execute_batch(
        "INSERT INTO audit (at, actor, action, object, outcome, detail, source) VALUES
            (1, 'admin', 'server.register', '/x', 'ok', '', '127.0.0.1'),
            (2, 'bob', 'server.delete', '/x', 'refused', 'no', NULL),
            (3, 'admin', 'server.delete', '/x', 'ok', '', NULL);
        DELETE FROM audit WHERE id = 3;
        PRAGMA user_version = 2;",
    )
    .unwrap();
    drop(old);

    let mut new = open(&file, Kind::Catalog).unwrap();
    let first = Entry {
        at: Timestamp(1),
        actor: "admin".into(),
        action: "server.register".into(),
        object: Some("/x".into()),
        outcome: Outcome::Ok,
        detail: String::new(),
        source: Some("127.0.0.1".parse().unwrap()),
        data: None,
    };
    let second = Entry {
        at: Timestamp(2),
        actor: "bob".into(),
        action: "server.delete".into(),
        outcome: Outcome::Refused,
        detail: "no".into(),
        source: None,
        ..first.clone()
    };
    let third = Entry { outcome: Outcome::Failed, data: Some("{}".into()), ..second.clone() };
    audit::append(&new, &third).unwrap();
    let kept = audit::find(&mut new, &Query { limit: 10, ..Query::default() }).unwrap().entries;
    let kept: Vec<_> = kept.into_iter().map(|kept| (kept.id, kept.entry)).collect();
    assert_eq!(kept, [(4, third), (2, second), (1, first)]);
}
