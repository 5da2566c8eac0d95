//! Programs that a test starts and ends, each by its own process.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Time for a client's whole conversation, or for a server to start, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A process that ends with this value.
pub(crate) struct Started(Child);

impl Started {
    pub(crate) fn new(mut command: Command) -> Self {
        let child = command.stdin(Stdio::null()).spawn();
        Self(child.unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    /// Starts a server that says `listening on <address>`; returns the address.
    pub(crate) fn listening(mut command: Command) -> (Self, String) {
        command.env("PORT", "0").stdout(Stdio::piped());
        let name = format!("{command:?}");
        let mut started = Self::new(command);
        let mut lines = BufReader::new(started.0.stdout.take().expect("piped")).lines();
        let address =
            lines.by_ref().find_map(|line| Some(line.ok()?.strip_prefix("listening on ")?.to_owned()));
        // Whatever else it prints is read, lest it should wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        (started, address.unwrap_or_else(|| panic!("{name} did not say where it listens")))
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prepares a program of the peers' folder, or one of the system.
pub(crate) fn command(folder: &Path, program: &str, arguments: &[&str]) -> Command {
    let inside = folder.join(program);
    let mut command = if inside.exists() { Command::new(inside) } else { Command::new(program) };
    command.args(arguments).current_dir(folder);
    command
}

/// Runs a client to its end and returns the JSON it printed.
pub(crate) fn answer(mut command: Command) -> Value {
    let name = format!("{command:?}");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut started = Started::new(command);
    let mut output = started.0.stdout.take().expect("piped");
    let mut errors = started.0.stderr.take().expect("piped");
    let output = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        errors.read_to_string(&mut text).map(|_| text)
    });
    let in_time = wait_until(|| started.has_ended());
    drop(started);
    let output = output.join().expect("a reader").expect("text");
    let errors = errors.join().expect("a reader").expect("text");
    assert!(in_time, "{name}: still running after {PATIENCE:?}: {output}{errors}");
    serde_json::from_str(output.trim()).unwrap_or_else(|error| panic!("{name}: {error}: {output}{errors}"))
}

/// Looks again and again; tells whether it came true in time.
#[expect(clippy::disallowed_methods, reason = "a blocking test that waits for another process")]
pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}
