//! How many processes of a command run, and how often one was started in place of one that was lost: as metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted of one command.
pub(super) struct Tally {
    command: String,
    /// Processes that ended though nobody had them end, and that were not replaced yet.
    lost: AtomicU64,
}

/// A process that runs. It is counted until this is dropped.
pub(super) struct Counted(Arc<Tally>);

impl Tally {
    /// Begins to count, so that zero is shown too.
    pub(super) fn new(command: &str) -> Arc<Self> {
        let tally = Self { command: command.to_owned(), lost: AtomicU64::new(0) };
        tally.running().set(0.0);
        tally.restarts().absolute(0);
        Arc::new(tally)
    }

    /// Counts a process that was started.
    pub(super) fn began(self: &Arc<Self>) -> Counted {
        self.running().increment(1.0);
        let replaced =
            self.lost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |lost| lost.checked_sub(1));
        if replaced.is_ok() {
            self.restarts().increment(1);
        }
        Counted(self.clone())
    }

    /// Notes that a process ended by itself, or had to be ended since it did not keep to the protocol.
    pub(super) fn lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    fn running(&self) -> metrics::Gauge {
        metrics::gauge!("switchyard_stdio_processes", "command" => self.command.clone())
    }

    fn restarts(&self) -> metrics::Counter {
        metrics::counter!("switchyard_stdio_restarts_total", "command" => self.command.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.running().decrement(1.0);
    }
}
