//! `switchyard`: an MCP gateway and registry in one program.

mod app;
mod cli;
mod config;
mod glue;
mod listen;
mod observe;
mod small_file;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // First of all, so that nothing ever picks another provider.
    if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
        unreachable!("nothing ran before that could have installed a provider");
    }
    cli::run()
}
