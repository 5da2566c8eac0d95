//! The command line: which command does what, and how each of them ends.

mod address;
mod audit;
mod check;
mod client;
mod explain;
mod failure;
mod key;
mod output;
mod serve;
mod server;
mod settings;
mod token;
mod version;
mod virtual_server;
mod visible;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use client::Remote;

const EXAMPLES: &str = "\
Examples:
  switchyard serve
  switchyard server register /github http://127.0.0.1:9000/mcp --enable
  switchyard version add /github v2.0.0 http://127.0.0.1:9001/mcp
  switchyard version use /github v2.0.0
  switchyard virtual create dev-tools --tool /github:search,alias=github_search --enable
  switchyard token issue alice --scope github-write --expires-in 30d

The commands server, version, virtual, token, audit and explain speak to a running gateway:
  --url or SWITCHYARD_URL says where it is (http://127.0.0.1:8080),
  --token, --token-file, SWITCHYARD_TOKEN or SWITCHYARD_TOKEN_FILE who you are (./data/admin.token).

Exit status: 0 done, 1 refused, 2 wrong usage, 3 cannot connect, or address or data directory in use.";

/// MCP gateway and registry: one endpoint for many MCP servers and their versions.
#[derive(Debug, Parser)]
#[command(name = "switchyard", version, after_help = EXAMPLES, disable_help_subcommand = true)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the gateway
    Serve(settings::Given),
    /// Check the configuration and the stored catalog, start nothing
    Check(settings::Given),
    /// Replace the root key where the gateway's data are
    Key {
        #[command(subcommand)]
        action: key::Action,
    },
    /// Register, show and edit servers
    Server {
        #[command(flatten)]
        remote: Remote,
        #[command(subcommand)]
        action: server::Action,
    },
    /// Add, switch and retire versions of a server
    Version {
        #[command(flatten)]
        remote: Remote,
        #[command(subcommand)]
        action: version::Action,
    },
    /// Compose virtual servers
    Virtual {
        #[command(flatten)]
        remote: Remote,
        #[command(subcommand)]
        action: virtual_server::Action,
    },
    /// Issue, list and revoke tokens
    Token {
        #[command(flatten)]
        remote: Remote,
        #[command(subcommand)]
        action: token::Action,
    },
    /// Show or export what was done, by whom
    Audit {
        #[command(flatten)]
        remote: Remote,
        #[command(flatten)]
        wanted: audit::Wanted,
    },
    /// Say what a caller sees of an endpoint, and which rule hides the rest
    Explain {
        #[command(flatten)]
        remote: Remote,
        #[command(flatten)]
        wanted: explain::Wanted,
    },
}

/// Runs the command the program was called with.
pub(crate) fn run() -> ExitCode {
    let line = match Line::try_parse() {
        Ok(line) => line,
        Err(help) => return explain(&help),
    };
    let outcome = match line.command {
        Command::Serve(given) => serve::run(&given),
        Command::Check(given) => check::run(&given),
        Command::Key { action } => action.run(),
        Command::Server { remote, action } => client::run(remote, async |speaker| action.run(speaker).await),
        Command::Version { remote, action } => client::run(remote, async |speaker| action.run(speaker).await),
        Command::Virtual { remote, action } => client::run(remote, async |speaker| action.run(speaker).await),
        Command::Token { remote, action } => client::run(remote, async |speaker| action.run(speaker).await),
        Command::Explain { remote, wanted } => client::run(remote, async |speaker| wanted.run(speaker).await),
        Command::Audit { remote, wanted } => client::run(remote, async |speaker| wanted.run(speaker).await),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.message);
            ExitCode::from(failure.status)
        }
    }
}

/// Prints the help that was asked for, or why the command line is wrong.
fn explain(help: &clap::Error) -> ExitCode {
    let is_broken = help.print().is_err_and(|error| error.kind() != std::io::ErrorKind::BrokenPipe);
    let status = if is_broken && !help.use_stderr() { 1 } else { help.exit_code() };
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

#[cfg(test)]
mod tests;
