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
/// What a server on the TypeScript SDK passes that offers all of them.
const FIXTURE_PASSES: usize = 84;
/// Checks of streams where these servers send one and a virtual server, rightly too, plain JSON: for a list, and for the
/// error of an unknown tool.
const STREAMS: [&str; 2] =
    ["server-sse-multiple-streams:server-sse-streams-functional", "server-sse-polling:"];

#[tokio::test(flavor = "multi_thread")]
async fn everything_passes_what_it_passes_alone() {
    let Some([alone, path, composed]) = judge("everything.mjs").await else { return };
    assert_eq!(alone.passes.len(), EVERYTHING_PASSES, "the server itself is not what it was");
    assert!(path.passes.len() >= EVERYTHING_PASSES);
    assert_eq!(lost(&alone, &path), Vec::<&str>::new(), "{:#?}", path.failures);
    let mut lost = lost(&alone, &composed);
    lost.retain(|check| !ANSWERED_BY_CHANCE.contains(check) && !is_of_streams(check));
    assert_eq!(lost, Vec::<&str>::new(), "{:#?}", composed.failures);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_the_typescript_sdk_passes_everything() {
    let Some([alone, path, composed]) = judge("conformance_server.mjs").await else { return };
    assert_eq!(alone.passes.len(), FIXTURE_PASSES, "{:#?}", alone.failures);
    assert_eq!(path.passes.len(), FIXTURE_PASSES, "{:#?}", path.failures);
    let mut lost = lost(&alone, &composed);
    lost.retain(|check| !is_of_streams(check));
    assert_eq!(lost, Vec::<&str>::new(), "{:#?}", composed.failures);
}

/// Runs the suite against a server of the peers: alone, through its path and through a virtual server.
async fn judge(script: &str) -> Option<[Outcome; 3]> {
    let suite = Suite::find()?;
    let (_server, address) = Started::listening(command(&suite.peers(), "node", &[script]));
    let app = App::configured("[auth]\nanonymous = [\"/real\", \"/virtual/real\"]\n").await;
    let url = format!("http://{address}/mcp");
    app.serve("/real", &url).await;
    compose(&app, "real", &["/real"]).await;
    let through = |path: &str| (format!("{}{path}", app.url), format!("real {path}"));
    let runs = vec![(url, "real, alone".into()), through("/real"), through("/virtual/real")];
    let outcomes = judge_each(&suite, LEGACY, runs).await;
    Some(outcomes.try_into().ok().expect("one for each address"))
}

fn is_of_streams(check: &str) -> bool {
    STREAMS.iter().any(|streams| check.starts_with(streams))
}

/// Returns the checks that pass there and not here.
fn lost<'a>(there: &'a Outcome, here: &Outcome) -> Vec<&'a str> {
    let here: BTreeSet<&String> = here.passes.iter().collect();
    there.passes.iter().filter(|check| !here.contains(check)).map(String::as_str).collect()
}
