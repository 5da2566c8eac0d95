//! The suite's client mode: the suite is the backend and judges how the gateway speaks to it.

use crate::app::App;
use crate::suite::{LEGACY, MODERN, Outcome, Suite, assert_as_expected};

/// What a client of the older revisions does.
const OF_LEGACY: [&str; 4] = ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"];
/// What a client of 2026-07-28 does.
const OF_MODERN: [&str; 7] = [
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
];
/// Suites that run at once: each is two processes, and one scenario measures time.
const AT_ONCE: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn legacy_backends_are_spoken_to_as_they_should() {
    judge("legacy", LEGACY, &OF_LEGACY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn modern_backends_are_spoken_to_as_they_should() {
    judge("modern", MODERN, &OF_MODERN).await;
}

/// Runs scenarios with clients of both eras, at server paths and at virtual servers.
async fn judge(back: &str, revision: &'static str, scenarios: &[&'static str]) {
    let Some(suite) = Suite::find() else { return };
    let app = App::start().await;
    let token = app.admin().token.expect("it holds one");
    // A modern server of the suite counts every request, also the one that asks whether it speaks the older revisions.
    let pin = if back == "modern" { "modern" } else { "auto" };
    let mut runs = Vec::new();
    for scenario in scenarios {
        for front in ["legacy", "modern"] {
            for endpoint in ["server", "virtual"] {
                let arguments = format!("{} {token} {front} {endpoint} {pin}", app.url);
                runs.push((*scenario, arguments, format!("client-{front}-{back}-{endpoint}")));
            }
        }
    }
    let mut outcomes: Vec<Outcome> = Vec::new();
    for some in runs.chunks(AT_ONCE) {
        let start = |(scenario, arguments, name): &(&'static str, String, String)| {
            let (suite, scenario, arguments, name) =
                (suite.clone(), *scenario, arguments.clone(), name.clone());
            tokio::task::spawn_blocking(move || {
                let mut outcome = suite.judge_client(scenario, revision, &arguments, &name);
                outcome.name = format!("{name}, {scenario}");
                outcome
            })
        };
        let running: Vec<_> = some.iter().map(start).collect();
        for run in running {
            outcomes.push(run.await.unwrap());
        }
    }
    assert_as_expected(&outcomes);
}
