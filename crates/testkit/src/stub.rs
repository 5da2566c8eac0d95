//! The inside of a running backend: its script, what it saw and ran, its sessions, what it pushes.

mod eras;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

use crate::listeners::Listeners;
use crate::record::{Run, Seen};
use crate::script::{Reply, Script};
use crate::session::Session;
use crate::tool::Tool;
use crate::wire::Out;

/// Longest wait of `until`; what has not happened by then does not happen.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most sessions kept; the oldest goes. Clients that never end theirs would fill a long-lived backend.
const MAX_SESSIONS: usize = 100_000;

/// A backend's state. Tests reach it through `LegacyBackend` and `ModernBackend`, which give their port to it.
pub struct Stub {
    state: Mutex<State>,
    /// Told after each thing seen, run, cancelled, opened.
    changed: Notify,
    /// Calls that run; they outlive the client's connection, as in a real backend.
    tasks: Mutex<JoinSet<()>>,
    event_ids: Arc<AtomicU64>,
}

struct State {
    script: Script,
    seen: Vec<Seen>,
    runs: Vec<Run>,
    cancelled: Vec<Value>,
    sessions: BTreeMap<String, Session>,
    /// Listen streams of the modern era.
    listeners: Listeners,
    /// Session ids ever given; a forgotten one is never given again.
    greeted: u64,
    asked: u64,
    /// Requests to a client that wait for its answer, by session and id.
    waiting: HashMap<(String, String), oneshot::Sender<Value>>,
    /// Streams that ended before their answer, by session and id of their last event.
    left: HashMap<(String, String), oneshot::Receiver<Receiver<Out>>>,
    /// Ways to stop running calls, by session and id.
    running: HashMap<(String, String), oneshot::Sender<()>>,
}

impl Stub {
    pub(crate) fn new(script: Script) -> Arc<Self> {
        let state = State {
            script,
            seen: Vec::new(),
            runs: Vec::new(),
            cancelled: Vec::new(),
            sessions: BTreeMap::new(),
            listeners: Listeners::default(),
            greeted: 0,
            asked: 0,
            waiting: HashMap::new(),
            left: HashMap::new(),
            running: HashMap::new(),
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Notify::new(),
            tasks: Mutex::new(JoinSet::new()),
            event_ids: Arc::default(),
        })
    }

    // What it saw.

    /// Returns every request that reached it, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// Returns the requests of one method, for example `initialize`.
    pub fn asked(&self, method: &str) -> Vec<Seen> {
        self.state().seen.iter().filter(|seen| seen.method == method).cloned().collect()
    }

    /// Returns the tool calls that reached it, whether they ran or not.
    pub fn calls(&self) -> Vec<Seen> {
        self.asked("tools/call")
    }

    /// Counts how often a tool ran.
    pub fn runs(&self, tool: &str) -> usize {
        self.state().runs.iter().filter(|run| run.tool == tool).count()
    }

    /// Returns all runs of tools, in order.
    pub fn ran(&self) -> Vec<Run> {
        self.state().runs.clone()
    }

    /// Returns the ids of calls that were stopped while they ran.
    pub fn cancelled(&self) -> Vec<Value> {
        self.state().cancelled.clone()
    }

    /// Returns the ids of live sessions.
    pub fn sessions(&self) -> Vec<String> {
        self.state().sessions.keys().cloned().collect()
    }

    /// Returns the revisions agreed with live sessions, in the order of their ids.
    pub fn revisions(&self) -> Vec<String> {
        self.state().sessions.values().map(|session| session.revision.clone()).collect()
    }

    /// Returns what the clients of live sessions say they can do, in the order of their ids.
    pub fn client_capabilities(&self) -> Vec<Value> {
        self.state().sessions.values().map(|session| session.capabilities.clone()).collect()
    }

    /// Counts the listen streams that are open.
    pub fn listens(&self) -> usize {
        self.state().listeners.count()
    }

    /// Counts the GET streams that are open.
    pub fn streams(&self) -> usize {
        self.state().sessions.values().map(Session::open_streams).sum()
    }

    /// Forgets what it saw and ran so far; sessions stay.
    pub fn forget_history(&self) {
        let mut state = self.state();
        state.seen.clear();
        state.runs.clear();
        state.cancelled.clear();
    }

    /// Waits until something is so. Panics with `what` after ten seconds.
    pub async fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if condition(self) {
                    return;
                }
                // Streams close without telling us, so look again from time to time.
                let _ = tokio::time::timeout(Duration::from_millis(20), changed).await;
            }
        };
        let name = self.name();
        tokio::time::timeout(PATIENCE, wait)
            .await
            .unwrap_or_else(|_| panic!("{name} waited in vain until {what}"));
    }

    // Switches while it runs.

    /// Changes its script from the next request on.
    pub fn set(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.state().script);
    }

    /// Returns its name.
    pub fn name(&self) -> String {
        self.state().script.name.clone()
    }

    /// Reports another version of itself.
    pub fn set_version(&self, version: &str) {
        self.set(|script| script.version = version.into());
    }

    /// Offers other tools. Tells nobody; see `tools_changed`.
    pub fn set_tools<T: Into<Tool>>(&self, tools: impl IntoIterator<Item = T>) {
        let tools = tools.into_iter().map(Into::into).collect();
        self.set(|script| script.tools = tools);
    }

    /// Waits before it answers a method; zero ends that.
    pub fn delay(&self, method: &str, time: Duration) {
        self.set(|script| {
            script.delays.insert(method.into(), time);
        });
    }

    /// Answers a method always like this.
    pub fn reply(&self, method: &str, reply: Reply) {
        self.set(|script| {
            script.replies.insert(method.into(), reply);
        });
    }

    /// Answers a method as it should again.
    pub fn reply_normally(&self, method: &str) {
        self.set(|script| {
            script.replies.remove(method);
        });
    }

    /// Cuts lists into pages.
    pub fn page_size(&self, items: usize) {
        self.set(|script| script.page_size = Some(items));
    }

    /// Makes each page of a list name the same next page.
    pub fn loop_cursors(&self, loops: bool) {
        self.set(|script| script.loops_cursors = loops);
    }

    /// Refuses unknown sessions with this status.
    pub fn refuse_sessions_with(&self, status: u16) {
        let status = StatusCode::from_u16(status).expect("the test gives a status");
        self.set(|script| script.session_refusal = status);
    }

    /// Forgets all sessions, as after a restart, and closes their streams.
    pub fn forget_sessions(&self) {
        self.state().sessions.clear();
        self.changed.notify_waiters();
    }

    // Pushes on GET streams.

    /// Sends a message to every session with an open stream, and to every listen stream that wants it.
    pub fn push(&self, message: &Value) {
        self.push_to(|_| true, message);
        self.state().listeners.push(message);
    }

    /// Tells that its tools changed.
    pub fn tools_changed(&self) {
        self.push(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
    }

    /// Tells that its prompts changed.
    pub fn prompts_changed(&self) {
        self.push(&json!({ "jsonrpc": "2.0", "method": "notifications/prompts/list_changed" }));
    }

    /// Tells that its resources changed.
    pub fn resources_changed(&self) {
        self.push(&json!({ "jsonrpc": "2.0", "method": "notifications/resources/list_changed" }));
    }

    /// Tells the sessions that subscribed to a resource that it changed.
    pub fn resource_updated(&self, uri: &str) {
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri } });
        self.push_to(|session| session.subscribed.contains(uri), &message);
        self.state().listeners.push(&message);
    }

    /// Sends a log message to the sessions that want its level.
    pub fn log(&self, level: &str, text: &str) {
        let params = json!({ "level": level, "logger": self.name(), "data": text });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
        self.push_to(|session| session.wants_log(level), &message);
    }

    fn push_to(&self, wanted: impl Fn(&Session) -> bool, message: &Value) {
        for session in self.state().sessions.values_mut().filter(|session| wanted(session)) {
            session.push(message.clone());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}
