//! A command of the configuration, and starting it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::Stdio as End;

use catalog::endpoint::Secret;
use tokio::process::Child;

/// A command that is a backend.
#[derive(Clone)]
pub struct Command {
    /// The program: a path, or a name that is looked up in the `PATH` of `environment`.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment; nothing of ours is added.
    pub environment: Vec<(String, Secret)>,
    /// Its working directory; ours where absent.
    pub directory: Option<PathBuf>,
}

impl Command {
    /// Starts it in a process group of its own, with pipes on all three streams.
    pub(super) fn start(&self) -> io::Result<Child> {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(&self.arguments).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value.reveal())));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.stdin(End::piped()).stdout(End::piped()).stderr(End::piped());
        // The last resort, where a runtime ends with processes on it.
        command.process_group(0).kill_on_drop(true);
        command.spawn()
    }
}

impl fmt::Debug for Command {
    /// Arguments may hold secrets too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command").field("program", &self.program).finish_non_exhaustive()
    }
}
