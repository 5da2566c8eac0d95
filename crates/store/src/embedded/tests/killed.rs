//! A process that is killed while it writes leaves what it acknowledged, or the one change after it, whole.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::Catalog;

use super::open;
use crate::change::{Change, Edit, Expect};
use crate::conformance::assert_same;
use crate::conformance::samples::*;
use crate::{Pending, Store};

/// Tells the child which directory to write to. Without it the child's test does nothing.
const DIRECTORY: &str = "SWITCHYARD_TEST_KILLED_DIRECTORY";

const ROUNDS: u64 = 20;

#[tokio::test(flavor = "multi_thread")]
async fn keeps_what_was_acknowledged() {
    let place = tempfile::tempdir().expect("a directory");
    let mut expected = Catalog::default();
    for round in 0..ROUNDS {
        let acknowledged = write_until_killed(place.path(), round);
        let store = open(place.path()).await;
        let found = store.load().await.unwrap();
        let last = acknowledged.unwrap_or(expected.revision);
        let one_of = last..=last + 1;
        assert!(one_of.contains(&found.revision), "round {round}: {one_of:?}, found {}", found.revision);
        while expected.revision < found.revision {
            advance(&mut expected);
        }
        assert_same(&found, &expected);
    }
    assert!(expected.revision > ROUNDS, "the child hardly wrote: {}", expected.revision);
}

/// The child: goes on writing from where the store is, and says each revision that was acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let store = open(Path::new(&directory)).await;
    let mut revision = store.load().await.unwrap().revision;
    let mut out = std::io::stdout();
    loop {
        let written: Pending<'_, u64> = store.apply(change(revision));
        revision = written.await.unwrap();
        // Fails once the parent has gone, which ends a child that was forgotten.
        writeln!(out, "\nacknowledged {revision}").and_then(|()| out.flush()).unwrap();
    }
}

/// Runs a child, kills it at a moment that depends on the round, and returns the last revision it said.
fn write_until_killed(directory: &Path, round: u64) -> Option<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "embedded::tests::killed::child", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.by_ref().find_map(|line| revision_in(&line)).expect("the child writes");
    // From right after the first acknowledgement to several changes later, in steps that are no multiple of
    // the time a change takes.
    let until = Instant::now() + Duration::from_micros(round * 1_370);
    let mut last = first;
    while Instant::now() < until {
        last = lines.by_ref().find_map(|line| revision_in(&line)).expect("the child goes on");
    }
    child.kill().unwrap();
    let rest = lines.filter_map(|line| revision_in(&line)).last();
    child.wait().unwrap();
    Some(rest.unwrap_or(last))
}

fn revision_in(line: &str) -> Option<u64> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

fn advance(catalog: &mut Catalog) {
    change(catalog.revision).apply_to(catalog);
    catalog.revision += 1;
}

/// The change that follows a revision: rows of every table, some made anew each time, all of which say which
/// change wrote them.
fn change(revision: u64) -> Change {
    let next = revision + 1;
    let mut sample = server("/context7").written(NOW, |server| server.name = format!("change {next}"));
    sample.revision = next;
    let mut version = version("v1.5.0");
    version.description = format!("change {next}");
    let sample = sample.replace(version, NOW).unwrap().written(NOW, |server| server.revision = next - 1);
    let versions = sample.versions().map(|version| version.label.clone()).collect();
    let mut large = inventory(&["search"]);
    large.tools.extend((0..200).map(|index| item(&format!("tool_{next}_{index}"))));
    let mut one = virtual_server("dev-tools");
    one.revision = next;
    let other = format!("/other-{}", next % 3);
    let mut edits = vec![
        Edit::PutServer { server: Arc::new(sample), versions, removed: Vec::new() },
        Edit::PutInventory(key("/context7", "v1.5.0"), Arc::new(large)),
        Edit::PutVirtualServer(Arc::new(one)),
        Edit::PutGroup(Arc::new(group(&format!("group {}", next % 5), next))),
        Edit::PutToken(Arc::new(token(&format!("{:02x}", next % 7)))),
        Edit::DeleteServer(path(&other)),
    ];
    if next.is_multiple_of(2) {
        edits.push(Edit::put_server(None, Arc::new(server(&other))));
        edits.push(Edit::PutInventory(key(&other, "v2.0.0"), Arc::new(inventory(&["search"]))));
    }
    let before = (revision > 0).then_some(revision);
    Change::new(edits).expecting(Expect::VirtualServer(slug("dev-tools"), before))
}
