//! Who is due when, with servers that come, change their active version and go.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::VersionKey;
use catalog::endpoint::Endpoint;
use catalog::name::{ServerPath, VersionLabel};
use catalog::server::{Server, Version};
use catalog::time::Timestamp;

use super::Schedule;

const NOW: Timestamp = Timestamp(0);

fn version(label: &str) -> Version {
    let url = "http://127.0.0.1:1/mcp".parse().unwrap();
    Version::new(VersionLabel::parse("version", label).unwrap(), Endpoint::at(url), NOW)
}

/// A server with two versions, of which `active` is active.
fn server(path: &str, active: &str) -> Server {
    let path = ServerPath::parse("path", path).unwrap();
    let mut server = Server::new(path, "a server".to_owned(), version("v1"), NOW);
    server.is_enabled = true;
    let server = server.add(version("v2"), NOW).unwrap();
    if active == "v1" { server } else { server.activate(active, NOW).unwrap() }
}

fn all(servers: impl IntoIterator<Item = Server>) -> Arc<BTreeMap<ServerPath, Arc<Server>>> {
    Arc::new(servers.into_iter().map(|server| (server.path.clone(), Arc::new(server))).collect())
}

fn key(path: &str, label: &str) -> VersionKey {
    VersionKey::new(
        &ServerPath::parse("path", path).unwrap(),
        &VersionLabel::parse("version", label).unwrap(),
    )
}

#[test]
fn the_soonest_is_taken_first_and_comes_again_when_it_ended() {
    let mut schedule = Schedule::default();
    let start = Instant::now();
    let later = |seconds| start + Duration::from_secs(seconds);
    let servers = all([server("/a", "v1"), server("/b", "v1")]);
    assert!(schedule.follow(&servers, |key| later(if key.path.as_str() == "/a" { 2 } else { 1 })));
    assert!(!schedule.follow(&servers, |_| unreachable!("nothing was written")));
    assert_eq!(schedule.next(), Some(later(1)));
    assert_eq!(schedule.take(start), None);
    assert_eq!(schedule.take(later(3)), Some(key("/b", "v1")));
    assert_eq!(schedule.take(later(3)), Some(key("/a", "v1")));
    assert_eq!((schedule.take(later(9)), schedule.next()), (None, None), "both run");
    schedule.ended(key("/a", "v1"), later(5));
    assert_eq!(schedule.next(), Some(later(5)));
}

#[test]
fn a_version_that_is_no_longer_active_leaves() {
    let mut schedule = Schedule::default();
    let start = Instant::now();
    schedule.follow(&all([server("/a", "v1"), server("/b", "v1")]), |_| start);
    assert_eq!(schedule.take(start).map(|key| key.label.to_string()), Some("v1".to_owned()));
    schedule.follow(&all([server("/a", "v2")]), |_| start);
    assert_eq!(schedule.take(start), Some(key("/a", "v2")));
    assert_eq!(schedule.take(start), None, "of the one that waited nothing is left");
    for path in ["/a", "/b"] {
        schedule.ended(key(path, "v1"), start);
    }
    assert_eq!(schedule.next(), None, "nor of the one that ran");
}

#[test]
fn a_version_that_comes_back_while_its_probe_runs_is_not_probed_twice_at_once() {
    let mut schedule = Schedule::default();
    let start = Instant::now();
    schedule.follow(&all([server("/a", "v1")]), |_| start);
    assert_eq!(schedule.take(start), Some(key("/a", "v1")));
    schedule.follow(&all([]), |_| start);
    schedule.follow(&all([server("/a", "v1")]), |_| start);
    assert_eq!(schedule.take(start), None);
    schedule.ended(key("/a", "v1"), start);
    assert_eq!(schedule.take(start), Some(key("/a", "v1")));
}
