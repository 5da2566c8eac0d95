//! A process with all its children: a process group, ended as one and reaped.

use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::host::lock;

/// How long a process may take to end by itself once its input is closed, as the specification has it end.
const END_OF_INPUT_PATIENCE: Duration = Duration::from_secs(1);

/// How often the process is looked at where no signal tells of its end.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The group of a process that was started; empty before, and once it was reaped.
///
/// While it holds an id, the process was not reaped, so the id can belong to nobody else.
#[derive(Default)]
pub(super) struct Group(Mutex<Option<Pid>>);

impl Group {
    /// Takes a process in that leads its group.
    pub(super) fn enter(&self, child: &Child) {
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        *lock(&self.0) = id;
    }

    /// Sends a signal to all of the group.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(leader) = *lock(&self.0)
            && let Err(error) = kill_process_group(leader, signal)
        {
            tracing::debug!(%error, "a process group was not signalled");
        }
    }

    /// Waits until the process that leads has ended. It is not reaped by that.
    pub(super) async fn exited(&self) {
        let mut news = signal(SignalKind::child()).ok();
        while !self.has_exited() {
            match &mut news {
                // Told by a signal, and looked at now and then in case one was missed.
                Some(news) => drop(timeout(LOOK_EVERY, news.recv()).await),
                None => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }

    /// Ends the group and reaps the process. Its input must have been closed before.
    pub(super) async fn end(&self, mut child: Child, grace: Duration) -> Option<std::process::ExitStatus> {
        if timeout(END_OF_INPUT_PATIENCE, self.exited()).await.is_err() {
            self.signal(Signal::TERM);
            if timeout(grace, self.exited()).await.is_err() {
                self.signal(Signal::KILL);
                self.exited().await;
            }
        }
        // Whatever it started ends with it. It was not reaped yet, so the group's id is still its own.
        self.signal(Signal::KILL);
        *lock(&self.0) = None;
        child.wait().await.ok()
    }

    fn has_exited(&self) -> bool {
        let Some(leader) = *lock(&self.0) else { return true };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error says that there is no such child any more.
        !matches!(waitid(WaitId::Pid(leader), look), Ok(None))
    }
}
