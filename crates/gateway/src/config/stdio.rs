//! `[stdio]`: commands that can be backends, and how many of them may run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use backend::stdio::{Command, Limits};
use catalog::endpoint::{Secret, is_command_name};
use serde::{Deserialize, Serialize};

use super::units::Span;

/// What a command gets of our environment, where it is set: where programs and the user's files are, and how text and
/// time are written. Everything else may be a secret.
const INHERITED: [&str; 11] =
    ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/// What the names of our own settings in the environment begin with; they hold keys and tokens.
const OURS: &str = "SWITCHYARD_";

/// More processes than any one machine would serve well.
const MAX_PROCESSES: usize = 10_000;

#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    /// Most processes at once.
    max_processes: usize,
    /// Until a started command has answered its first message.
    start_timeout: Span,
    /// How long a process may be unused.
    idle_timeout: Span,
    /// How long a process may take to end after SIGTERM.
    stop_grace: Span,
    /// The commands by name; a backend's URL names one as `stdio:<name>`.
    commands: BTreeMap<String, SaidCommand>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidCommand {
    /// The program: a path, or a name to look up in `PATH`.
    command: String,
    /// Its arguments.
    #[serde(default)]
    args: Vec<String>,
    /// Its environment, beside the little that is inherited.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Names in our environment that it inherits as well.
    #[serde(default)]
    pass_env: Vec<String>,
    /// Its working directory; ours where absent.
    cwd: Option<PathBuf>,
}

/// `[stdio]`, checked.
#[derive(Debug)]
pub(crate) struct Stdio {
    pub(crate) limits: Limits,
    pub(crate) commands: BTreeMap<String, Command>,
}

impl Default for Said {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            max_processes: limits.processes,
            start_timeout: Span(limits.start),
            idle_timeout: Span(limits.idle),
            stop_grace: Span(limits.grace),
            commands: BTreeMap::new(),
        }
    }
}

impl Said {
    /// Checks it. `environment` is ours.
    pub(super) fn resolve(
        self,
        environment: &[(String, String)],
        faults: &mut Vec<String>,
        warnings: &mut Vec<String>,
    ) -> Stdio {
        if !(1..=MAX_PROCESSES).contains(&self.max_processes) {
            faults.push(format!("stdio.max_processes: must lie between 1 and {MAX_PROCESSES}"));
        }
        for (key, span) in [("start_timeout", self.start_timeout), ("idle_timeout", self.idle_timeout)] {
            if span.0.is_zero() {
                faults.push(format!("stdio.{key}: must be longer than 0"));
            }
        }
        let limits = Limits {
            processes: self.max_processes,
            start: self.start_timeout.0,
            idle: self.idle_timeout.0,
            grace: self.stop_grace.0,
        };
        let commands = self.commands.into_iter().map(|(name, said)| {
            let command = said.resolve(&name, environment, faults, warnings);
            (name, command)
        });
        Stdio { limits, commands: commands.collect() }
    }
}

impl SaidCommand {
    fn resolve(
        self,
        name: &str,
        environment: &[(String, String)],
        faults: &mut Vec<String>,
        warnings: &mut Vec<String>,
    ) -> Command {
        let mut fault = |what: &str| faults.push(format!("stdio.commands.{name}: {what}"));
        if !is_command_name(name) {
            fault("a name is 1 to 64 of letters, digits, `.`, `_` and `-`");
        }
        if self.command.is_empty() {
            fault("command must name a program");
        }
        if let Some(directory) = self.cwd.as_ref().filter(|directory| !directory.is_dir()) {
            fault(&format!("cwd: there is no directory {}", directory.display()));
        }
        for bad in self.env.keys().filter(|name| name.is_empty() || name.contains(['=', '\0'])) {
            fault(&format!("env: {bad:?} is no name of a variable"));
        }
        let command = name;
        let ours = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        for name in &self.pass_env {
            if name.starts_with(OURS) {
                fault(&format!("pass_env: {name} is the gateway's own and is given to no command"));
            } else if ours(name).is_none() {
                // No fault: other commands of the program are run from other environments.
                warnings.push(format!(
                    "stdio.commands.{command}: pass_env: {name} is not set in the environment"
                ));
            }
        }
        let inherited = INHERITED.into_iter().chain(self.pass_env.iter().map(String::as_str));
        let inherited = inherited.filter_map(|name| Some((name.to_owned(), Secret::new(ours(name)?))));
        let mut whole: BTreeMap<_, _> = inherited.collect();
        whole.extend(self.env.into_iter().map(|(name, value)| (name, Secret::new(value))));
        Command {
            program: self.command.into(),
            arguments: self.args,
            environment: whole.into_iter().collect(),
            directory: self.cwd,
        }
    }
}
