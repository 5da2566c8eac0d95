//! The signals that ask the program to stop.

use std::fmt;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for SIGTERM and SIGINT.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

/// A signal that came.
#[derive(Clone, Copy)]
pub(super) enum Came {
    Terminate,
    Interrupt,
}

impl Signals {
    /// Takes the signals over from the system, which would end the process.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Came {
        tokio::select! {
            _ = self.terminate.recv() => Came::Terminate,
            _ = self.interrupt.recv() => Came::Interrupt,
        }
    }
}

impl Came {
    /// Ends the process at once, with the status a shell gives to a process that the signal killed.
    pub(super) fn end_process(self) -> ! {
        let number = match self {
            Self::Terminate => 15,
            Self::Interrupt => 2,
        };
        std::process::exit(128 + number)
    }
}

impl fmt::Display for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
        })
    }
}
