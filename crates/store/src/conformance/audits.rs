//! Cases about the audit trail.

use std::sync::Arc;

use super::samples::*;
use crate::audit::{Entry, Outcome, Query, Retention};
use crate::change::{Change, Edit, Expect};
use crate::{Error, Store};

pub(super) async fn are_kept_with_their_change(open: &impl AsyncFn() -> Box<dyn Store>) {
    let store = open().await;
    assert_eq!(found(&*store, Query { limit: 10, ..Query::default() }).await, (vec![], 0));
    let first = entry("ada", "group.create", Some("staff"), 0);
    store.apply(change(1).with_entry(first.clone())).await.expect("the change is stored");
    let second = Entry {
        outcome: Outcome::Refused,
        detail: "Größe \"1\"\n".into(),
        data: Some(r#"{"before":null,"after":{"a":"ö"}}"#.into()),
        source: Some("2001:db8::1".parse().expect("an address")),
        ..entry("grace", "server.delete", None, 1)
    };
    store.append_audit(vec![second.clone()]).await.expect("the entry is kept");
    let stale = change(2).with_entry(entry("ada", "group.edit", Some("staff"), 2));
    let refused = store.apply(stale.expecting(Expect::Group("staff".into(), None))).await;
    assert!(matches!(refused, Err(Error::Moved { .. })), "{refused:?}");
    assert_eq!(*store.changes().borrow(), 1, "an entry alone is no change of the catalog");
    drop(store);
    let store = open().await;
    let page = store.audit(Query { limit: 10, ..Query::default() }).await.expect("the trail is read");
    let ids: Vec<u64> = page.entries.iter().map(|kept| kept.id).collect();
    assert!(ids.is_sorted_by(|one, next| one > next), "ids grow: {ids:?}");
    let entries: Vec<Entry> = page.entries.into_iter().map(|kept| kept.entry).collect();
    assert_eq!(entries, [second, first], "newest first, and nothing of the change that was not stored");
}

pub(super) async fn are_found_by_what_was_asked(open: &impl AsyncFn() -> Box<dyn Store>) {
    let store = open().await;
    let deeds = [
        ("ada", "server.register", "/a"),
        ("ada", "server.edit", "/a"),
        ("grace", "server.edit", "/a/b"),
        ("grace", "server_x.edit", "server"),
        ("ada", "version.activate", "/a"),
    ];
    for (index, (actor, action, object)) in deeds.into_iter().enumerate() {
        let seconds = i64::try_from(index).expect("a handful");
        store
            .append_audit(vec![entry(actor, action, Some(object), seconds)])
            .await
            .expect("the entry is kept");
    }
    let all = Query { limit: 10, ..Query::default() };
    let text = |text: &str| Some(text.to_owned());
    let cases = [
        (all.clone(), vec![4, 3, 2, 1, 0], 5),
        (Query { limit: 2, offset: 1, ..all.clone() }, vec![3, 2], 5),
        (Query { limit: 2, offset: 9, ..all.clone() }, vec![], 5),
        (Query { actor: text("grace"), ..all.clone() }, vec![3, 2], 2),
        (Query { actor: text("Grace"), ..all.clone() }, vec![], 0),
        (Query { action: text("server.edit"), ..all.clone() }, vec![2, 1], 2),
        (Query { action: text("server"), ..all.clone() }, vec![2, 1, 0], 3),
        (Query { action: text("serv"), ..all.clone() }, vec![], 0),
        (Query { action: text("%"), ..all.clone() }, vec![], 0),
        (Query { object: text("/a"), ..all.clone() }, vec![4, 1, 0], 3),
        (Query { since: Some(NOW.plus_seconds(3)), ..all.clone() }, vec![4, 3], 2),
        (Query { until: Some(NOW.plus_seconds(3)), ..all.clone() }, vec![2, 1, 0], 3),
        (Query { outcome: Some(Outcome::Failed), ..all.clone() }, vec![], 0),
        (Query { outcome: Some(Outcome::Ok), limit: 1, ..all.clone() }, vec![4], 5),
        (Query { actor: text("ada"), object: text("/a"), limit: 1, ..all.clone() }, vec![4], 3),
        // Ids begin with 1 here.
        (Query { below: Some(3), ..all.clone() }, vec![1, 0], 0),
    ];
    for (query, expected, total) in cases {
        let asked = format!("{query:?}");
        let seconds = expected.into_iter().collect::<Vec<i64>>();
        assert_eq!(found(&*store, query).await, (seconds, total), "{asked}");
    }
}

pub(super) async fn are_swept(open: &impl AsyncFn() -> Box<dyn Store>) {
    let store = open().await;
    for seconds in 0..12 {
        let outcome = if seconds % 2 == 0 { Outcome::Ok } else { Outcome::Refused };
        let entry = Entry { outcome, ..entry("ada", "server.edit", None, seconds) };
        store.append_audit(vec![entry]).await.expect("the entry is kept");
    }
    let all = Query { limit: 100, ..Query::default() };
    let check = async |since: i64, most: u64, most_refused: u64, dropped: u64, left: &[i64]| {
        let keep = Retention { since: NOW.plus_seconds(since), most, most_calls: 0, most_refused };
        assert_eq!(store.sweep_audit(keep).await.expect("the sweep works"), dropped, "{keep:?}");
        assert_eq!(found(&*store, all.clone()).await.0, left, "{keep:?}");
    };
    let calls = (0..4).map(|_| entry("ada", "mcp.tools/call", Some("/a"), 5)).collect();
    store.append_audit(calls).await.expect("the entries are kept");
    let mut keep = Retention { since: NOW, most: 100, most_calls: 3, most_refused: 100 };
    assert_eq!(store.sweep_audit(keep).await.expect("the sweep works"), 1, "calls are counted apart");
    keep.most_calls = 0;
    assert_eq!(store.sweep_audit(keep).await.expect("the sweep works"), 3);
    check(0, 100, 100, 0, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]).await;
    check(2, 100, 100, 2, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2]).await;
    check(2, 8, 100, 2, &[11, 10, 9, 8, 7, 6, 5, 4]).await;
    check(2, 8, 1, 3, &[11, 10, 8, 6, 4]).await;
    check(99, 0, 0, 5, &[]).await;
    store.append_audit(vec![entry("ada", "server.edit", None, 12)]).await.expect("the entry is kept");
    let page = store.audit(all).await.expect("the trail is read");
    assert_eq!(page.entries[0].id, 17, "an id comes only once");
}

fn entry(actor: &str, action: &str, object: Option<&str>, seconds: i64) -> Entry {
    Entry {
        at: NOW.plus_seconds(seconds),
        actor: actor.into(),
        action: action.into(),
        object: object.map(Into::into),
        outcome: Outcome::Ok,
        detail: String::new(),
        data: None,
        source: None,
    }
}

fn change(revision: u64) -> Change {
    Change::new(vec![Edit::PutGroup(Arc::new(group("staff", revision)))])
}

/// Returns the seconds at which the found entries were made, and how many match.
async fn found(store: &dyn Store, query: Query) -> (Vec<i64>, u64) {
    let page = store.audit(query).await.expect("the trail is read");
    let seconds = page.entries.iter().map(|kept| (kept.entry.at.0 - NOW.0) / 1000);
    (seconds.collect(), page.total)
}
