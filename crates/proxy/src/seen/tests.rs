//! What is remembered of resources: by whom, how much, how long.

use super::*;
use crate::stage::{self, key};

#[test]
fn the_last_version_that_named_a_resource_owns_it() {
    let seen = Seen::default();
    let (a, b) = (key("/a", "v1"), key("/b", "v1"));
    seen.note("ann", "x://1", &a);
    seen.note("ann", "x://1", &b);
    seen.note("ann", "x://2", &a);
    assert_eq!(seen.owner("ann", "x://1"), Some(b));
    assert_eq!(seen.owner("ann", "x://2"), Some(a));
    assert_eq!(seen.owner("ann", "x://3"), None);
    assert_eq!(seen.owner("bob", "x://1"), None, "it is nobody else's");
    seen.forget("ann");
    assert_eq!(seen.owner("ann", "x://1"), None);
}

#[test]
fn what_was_named_longest_ago_is_forgotten_first() {
    let seen = Seen::default();
    let a = key("/a", "v1");
    for number in 0..=MOST_URIS {
        seen.note("ann", &format!("x://{number}"), &a);
    }
    assert_eq!(seen.owner("ann", "x://0"), None);
    assert!(seen.owner("ann", "x://1").is_some());
    for number in 0..20 {
        seen.note("bob", &format!("x://{number}/{}", "y".repeat(1000)), &a);
    }
    let held = |number: i32| seen.owner("bob", &format!("x://{number}/{}", "y".repeat(1000))).is_some();
    assert_eq!((0..20).filter(|&number| held(number)).collect::<Vec<_>>(), (4..20).collect::<Vec<_>>());
    seen.note("bob", &"z".repeat(MOST_BYTES + 1), &a);
    assert!(!held(19), "one that is too long by itself leaves nothing, and does no harm");
}

#[tokio::test(start_paused = true)]
async fn clients_are_forgotten_when_they_are_many_or_long_away() {
    let seen = Seen::default();
    let a = key("/a", "v1");
    seen.note("first", "x://1", &a);
    tokio::time::advance(Duration::from_secs(1)).await;
    for number in 0..8 * MOST_CLIENTS {
        seen.note(&format!("client {number}"), "x://1", &a);
    }
    assert_eq!(seen.owner("first", "x://1"), None);
    let held = || seen.shards.iter().map(|shard| shard.lock().unwrap().len()).sum::<usize>();
    assert_eq!(held(), MOST_CLIENTS);
    seen.note("ann", "x://1", &a);
    tokio::time::advance(IDLE - Duration::from_secs(1)).await;
    assert!(seen.owner("ann", "x://1").is_some(), "a use counts");
    tokio::time::advance(Duration::from_secs(1)).await;
    seen.reap();
    assert_eq!(held(), 1);
}

#[test]
fn callers_are_told_apart_and_the_nameless_are_not_remembered() {
    let mut catalog = catalog::Catalog::default();
    stage::add_server(&mut catalog, "/a", &["v1"], "http://127.0.0.1:9/mcp", None);
    for slug in ["one", "two"] {
        stage::add_virtual(&mut catalog, slug, &[("t", "/a")]);
    }
    let table = stage::table(&catalog);
    let (one, two) = (table.virtual_server("one").unwrap(), table.virtual_server("two").unwrap());
    let ann = stage::caller("ann");
    let name = |target: &VirtualTarget, principal: &Principal| client(target, principal, None);
    assert_eq!(name(one, &ann), name(one, &ann.clone()));
    assert_ne!(name(one, &ann), name(two, &ann));
    assert_ne!(name(one, &ann), name(one, &stage::caller("bob")));
    assert_eq!(name(one, &Principal::anonymous()), None);
}
