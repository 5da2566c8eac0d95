//! Every cell: the revision of the suite's client, and the era of the backend.

use testkit::both::Both;
use testkit::conformance::Part;
use testkit::legacy::Legacy;
use testkit::modern::Modern;

use crate::stage::{fixture, gateway, judge, judge_each};
use crate::suite::{LEGACY, MODERN, Suite, assert_as_expected};

/// Without a gateway: what fails here is the fixture's fault.
#[tokio::test(flavor = "multi_thread")]
async fn the_fixture_itself_conforms() {
    let Some(suite) = Suite::find() else { return };
    let (legacy, modern) = (fixture::<Legacy>(Part::Whole).await, fixture::<Modern>(Part::Whole).await);
    let both = fixture::<Both>(Part::Whole).await;
    let direct = |url: String, name: &str| (url, format!("direct-{name}"));
    let runs = vec![direct(legacy.url(), "legacy"), direct(both.url(), "both, legacy")];
    let mut outcomes = judge_each(&suite, LEGACY, runs).await;
    let runs = vec![direct(modern.url(), "modern"), direct(both.url(), "both, modern")];
    outcomes.extend(judge_each(&suite, MODERN, runs).await);
    assert_as_expected(&outcomes);
}

#[tokio::test(flavor = "multi_thread")]
async fn legacy_clients_of_legacy_backends() {
    judge::<Legacy>("legacy-legacy", LEGACY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn modern_clients_of_modern_backends() {
    judge::<Modern>("modern-modern", MODERN).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn modern_clients_of_legacy_backends() {
    judge::<Legacy>("modern-legacy", MODERN).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn legacy_clients_of_modern_backends() {
    judge::<Modern>("legacy-modern", LEGACY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn legacy_clients_of_backends_that_speak_both() {
    judge::<Both>("legacy-both", LEGACY).await;
}

/// What a backend lacks in the newer era, clients of the older do not miss.
#[tokio::test(flavor = "multi_thread")]
async fn legacy_clients_of_a_backend_whose_modern_side_lacks_much() {
    let Some(suite) = Suite::find() else { return };
    let backend = fixture::<Both>(Part::Whole).await;
    backend.set(|script| script.tools.iter_mut().for_each(|tool| tool.only_modern = Some(false)));
    let (first, second) = (fixture::<Both>(Part::FirstHalf).await, fixture::<Both>(Part::SecondHalf).await);
    let app = gateway(&backend.url(), [&first.url(), &second.url()]).await;
    let run = |path: &str, name: &str| (format!("{}{path}", app.url), format!("legacy-both-{name}"));
    let runs = vec![run("/one", "path"), run("/virtual/one", "virtual")];
    assert_as_expected(&judge_each(&suite, LEGACY, runs).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn modern_clients_of_backends_that_speak_both() {
    judge::<Both>("modern-both", MODERN).await;
}

/// A virtual server whose first half is older than its second.
#[tokio::test(flavor = "multi_thread")]
async fn clients_of_a_virtual_server_of_both_eras() {
    let Some(suite) = Suite::find() else { return };
    let first = fixture::<Legacy>(Part::FirstHalf).await;
    let second = fixture::<Modern>(Part::SecondHalf).await;
    let app = gateway(&first.url(), [&first.url(), &second.url()]).await;
    let run = |name: &str| vec![(format!("{}/virtual/halves", app.url), format!("mixed-{name}"))];
    let mut outcomes = judge_each(&suite, LEGACY, run("legacy")).await;
    outcomes.extend(judge_each(&suite, MODERN, run("modern")).await);
    assert_as_expected(&outcomes);
}
