//! Calls whose client and backend are of different eras: what translating costs beside a call of one era with the same
//! backend, and what a call holds that waits for its user.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::ensure;
use serde::Serialize;

use super::gateway::{self, Gateway};
use super::parked::{self, Parked};
use super::process::{self, Place};
use super::rounds::{self, Contender, Measured};

/// Below it the backend is of 2026-07-28.
const MODERN: &str = "/modern";
/// Below it the backend has the stream on which servers of the older revisions may ask.
const ASKING: &str = "/asking";
/// Long enough for a hundred ticks of processor time; there are ten contenders.
const SECONDS: u32 = 1;
/// Most that a call may cost across eras, in calls of one era.
const MOST_TIMES: f64 = 2.0;
/// Most memory of a call that waits for its user.
const MOST_PARKED_BYTES: f64 = 65_536.0;

/// What calls across eras cost.
#[derive(Debug, Serialize)]
pub(super) struct Across {
    pub(super) calls: Vec<Measured>,
    pub(super) parked: Parked,
}

/// What is measured how often, and where the loader runs.
pub(super) struct Task<'a> {
    pub(super) rounds: usize,
    pub(super) parked: usize,
    pub(super) folder: &'a Path,
    pub(super) place: Place,
}

/// Registers what it needs at a gateway that has the benchmark's servers already, and measures.
pub(super) fn measure(
    gateway: &Gateway,
    backend: SocketAddr,
    token: &str,
    task: &Task<'_>,
) -> anyhow::Result<Across> {
    let tool = ["tool_03".to_owned()];
    for path in [MODERN, ASKING] {
        gateway.register(path, backend)?;
        gateway.compose(path.trim_start_matches('/'), &[path], &tool)?;
    }
    let contenders = contenders(gateway, token)?;
    let calls = rounds::measure(&contenders, task.rounds, SECONDS, task.folder, task.place)?;
    println!("Memory of calls that wait for their users");
    let parked = parked::measure(gateway, ASKING, token, task.parked)?;
    Ok(Across { calls, parked })
}

fn contenders(gateway: &Gateway, token: &str) -> anyhow::Result<Vec<Contender>> {
    let mut all = Vec::new();
    let names = [
        ["path: legacy, legacy", "path: modern, legacy", "path: modern that can be asked, legacy"],
        ["virtual: legacy, legacy", "virtual: modern, legacy", "virtual: modern that can be asked, legacy"],
    ];
    let modern_names = [
        ["path: modern, modern", "path: legacy, modern"],
        ["virtual: modern, modern", "virtual: legacy, modern"],
    ];
    let at = gateway.address;
    for ((of_legacy, of_modern), is_virtual) in names.into_iter().zip(modern_names).zip([false, true]) {
        let endpoint = |server: &str| match is_virtual {
            false => (server.to_owned(), "tool_03".to_owned()),
            true => (format!("/virtual{server}"), format!("{}_tool_03", server.trim_start_matches('/'))),
        };
        let (path, tool) = endpoint(ASKING);
        let loads = [
            gateway::call(at, &path, Some(token), &tool)?,
            gateway::modern_call(at, &path, token, &tool, "{}"),
            gateway::modern_call(at, &path, token, &tool, r#"{"elicitation":{}}"#),
        ];
        all.extend(of_legacy.into_iter().zip(loads).map(|pair| (pair, of_legacy[0])));
        let (path, tool) = endpoint(MODERN);
        let loads = [
            gateway::modern_call(at, &path, token, &tool, "{}"),
            gateway::call(at, &path, Some(token), &tool)?,
        ];
        all.extend(of_modern.into_iter().zip(loads).map(|pair| (pair, of_modern[0])));
    }
    let account = process::account(gateway.pid);
    let contender = |((name, load), first): ((&'static str, _), &'static str)| Contender {
        name,
        beside: (name != first).then_some(first),
        load,
        account: Some(account.clone()),
    };
    Ok(all.into_iter().map(contender).collect())
}

impl Across {
    /// Writes the section of the page.
    pub(super) fn write(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "\n## Across eras\n\n{INTRODUCTION}")?;
        rounds::write_table(page, &self.calls)?;
        writeln!(
            page,
            "\nGrowth of resident memory over {} calls that wait for their users' answers, each with 64 KiB of arguments, asked after 256 KiB of \
             progress, and with a backend session and two connections of its own: {:.1} KiB a call (at most {:.0}).",
            self.parked.calls,
            self.parked.bytes / 1024.0,
            MOST_PARKED_BYTES / 1024.0,
        )
    }

    /// Fails where a limit is broken, and names each.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let is_dear = |one: &&Measured| one.ratio.is_some_and(|ratio| ratio > MOST_TIMES);
        let name = |one: &Measured| format!("{}: {:.2} times", one.name, one.ratio.unwrap_or_default());
        let dear: Vec<String> = self.calls.iter().filter(is_dear).map(name).collect();
        ensure!(
            dear.is_empty(),
            "a call across eras costs more than {MOST_TIMES} times: {}",
            dear.join("; ")
        );
        let bytes = self.parked.bytes;
        ensure!(bytes <= MOST_PARKED_BYTES, "a parked call holds {bytes:.0} bytes, over {MOST_PARKED_BYTES}");
        Ok(())
    }
}

const INTRODUCTION: &str = "\
The client's era first, the backend's after it. The ratio is to the call of one era with the same backend in the same round; above 2 the run fails. A client that can be asked (elicitation) has a
backend session of its own for each call that runs, with a stream beside it.
";
