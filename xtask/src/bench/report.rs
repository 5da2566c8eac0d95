//! What a run showed, as JSON and as a page of Markdown.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Serialize;

use super::across::Across;
use super::idle::Idle;
use super::large::Large;
use super::machine::Machine;
use super::rounds::{self, Measured};
use super::steady::Latency;
use super::wrk::CONNECTIONS;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) saturated: Vec<Measured>,
    pub(super) first_byte: Vec<Timed>,
    pub(super) half_load_per_second: f64,
    pub(super) half_load: Vec<Timed>,
    pub(super) idle: Idle,
    pub(super) across: Across,
    pub(super) large: Large,
}

/// A latency and whose it is.
#[derive(Debug, Serialize)]
pub(super) struct Timed {
    pub(super) name: &'static str,
    pub(super) latency: Latency,
}

impl Report {
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("benchmarks.json"), serde_json::to_string_pretty(self)? + "\n")?;
        fs::write(folder.join("benchmarks.md"), self.markdown())?;
        println!("Wrote docs/benchmarks.md and docs/benchmarks.json");
        Ok(())
    }

    pub(super) fn markdown(&self) -> String {
        let mut page = String::new();
        self.write_page(&mut page).expect("writing to a string does not fail");
        page
    }

    fn write_page(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "# Benchmarks\n\n{INTRODUCTION}")?;
        self.write_machine(page)?;
        self.write_saturated(page)?;
        writeln!(page, "\n## First byte of a stream\n")?;
        writeln!(
            page,
            "One caller, one request after another. The backend sends a first event at once and the last 20 ms later.\n"
        )?;
        write_latencies(page, &self.first_byte)?;
        writeln!(page, "\n## Latency at half load\n")?;
        writeln!(
            page,
            "{:.0} calls a second, half of what the slowest of the three takes.\n",
            self.half_load_per_second
        )?;
        write_latencies(page, &self.half_load)?;
        self.write_sizes(page)
    }

    fn write_machine(&self, page: &mut String) -> std::fmt::Result {
        let machine = &self.machine;
        let also_ran =
            if machine.also_ran.is_empty() { "nothing else".to_owned() } else { machine.also_ran.join(", ") };
        writeln!(
            page,
            "{}, commit {}. {}, {} processors, {} GiB, Linux {}. {}; {}; {}. Load before the run: {}, after it: {}. Also ran, with the share of \
             a processor used: {also_ran}.",
            machine.date,
            machine.commit,
            machine.processor,
            machine.processors,
            machine.memory_gib,
            machine.kernel,
            machine.rust,
            machine.nginx,
            machine.wrk,
            machine.load_before,
            machine.load_after,
        )
    }

    fn write_saturated(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "\n## Full load\n\n`wrk`, {CONNECTIONS} connections. CPU is the proxy's own; the ratio is to nginx in the same round. Medians.\n"
        )?;
        rounds::write_table(page, &self.saturated)
    }

    fn write_sizes(&self, page: &mut String) -> std::fmt::Result {
        let (idle, large) = (&self.idle, &self.large);
        writeln!(page, "\n## Idle sessions\n")?;
        writeln!(
            page,
            "Growth of resident memory over {} virtual sessions: {:.0} bytes a session that was opened and no more, {:.0} bytes a \
             session that also called one tool and so holds a backend session.",
            idle.sessions, idle.opened_bytes, idle.used_bytes
        )?;
        self.across.write(page)?;
        writeln!(page, "\n## A catalog of {} servers, 3 versions and 20 tools each\n", large.servers)?;
        writeln!(page, "| | |\n| --- | ---: |")?;
        writeln!(page, "| start to ready | {:.2} s |", large.ready_ms / 1e3)?;
        writeln!(page, "| a switch of versions is live, median | {:.1} ms |", large.live_p50_ms)?;
        writeln!(page, "| the slowest of them | {:.1} ms |", large.live_worst_ms)?;
        writeln!(
            page,
            "| CPU of a direct call, of the thread that serves | {:.1} µs |",
            large.call.processor_us.unwrap_or_default()
        )?;
        writeln!(page, "| resident memory | {:.0} MiB |", large.resident_bytes as f64 / f64::from(1 << 20))
    }
}

fn write_latencies(page: &mut String, timed: &[Timed]) -> std::fmt::Result {
    let base = timed.first().map(|first| first.latency);
    writeln!(page, "| | p50 | p99 | added at p50 |\n| --- | ---: | ---: | ---: |")?;
    for one in timed {
        let added = base.map_or(0.0, |base| one.latency.p50_us - base.p50_us);
        writeln!(
            page,
            "| {} | {:.0} µs | {:.0} µs | {added:.0} µs |",
            one.name, one.latency.p50_us, one.latency.p99_us
        )?;
    }
    Ok(())
}

const INTRODUCTION: &str = "\
Written by `make bench` (or `cargo xtask bench`), which needs nginx and wrk (Debian, Ubuntu: `apt install nginx-light wrk`) and takes about six
minutes; the numbers are in `benchmarks.json` too. It is a measurement, not a test; only the calls across eras have limits, beyond which it fails.

The gateway (release build, one data thread, log level `warn`) and plain nginx (`worker_processes 1`, `proxy_pass` with kept connections on both sides,
no access log) stand on one processor, before one backend; the loader and the backend share another. The backend is our own, answers MCP 2025-06-18 at
once, a call with about 500 bytes and a list with 20 tools of about 300 bytes each. All contenders are loaded in turn, round after round. CPU is
`utime + stime` of `/proc/<pid>/stat` (of nginx's worker) over the requests completed.

nginx only forwards. The gateway's *direct call* also checks the token, unseals the session and chooses the version; the *virtual call* checks the token and
two scopes, translates an alias, and finds the backend's session; the *virtual list* joins three servers' tools under 60 aliases and
filters them by scope, while nginx fetches one list of 60 tools.
";
