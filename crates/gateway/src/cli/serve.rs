//! `switchyard serve`

use std::io;
use std::time::Duration;

use super::failure::Failure;
use super::output;
use super::settings::Given;
use crate::{app, observe};

/// Threads of the control plane. Its work is small; what blocks goes to threads of its own.
const CONTROL_THREADS: usize = 2;
/// Wait for what still runs on the control plane after everything was drained.
const CONTROL_GRACE: Duration = Duration::from_secs(2);

/// Starts the gateway and runs it until it was told to stop and has drained.
pub(super) fn run(given: &Given) -> Result<(), Failure> {
    let config = given.load()?;
    observe::start_log(&config.log).map_err(|error| failure(&error))?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(CONTROL_THREADS)
        .thread_name("control")
        .enable_all()
        .build()
        .map_err(|error| Failure::refused(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(async {
        let running = app::start(&config).await?;
        // A gateway that runs is worth more than the line about it.
        if let Err(failure) = output::line(&running.announcement()) {
            tracing::warn!("{}", failure.message);
        }
        running.until_stopped().await
    });
    runtime.shutdown_timeout(CONTROL_GRACE);
    outcome.map_err(|error| failure(&error))
}

/// Puts a failed start into a sentence. What another process holds has an exit status of its own.
fn failure(error: &anyhow::Error) -> Failure {
    let message = error.chain().map(ToString::to_string).collect::<Vec<_>>().join(": ");
    let is_held = error.chain().any(|cause| {
        matches!(cause.downcast_ref::<store::Error>(), Some(store::Error::InUse(_)))
            || cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::AddrInUse)
    });
    if is_held { Failure::unavailable(message) } else { Failure::refused(message) }
}
