//! On what, with which versions and beside what else a run took place.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Serialize;

use super::process;

/// Processes of one name that used less of a processor than this while we looked did not disturb.
const BUSY_SHARE: f64 = 0.05;
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize)]
pub(super) struct Machine {
    pub(super) processor: String,
    pub(super) processors: usize,
    pub(super) memory_gib: f64,
    pub(super) kernel: String,
    pub(super) date: String,
    pub(super) commit: String,
    pub(super) rust: String,
    pub(super) nginx: String,
    pub(super) wrk: String,
    pub(super) load_before: String,
    pub(super) load_after: String,
    /// Other processes that kept a processor busy before the run began, by name, with the share of one they used.
    pub(super) also_ran: Vec<String>,
}

pub(super) fn describe(root: &Path, nginx: &str) -> anyhow::Result<Machine> {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let after = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let kilobytes: f64 =
        after(&read("/proc/meminfo"), "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0.0);
    let commit = first_line(Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(root));
    Ok(Machine {
        processor: after(&read("/proc/cpuinfo"), "model name"),
        processors: std::thread::available_parallelism()?.get(),
        memory_gib: (kilobytes / 1024.0 / 1024.0).round(),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        date: first_line(Command::new("date").args(["-u", "+%Y-%m-%d"])),
        commit,
        rust: first_line(Command::new("rustc").arg("--version")),
        nginx: first_line(Command::new(nginx).arg("-v")).trim_start_matches("nginx version: ").to_owned(),
        wrk: first_line(Command::new("wrk").arg("-v"))
            .split(" Copyright")
            .next()
            .unwrap_or_default()
            .to_owned(),
        load_before: load(),
        load_after: String::new(),
        also_ran: busy()?,
    })
}

/// Processes that ran or waited to run, on average over one, five and fifteen minutes.
pub(super) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Some programs answer on standard error.
fn first_line(command: &mut Command) -> String {
    let Ok(output) = command.output() else { return String::new() };
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned()
}

/// Looks at all processes twice.
#[expect(clippy::disallowed_methods, reason = "a command that looks at the machine for a moment")]
fn busy() -> anyhow::Result<Vec<String>> {
    let before = times()?;
    std::thread::sleep(LOOK);
    let mut used: HashMap<String, f64> = HashMap::new();
    for (pid, now) in times()?.into_iter().filter(|(pid, _)| *pid != std::process::id()) {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        // One that was not there before has done all of its work meanwhile.
        let then = before.get(&pid).copied().unwrap_or_default();
        *used.entry(name.trim().to_owned()).or_default() += now.saturating_sub(then).as_secs_f64();
    }
    let mut used: Vec<_> = used.into_iter().filter(|(_, share)| *share >= BUSY_SHARE).collect();
    used.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(used.into_iter().map(|(name, share)| format!("{name} {share:.2}")).collect())
}

fn times() -> anyhow::Result<HashMap<u32, Duration>> {
    let pids = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(pids.filter_map(|pid| Some((pid, process::processor_time(&process::account(pid)).ok()?))).collect())
}
