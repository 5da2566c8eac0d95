//! Backends that are commands of the configuration, spoken to in lines on their standard input and output.
//!
//! They answer at the same seam as backends over HTTP: a message that is posted becomes a line, and the messages that
//! belong to it become the body of the answer, JSON or an event stream. A process of the older revisions serves one
//! session, which `initialize` begins and DELETE ends. One of the revision without sessions serves everybody.
//!
//! Processes are carried by the runtime the object was made on, and reached from every thread.

mod command;
mod errors;
mod exchange;
mod group;
mod lines;
mod process;
mod running;
mod tally;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use running::Running;
use tally::Tally;

pub use command::Command;

/// The commands that can be backends, and those of them that run.
pub struct Stdio {
    commands: BTreeMap<String, Command>,
    tallies: BTreeMap<String, Arc<Tally>>,
    limits: Limits,
    running: Running,
    /// Carries the processes; absent where there are no commands.
    runtime: Option<tokio::runtime::Handle>,
}

/// How many processes there may be, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most processes at once, those that are being ended among them.
    pub processes: usize,
    /// Longest wait for the first answer of a process.
    pub start: Duration,
    /// How long a process may be unused.
    pub idle: Duration,
    /// How long a process may take to end after SIGTERM.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            processes: 64,
            // Package runners may have to fetch the program first.
            start: Duration::from_secs(30),
            idle: Duration::from_secs(600),
            grace: Duration::from_secs(3),
        }
    }
}

impl Stdio {
    /// Takes commands by their names. Their processes live on the runtime this is called on.
    pub fn new(commands: BTreeMap<String, Command>, limits: Limits) -> Arc<Self> {
        let runtime = tokio::runtime::Handle::try_current().ok();
        let tallies = commands.keys().map(|name| (name.clone(), Tally::new(name))).collect();
        let running = Running::new(limits.processes, limits.idle);
        Arc::new(Self { commands, tallies, limits, running, runtime })
    }

    /// Says whether there is a command of this name.
    pub fn has(&self, name: &str) -> bool {
        self.commands.contains_key(name)
    }

    /// Returns the names of all commands.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.commands.keys().map(String::as_str)
    }

    /// Returns the limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Ends processes that were idle for too long, and those of commands that `is_wanted` does not name. To be called
    /// now and then.
    pub fn sweep(&self, is_wanted: &dyn Fn(&str) -> bool) {
        self.running.sweep(is_wanted);
    }

    /// Ends all processes and waits until they are gone. Nothing is started any more.
    pub async fn stop(&self) {
        for process in self.running.stop() {
            process.gone().await;
        }
    }

    /// Kills all processes, with all they started, without waiting.
    pub fn kill(&self) {
        self.running.kill();
    }
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio")
            .field("commands", &self.commands)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
