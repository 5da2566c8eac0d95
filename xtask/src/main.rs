//! Automation of the repository: `cargo xtask tidy`, `openapi`, `bench`, `search-eval` and `search-bench`.

#![expect(clippy::print_stdout, reason = "these are commands, and they say what they found")]

mod bench;
mod openapi;
mod search;
mod tidy;

use std::path::{Path, PathBuf};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next();
    match command.as_deref() {
        Some("tidy") => tidy::run(&root()),
        Some("openapi") => openapi::write(&root()),
        Some("bench") => bench::run(&root(), &arguments.collect::<Vec<_>>()),
        Some("bench-backend") => bench::backend::serve(),
        Some("search-eval") => search::eval::run(&root(), &arguments.collect::<Vec<_>>()),
        Some("search-bench") => search::bench::run(&root()),
        other => {
            println!(
                "usage: cargo xtask tidy | openapi | bench [--quick] [--across] | search-eval FOLDER | search-bench"
            );
            match other {
                None | Some("help" | "--help" | "-h") => Ok(()),
                Some(unknown) => anyhow::bail!("there is no command `{unknown}`"),
            }
        }
    }
}

/// Returns the folder of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies inside the workspace").to_path_buf()
}
