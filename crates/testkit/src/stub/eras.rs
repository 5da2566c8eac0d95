//! What the eras need of a backend: its sessions, its running calls, the answers they wait for.

use std::future::Future;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;

use super::{MAX_SESSIONS, Stub};
use crate::listeners::Listeners;
use crate::record::{Run, Seen};
use crate::script::Script;
use crate::session::Session;
use crate::wire::{Out, StreamStyle};

impl Stub {
    pub(crate) fn script(&self) -> Script {
        self.state().script.clone()
    }

    pub(crate) fn saw(&self, seen: Seen) {
        let mut state = self.state();
        if state.script.keeps_history {
            state.seen.push(seen);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    pub(crate) fn began(&self, run: Run) {
        let mut state = self.state();
        if state.script.keeps_history {
            state.runs.push(run);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    pub(crate) fn was_cancelled(&self, id: &Value) {
        let mut state = self.state();
        if state.script.keeps_history {
            state.cancelled.push(id.clone());
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Opens a listen stream, whose first message acknowledges it.
    pub(crate) fn listen(&self, seen: &Seen) -> Receiver<Out> {
        let inbox = self.state().listeners.open(&seen.message["id"], &seen.params()["notifications"]);
        self.changed.notify_waiters();
        inbox
    }

    /// Opens a session and returns its id, empty where the backend has none.
    pub(crate) fn greet(&self, session: Session) -> String {
        let mut state = self.state();
        state.greeted += 1;
        let id = match state.script.has_sessions {
            true => format!("{}-session-{:06}", state.script.name, state.greeted),
            false => String::new(),
        };
        if state.sessions.len() >= MAX_SESSIONS {
            state.sessions.pop_first();
        }
        state.sessions.insert(id.clone(), session);
        self.changed.notify_waiters();
        id
    }

    /// Reads or changes a session; `None` where it is unknown.
    pub(crate) fn session<T>(&self, id: &str, look: impl FnOnce(&mut Session) -> T) -> Option<T> {
        let found = self.state().sessions.get_mut(id).map(look);
        self.changed.notify_waiters();
        found
    }

    pub(crate) fn end_session(&self, id: &str) -> bool {
        let ended = self.state().sessions.remove(id).is_some();
        self.changed.notify_waiters();
        ended
    }

    /// Makes the id of a request to a client and a place where its answer arrives.
    pub(crate) fn expect_answer(&self, session: &str) -> (Value, oneshot::Receiver<Value>) {
        let mut state = self.state();
        state.asked += 1;
        // Plain counters from 1, as real backends use, so that ids of several backends collide.
        let id = json!(state.asked);
        let (sender, receiver) = oneshot::channel();
        state.waiting.insert((session.into(), id.to_string()), sender);
        (id, receiver)
    }

    /// Takes a client's answer to the call that waits for it; false where none does.
    pub(crate) fn take_answer(&self, session: &str, answer: Value) -> bool {
        let waiting = self.state().waiting.remove(&(session.into(), answer["id"].to_string()));
        waiting.is_some_and(|sender| sender.send(answer).is_ok())
    }

    /// Keeps what comes on a stream that ends early, and returns the id to resume it by.
    pub(crate) fn leave(&self, session: &str, rest: oneshot::Receiver<Receiver<Out>>) -> String {
        let id = format!("left-{}", self.event_ids.fetch_add(1, Ordering::Relaxed));
        self.state().left.insert((session.into(), id.clone()), rest);
        id
    }

    /// Returns what is still to come on a stream that ended early.
    pub(crate) async fn resume(&self, session: &str, id: &str) -> Option<Receiver<Out>> {
        let rest = self.state().left.remove(&(session.into(), id.into()))?;
        rest.await.ok()
    }

    /// Registers a running call and returns the signal that stops it.
    pub(crate) fn stoppable(&self, session: &str, id: &Value) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.state().running.insert((session.into(), id.to_string()), sender);
        receiver
    }

    /// Stops a running call, as `notifications/cancelled` wants.
    pub(crate) fn stop(&self, session: &str, id: &Value) {
        let running = self.state().running.remove(&(session.into(), id.to_string()));
        if running.is_some_and(|sender| sender.send(()).is_ok()) {
            self.was_cancelled(id);
        }
    }

    pub(crate) fn finished(&self, session: &str, id: &Value) {
        self.state().running.remove(&(session.into(), id.to_string()));
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().expect("no holder panics");
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Ends all running calls, as a process that was killed.
    pub(crate) fn kill(&self) {
        self.tasks.lock().expect("no holder panics").abort_all();
        let mut state = self.state();
        state.waiting.clear();
        state.left.clear();
        state.running.clear();
        state.sessions.values_mut().for_each(Session::close_streams);
        state.listeners = Listeners::default();
    }

    pub(crate) fn stream_style(&self) -> StreamStyle {
        let script = self.script();
        StreamStyle {
            opening: script.opening,
            ids: script.has_event_ids.then(|| self.event_ids.clone()),
            is_array: script.writes_arrays,
        }
    }
}
