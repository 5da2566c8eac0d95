//! Processes that the benchmark starts and ends, and what the system says of them.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

/// Time for a process to end by itself after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(10);

/// A process that ends with this value.
pub(super) struct Started {
    child: Child,
}

/// Which processor a process is kept on.
#[derive(Clone, Copy)]
pub(super) struct Place(pub(super) Option<usize>);

impl Place {
    /// Returns a command that runs `program` there.
    pub(super) fn command(self, program: &str) -> Command {
        let Some(processor) = self.0 else { return Command::new(program) };
        let mut command = Command::new("taskset");
        command.args(["-c", &processor.to_string(), program]);
        command
    }

    /// Moves this process there: it is a loader, too.
    pub(super) fn take_this_process(self) -> anyhow::Result<()> {
        let Some(processor) = self.0 else { return Ok(()) };
        let own = std::process::id().to_string();
        let status = Command::new("taskset")
            .args(["-cp", &processor.to_string(), &own])
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "taskset could not move this process");
        Ok(())
    }
}

impl Started {
    pub(super) fn new(command: &mut Command) -> anyhow::Result<Self> {
        let child = command.stdin(Stdio::null()).spawn().with_context(|| format!("starting {command:?}"))?;
        Ok(Self { child })
    }

    /// Starts a process and returns the first line it prints, with the rest of its output to be read or dropped.
    pub(super) fn with_first_line(
        command: &mut Command,
    ) -> anyhow::Result<(Self, String, BufReader<ChildStdout>)> {
        let mut started = Self::new(command.stdout(Stdio::piped()))?;
        let mut output = BufReader::new(started.child.stdout.take().context("its output")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        Ok((started, line, output))
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Fails when the process has ended.
    pub(super) fn must_run(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("the process ended: {status}"),
            None => Ok(()),
        }
    }
}

impl Drop for Started {
    #[expect(clippy::disallowed_methods, reason = "a command that waits for its own child")]
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the file in which the system accounts for a process.
pub(super) fn account(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/stat"))
}

/// Returns the file in which the system accounts for one thread of a process.
pub(super) fn thread_account(pid: u32, name: &str) -> anyhow::Result<PathBuf> {
    let mut threads = fs::read_dir(format!("/proc/{pid}/task"))?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_named =
        |thread: &PathBuf| fs::read_to_string(thread.join("comm")).is_ok_and(|text| text.trim() == name);
    let thread = threads.find(is_named).with_context(|| format!("process {pid} has no thread {name}"))?;
    Ok(thread.join("stat"))
}

/// Returns the processor time of an account so far.
pub(super) fn processor_time(account: &Path) -> anyhow::Result<Duration> {
    let stat = fs::read_to_string(account).with_context(|| account.display().to_string())?;
    // The name, in parentheses, may hold blanks; utime and stime are the 12th and 13th fields after it.
    let fields: Vec<&str> = stat.rsplit_once(')').context("no name in stat")?.1.split_whitespace().collect();
    let ticks: u64 = [11, 12].into_iter().filter_map(|at| fields.get(at)?.parse::<u64>().ok()).sum();
    // The kernel reports in hundredths of a second on every platform that Linux runs on.
    Ok(Duration::from_millis(ticks * 10))
}

/// Returns the processes that `pid` has started and that still run.
pub(super) fn children(pid: u32) -> anyhow::Result<Vec<u32>> {
    let all = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(all.filter(|candidate| parent(*candidate) == Some(pid)).collect())
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the memory of a process that lies in RAM, in bytes.
pub(super) fn resident_bytes(pid: u32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes * 1024)
}

/// Calls `is_so` until it is true.
#[expect(clippy::disallowed_methods, reason = "a command that waits for another process")]
pub(super) fn wait_until(
    limit: Duration,
    what: &str,
    mut is_so: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !is_so()? {
        if begun.elapsed() > limit {
            bail!("waited {limit:?} for {what}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
