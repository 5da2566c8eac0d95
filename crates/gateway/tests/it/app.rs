//! The program as a test runs it: a process of its own, a folder of its own, and callers with names.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use testkit::Client;

use crate::caller::Caller;

/// Longest wait for the program to do what it should; a test that needs longer is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running gateway. Dropping it kills the process and removes its folder.
pub(crate) struct App {
    /// `http://127.0.0.1:<port>`
    pub(crate) url: String,
    process: Child,
    /// What it says beyond its first line.
    out: Option<BufReader<ChildStdout>>,
    folder: TempDir,
    arguments: Vec<String>,
}

impl App {
    /// Starts it as a user does who configures nothing.
    pub(crate) async fn start() -> Self {
        Self::configured("").await
    }

    /// Starts it with a `switchyard.toml`.
    pub(crate) async fn configured(toml: &str) -> Self {
        let folder = folder(toml);
        let arguments = ["serve", "--listen", "127.0.0.1:0"].map(str::to_owned).to_vec();
        let (process, url, out) = spawn(folder.path(), &arguments).await;
        Self { url, process, out: Some(out), folder, arguments }
    }

    /// Ends it and starts it again on the same data, on another port.
    pub(crate) async fn restart(&mut self) {
        self.terminate();
        assert!(self.ended().await.success(), "{}", self.log());
        self.start_again().await;
    }

    /// Kills it, as a crash would, and starts it again on the same data.
    pub(crate) async fn crash(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.start_again().await;
    }

    /// Starts it again on the same data, once it has ended.
    pub(crate) async fn start_again(&mut self) {
        let out;
        (self.process, self.url, out) = spawn(self.folder.path(), &self.arguments).await;
        self.out = Some(out);
    }

    /// What it says after its first line, or nothing when it ends without a word.
    pub(crate) async fn next_line(&mut self) -> String {
        let mut out = self.out.take().expect("read once");
        let reading = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            out.read_line(&mut line).map(|_| line)
        });
        tokio::time::timeout(PATIENCE, reading).await.expect("it says more or ends").unwrap().unwrap()
    }

    /// How much memory it holds, in MiB.
    pub(crate) fn resident_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    /// Asks it to stop.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.process.id().to_string()).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until the process has ended.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "still running: {}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Its `host:port`.
    pub(crate) fn authority(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Its working directory.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it logged so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The administrator, with the token the program wrote.
    pub(crate) fn admin(&self) -> Caller {
        let token = std::fs::read_to_string(self.data().join("admin.token")).unwrap();
        Caller::new(self.authority(), Some(token.trim()))
    }

    /// Somebody without a token.
    pub(crate) fn anonymous(&self) -> Caller {
        Caller::new(self.authority(), None)
    }

    /// Somebody with a token and no scopes.
    pub(crate) async fn reader(&self) -> Caller {
        self.holder("reader", &[]).await
    }

    /// Somebody whose token carries scopes.
    pub(crate) async fn holder(&self, subject: &str, scopes: &[&str]) -> Caller {
        let body = json!({ "subject": subject, "scopes": scopes });
        let issued = self.admin().send("POST /api/tokens", body).await.expect(201);
        Caller::new(self.authority(), issued["token"].as_str())
    }

    /// An MCP client of an endpoint, presenting a caller's token.
    pub(crate) fn client(&self, path: &str, caller: &Caller) -> Client {
        self.presenting(Client::legacy(&format!("{}{path}", self.url)), caller)
    }

    /// The same, of revision 2026-07-28.
    pub(crate) fn modern(&self, path: &str, caller: &Caller) -> Client {
        self.presenting(Client::modern(&format!("{}{path}", self.url)), caller)
    }

    fn presenting(&self, client: Client, caller: &Caller) -> Client {
        match &caller.token {
            Some(token) => client.bearer(token),
            None => client,
        }
    }

    /// Registers a backend as an enabled server and waits until its tools are known.
    pub(crate) async fn serve(&self, path: &str, backend_url: &str) {
        self.serve_version(path, "v1.0.0", backend_url).await;
    }

    /// Registers a backend as a version of an enabled server and waits until its tools are known.
    pub(crate) async fn serve_version(&self, path: &str, label: &str, backend_url: &str) {
        let body = json!({ "path": path, "server_name": path, "version": label, "proxy_pass_url": backend_url,
            "is_enabled": true });
        self.admin().send("POST /api/servers/register", body).await.expect(201);
        let refresh = format!("POST /api/servers{path}/refresh?version={label}");
        self.admin().send(&refresh, json!({})).await.expect(200);
    }

    /// Runs a command against it, from its working directory.
    pub(crate) async fn run(&self, line: &[&str]) -> Ran {
        let mut arguments = line.to_vec();
        arguments.extend(["--url", &self.url]);
        run(self.folder.path(), &arguments).await
    }
}

impl Drop for App {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the program\n{}", self.log());
        }
    }
}

/// How a command ended and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) said: String,
    pub(crate) complained: String,
}

/// Makes a working directory with a `switchyard.toml`.
pub(crate) fn folder(toml: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    if !toml.is_empty() {
        std::fs::write(folder.path().join("switchyard.toml"), toml).unwrap();
    }
    folder
}

/// Runs the program to its end.
pub(crate) async fn run(folder: &Path, arguments: &[&str]) -> Ran {
    run_into(folder, arguments, Stdio::piped()).await
}

/// Runs the program to its end, what it says going to `out`.
pub(crate) async fn run_into(folder: &Path, arguments: &[&str], out: impl Into<Stdio>) -> Ran {
    let mut command = program(folder, arguments);
    command.stdout(out).stderr(Stdio::piped());
    let running = tokio::task::spawn_blocking(move || {
        let child = command.spawn();
        // The command holds an end of the pipe, which must not outlive it here.
        drop(command);
        child.and_then(std::process::Child::wait_with_output)
    });
    let Output { status, stdout, stderr } =
        tokio::time::timeout(PATIENCE, running).await.expect("the command ends").unwrap().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { status: status.code().expect("no signal ended it"), said: text(stdout), complained: text(stderr) }
}

fn program(folder: &Path, arguments: &[impl AsRef<std::ffi::OsStr>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchyard"));
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.to_string_lossy().starts_with("SWITCHYARD_")) {
        command.env_remove(name);
    }
    // A story that needs a model names one.
    command.env("SWITCHYARD_SEARCH__DOWNLOAD", "false");
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

/// Starts the program and reads the line that says where it listens.
async fn spawn(folder: &Path, arguments: &[String]) -> (Child, String, BufReader<ChildStdout>) {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
    let mut command = program(folder, arguments);
    let mut process = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut out = BufReader::new(process.stdout.take().unwrap());
    let reading = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        out.read_line(&mut line).map(|_| (line, out))
    });
    let (line, out) =
        tokio::time::timeout(PATIENCE, reading).await.expect("the program gets ready").unwrap().unwrap();
    let address = line.split("(listening on ").nth(1).and_then(|rest| rest.split([',', ')']).next());
    let Some(address) = address else {
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        panic!("the program did not get ready: {line}{log}");
    };
    (process, format!("http://{address}"), out)
}
