//! Servers made by others behind the gateway: what passes without it passes through it.

use std::collections::BTreeSet;

use crate::app::App;
use crate::program::{Started, command};
use crate::stage::{compose, judge_each};
use crate::suite::{LEGACY, Outcome, Suite};

/// What the reference server passes when the suite talks to it alone; it offers few of the things the suite asks for.
const EVERYTHING_PASSES: usize = 47;
/// Checks that take the reference server's words about an unknown tool for an answer of that tool. A virtual server
/// answers an error, as the specification wants.
const ANSWERED_BY_CHANCE: [&str; 2] =
    ["tools-call-simple-text:tools-call-simple-text", "tools-call-error:tools-call-error"];
/// Checks of streams where the reference server sends one and a virtual server, rightly too, plain JSON: for a list, and
/// for the error of an unknown tool.
const STREAMS: [&str; 2] =
    ["server-sse-multiple-streams:server-sse-streams-functional", "server-sse-polling:"];

#[tokio::test(flavor = "multi_thread")]
async fn everything_passes_what_it_passes_alone() {
    let Some(suite) = Suite::find() else { return };
    let (_server, address) = Started::listening(command(&suite.peers(), "node", &["everything.mjs"]));
    let [alone, path, composed] = judge(&suite, &format!("http://{address}/mcp")).await;
    assert_eq!(alone.passes.len(), EVERYTHING_PASSES, "the server itself is not what it was");
    assert!(path.passes.len() >= EVERYTHING_PASSES);
    assert_eq!(lost(&alone, &path), Vec::<&str>::new(), "{:#?}", path.failures);
    let mut lost = lost(&alone, &composed);
    lost.retain(|check| !ANSWERED_BY_CHANCE.contains(check));
    lost.retain(|check| !STREAMS.iter().any(|streams| check.starts_with(streams)));
    assert_eq!(lost, Vec::<&str>::new(), "{:#?}", composed.failures);
}

/// Runs the suite against a server alone, through its path and through a virtual server.
async fn judge(suite: &Suite, url: &str) -> [Outcome; 3] {
    let app = App::configured("[auth]\nanonymous = [\"/real\", \"/virtual/real\"]\n").await;
    app.serve("/real", url).await;
    compose(&app, "real", &["/real"]).await;
    let through = |path: &str| (format!("{}{path}", app.url), format!("real {path}"));
    let runs = vec![(url.to_owned(), "real, alone".into()), through("/real"), through("/virtual/real")];
    let outcomes = judge_each(suite, LEGACY, runs).await;
    outcomes.try_into().ok().expect("one for each address")
}

/// Returns the checks that pass there and not here.
fn lost<'a>(there: &'a Outcome, here: &Outcome) -> Vec<&'a str> {
    let here: BTreeSet<&String> = here.passes.iter().collect();
    there.passes.iter().filter(|check| !here.contains(check)).map(String::as_str).collect()
}
