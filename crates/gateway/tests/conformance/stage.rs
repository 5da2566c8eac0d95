//! A gateway that anybody may use, with backends at `/one`, and composed again at `/virtual/one` and `/virtual/halves`.

use serde_json::{Value, json};
use testkit::backend::{Backend, Era};
use testkit::conformance::{Part, offer};

use crate::app::App;
use crate::suite::{Outcome, Suite, assert_as_expected};

/// Endpoints by a short name.
const ENDPOINTS: [(&str, &str); 3] =
    [("path", "/one"), ("virtual", "/virtual/one"), ("halves", "/virtual/halves")];

/// Starts the fixture: everything the suite asks for, or half of it.
pub(crate) async fn fixture<E: Era>(part: Part) -> Backend<E> {
    Backend::start("fixture").with(|script| offer(script, part)).await
}

/// Starts a gateway with a backend at `/one` and two that are composed at `/virtual/halves`.
pub(crate) async fn gateway(one: &str, halves: [&str; 2]) -> App {
    let app =
        App::configured("[auth]\nanonymous = [\"/one\", \"/virtual/one\", \"/virtual/halves\"]\n").await;
    for (path, url) in [("/one", one), ("/first", halves[0]), ("/second", halves[1])] {
        app.serve(path, url).await;
    }
    compose(&app, "one", &["/one"]).await;
    compose(&app, "halves", &["/first", "/second"]).await;
    app
}

/// Composes all tools of some servers, under their own names.
pub(crate) async fn compose(app: &App, slug: &str, servers: &[&str]) {
    let mut rows = Vec::new();
    for server in servers {
        let listed = app.admin().get(&format!("/api/servers{server}/tools")).await.expect(200);
        let row = |tool: &Value| json!({ "tool_name": tool["name"], "backend_server_path": server });
        rows.extend(listed["tools"].as_array().unwrap().iter().map(row));
    }
    let path = format!("/virtual/{slug}");
    let body = json!({ "server_name": slug, "path": path, "tool_mappings": rows, "is_enabled": true });
    app.admin().send("POST /api/virtual-servers", body).await.expect(201);
}

/// Runs the suite at all three endpoints, with backends of one kind.
pub(crate) async fn judge<E: Era>(cell: &str, revision: &str) {
    let Some(suite) = Suite::find() else { return };
    let one = fixture::<E>(Part::Whole).await;
    let first = fixture::<E>(Part::FirstHalf).await;
    let second = fixture::<E>(Part::SecondHalf).await;
    let app = gateway(&one.url(), [&first.url(), &second.url()]).await;
    let runs = ENDPOINTS.map(|(name, path)| (format!("{}{path}", app.url), format!("{cell}-{name}")));
    assert_as_expected(&judge_each(&suite, revision, runs.to_vec()).await);
}

/// Runs the suite at several addresses at once; each comes with its file of expected failures.
pub(crate) async fn judge_each(suite: &Suite, revision: &str, runs: Vec<(String, String)>) -> Vec<Outcome> {
    let start = |(url, expected): (String, String)| {
        let (suite, revision) = (suite.clone(), revision.to_owned());
        tokio::task::spawn_blocking(move || suite.judge_server(&url, &revision, &expected))
    };
    let running: Vec<_> = runs.into_iter().map(start).collect();
    let mut outcomes = Vec::new();
    for run in running {
        outcomes.push(run.await.unwrap());
    }
    outcomes
}
