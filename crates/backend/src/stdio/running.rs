//! The commands that run: which process belongs to which session, how many there may be, which one has to go.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::process::Process;
use crate::error::Error;
use crate::host::lock;

/// How long a process must have been idle to be ended in favour of one that is wanted now; half the time it may be
/// idle at all, where that is less.
const EVICTED_AFTER: Duration = Duration::from_secs(10);

/// How long a process that answered no `server/discover` waits for the `initialize` that should follow.
const SPARED_FOR: Duration = Duration::from_secs(5);

/// The commands that run.
pub(super) struct Running {
    room: Arc<Semaphore>,
    /// How long a process may be idle.
    idle: Duration,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// By the id of their session.
    sessions: HashMap<String, Arc<Process>>,
    /// Those that serve everybody, by the name of their command.
    shared: HashMap<Box<str>, Arc<Process>>,
    /// Those that were only asked what they are.
    spared: Vec<(Instant, Arc<Process>)>,
    /// Those that belong to nobody yet, or no more. They are here until they are gone.
    others: Vec<Arc<Process>>,
    /// Whether nothing is started any more.
    is_stopped: bool,
}

impl Running {
    pub(super) fn new(most: usize, idle: Duration) -> Self {
        Self { room: Arc::new(Semaphore::new(most)), idle, table: Mutex::default() }
    }

    /// Waits for room for one more process. The one that was idle for longest goes where there is none.
    pub(super) async fn room(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Error> {
        if self.room.available_permits() == 0 {
            lock(&self.table).evict(Instant::now(), EVICTED_AFTER.min(self.idle / 2));
        }
        match tokio::time::timeout_at(deadline, self.room.clone().acquire_owned()).await {
            Ok(Ok(room)) => Ok(room),
            _ => Err(Error::unreachable("too many commands run already")),
        }
    }

    /// Returns the process of a session, if it still works.
    pub(super) fn session(&self, id: &str, name: &str) -> Option<Arc<Process>> {
        let table = lock(&self.table);
        table.sessions.get(id).filter(|process| &*process.name == name && !process.board.is_closed()).cloned()
    }

    /// Takes note of a process that belongs to nobody yet. Fails where nothing may be started any more.
    pub(super) fn begin(&self, start: impl FnOnce() -> Arc<Process>) -> Result<Arc<Process>, Error> {
        let mut table = lock(&self.table);
        if table.is_stopped {
            return Err(stopped());
        }
        let process = start();
        table.others.push(process.clone());
        Ok(process)
    }

    /// Gives a process to a session.
    pub(super) fn enter(&self, id: String, process: Arc<Process>) {
        let mut table = lock(&self.table);
        table.others.retain(|one| !Arc::ptr_eq(one, &process));
        table.sessions.insert(id, process);
    }

    /// Ends the process of a session. Returns whether there was one.
    pub(super) fn leave(&self, id: &str, name: &str) -> bool {
        let mut table = lock(&self.table);
        if table.sessions.get(id).is_none_or(|process| &*process.name != name) {
            return false;
        }
        let process = table.sessions.remove(id).filter(|process| !process.board.is_closed());
        let was_there = process.is_some();
        if let Some(process) = process {
            process.end();
            table.others.push(process);
        }
        was_there
    }

    /// Returns the process that serves everybody, if there is one that works.
    pub(super) fn shared(&self, name: &str) -> Option<Arc<Process>> {
        lock(&self.table).shared.get(name).filter(|process| !process.board.is_closed()).cloned()
    }

    /// Returns the process that serves everybody; starts it where another has not meanwhile.
    pub(super) fn share(
        &self,
        name: &str,
        start: impl FnOnce() -> Arc<Process>,
    ) -> Result<Arc<Process>, Error> {
        let mut table = lock(&self.table);
        if table.is_stopped {
            return Err(stopped());
        }
        if let Some(process) = table.shared.get(name).filter(|process| !process.board.is_closed()) {
            return Ok(process.clone());
        }
        let process = start();
        if let Some(before) = table.shared.insert(name.into(), process.clone()) {
            table.others.push(before);
        }
        Ok(process)
    }

    /// Puts a process aside that serves nobody after all; it ends unless it is asked for soon.
    pub(super) fn spare(&self, process: &Arc<Process>) {
        let mut table = lock(&self.table);
        let is_ours = table.shared.get(&process.name).is_some_and(|shared| Arc::ptr_eq(shared, process));
        // Requests may have come meanwhile, which another process cannot answer.
        if is_ours && !process.board.is_asked() {
            table.shared.remove(&process.name);
            table.spared.push((Instant::now(), process.clone()));
        }
    }

    /// Takes a process that was put aside, for a session.
    pub(super) fn take_spared(&self, name: &str) -> Option<Arc<Process>> {
        let mut table = lock(&self.table);
        let fits = |process: &Process| {
            &*process.name == name && !process.board.is_closed() && process.board.begin_session()
        };
        let at = table.spared.iter().position(|(_, process)| fits(process))?;
        let (_, process) = table.spared.swap_remove(at);
        table.others.push(process.clone());
        Some(process)
    }

    /// Ends what was idle for too long, and what `is_wanted` does not name any more.
    pub(super) fn sweep(&self, is_wanted: &dyn Fn(&str) -> bool) {
        let mut table = lock(&self.table);
        let now = Instant::now();
        table.spared.retain(|(since, process)| {
            let stays = now.duration_since(*since) < SPARED_FOR && is_wanted(&process.name);
            if !stays {
                process.end();
            }
            stays
        });
        let is_old = |process: &Process| {
            process.board.idle_since().is_some_and(|since| now.duration_since(since) >= self.idle)
        };
        let goes =
            |process: &Process| process.board.is_closed() || is_old(process) || !is_wanted(&process.name);
        let mut gone: Vec<_> =
            table.sessions.extract_if(|_, process| goes(process)).map(|(_, one)| one).collect();
        gone.extend(table.shared.extract_if(|_, process| goes(process)).map(|(_, one)| one));
        gone.iter().for_each(|process| process.end());
        table.others.extend(gone);
        table.others.retain(|process| !process.is_gone());
        for process in table.others.iter().filter(|process| !is_wanted(&process.name)) {
            process.end();
        }
    }

    /// Has everything ended and starts nothing more. Returns what has to be waited for.
    pub(super) fn stop(&self) -> Vec<Arc<Process>> {
        let mut table = lock(&self.table);
        table.is_stopped = true;
        let all = table.take_all();
        all.iter().for_each(|process| process.end());
        table.others = all.clone();
        all
    }

    /// Kills everything, now.
    pub(super) fn kill(&self) {
        let mut table = lock(&self.table);
        table.is_stopped = true;
        table.take_all().iter().for_each(|process| process.kill());
    }
}

impl Table {
    /// Ends the process that was idle for longest.
    fn evict(&mut self, now: Instant, after: Duration) {
        let is_long = |since: &Instant| now.duration_since(*since) >= after;
        let idle = |process: &Process| {
            process.board.idle_since().filter(|since| is_long(since) && !process.board.is_closed())
        };
        let sessions = self.sessions.values().filter_map(|one| Some((idle(one)?, one)));
        let shared = self.shared.values().filter_map(|one| Some((idle(one)?, one)));
        if let Some((_, longest)) = sessions.chain(shared).min_by_key(|(since, _)| *since) {
            tracing::debug!(command = %longest.name, "an idle command makes room for another");
            longest.end();
        }
    }

    fn take_all(&mut self) -> Vec<Arc<Process>> {
        let mut all: Vec<_> = self.sessions.drain().map(|(_, process)| process).collect();
        all.extend(self.shared.drain().map(|(_, process)| process));
        all.extend(self.spared.drain(..).map(|(_, process)| process));
        all.append(&mut self.others);
        all.retain(|process| !process.is_gone());
        all
    }
}

fn stopped() -> Error {
    Error::unreachable("the gateway is stopping")
}
