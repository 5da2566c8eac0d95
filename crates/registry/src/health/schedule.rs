//! When each active version is probed next. Written to by every probe that ends, so none of that goes through all.

use std::cmp::Reverse;
use std::collections::btree_map::BTreeMap;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use catalog::VersionKey;
use catalog::name::ServerPath;
use catalog::server::Server;

type Servers = Arc<BTreeMap<ServerPath, Arc<Server>>>;

/// The versions to probe.
#[derive(Default)]
pub(super) struct Schedule {
    /// The servers it is in line with.
    servers: Option<Servers>,
    states: HashMap<VersionKey, State>,
    /// The soonest first. Those that do not say what `states` says have been overtaken.
    queue: BinaryHeap<Reverse<(Instant, VersionKey)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Due(Instant),
    Running,
    /// Its probe runs, and was the last.
    Leaving,
}

impl Schedule {
    /// Brings it in line with the servers: versions that became active join at the moment that `begin` names, others
    /// leave. Returns whether anything was written since the last time.
    pub(super) fn follow(&mut self, servers: &Servers, begin: impl Fn(&VersionKey) -> Instant) -> bool {
        if self.servers.as_ref().is_some_and(|known| Arc::ptr_eq(known, servers)) {
            return false;
        }
        self.servers = Some(servers.clone());
        let enabled = servers.values().filter(|server| server.is_enabled);
        let active: HashSet<_> =
            enabled.map(|server| VersionKey::new(&server.path, &server.active().label)).collect();
        self.states.retain(|key, state| match state {
            _ if active.contains(key) => true,
            State::Due(_) => false,
            State::Running | State::Leaving => {
                *state = State::Leaving;
                true
            }
        });
        for key in active {
            match self.states.entry(key) {
                Entry::Vacant(free) => {
                    let at = begin(free.key());
                    self.queue.push(Reverse((at, free.key().clone())));
                    free.insert(State::Due(at));
                }
                Entry::Occupied(mut known) if *known.get() == State::Leaving => {
                    known.insert(State::Running);
                }
                Entry::Occupied(_) => {}
            }
        }
        true
    }

    /// Returns the moment of the next probe.
    pub(super) fn next(&mut self) -> Option<Instant> {
        loop {
            let Reverse((at, key)) = self.queue.peek()?;
            if self.states.get(key) == Some(&State::Due(*at)) {
                return Some(*at);
            }
            self.queue.pop();
        }
    }

    /// Takes a version whose time has come; its probe is [`ended`](Self::ended) later.
    pub(super) fn take(&mut self, now: Instant) -> Option<VersionKey> {
        self.next().filter(|at| *at <= now)?;
        let Reverse((_, key)) = self.queue.pop()?;
        self.states.insert(key.clone(), State::Running);
        Some(key)
    }

    /// Notes the end of a probe, and when the next of that version is due if it is still active.
    pub(super) fn ended(&mut self, key: VersionKey, again: Instant) {
        match self.states.get_mut(&key) {
            Some(state @ State::Running) => {
                *state = State::Due(again);
                self.queue.push(Reverse((again, key)));
            }
            _ => drop(self.states.remove(&key)),
        }
    }
}

#[cfg(test)]
mod tests;
