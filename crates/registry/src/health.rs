//! Probes active versions on a clock and keeps the board of results. Health never decides whether a route exists.

mod schedule;

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backend::handshake::Learnt;
use catalog::VersionKey;
use catalog::endpoint::{Endpoint, Era};
use catalog::inventory::Inventory;
use catalog::time::Timestamp;
use tokio::task::{Id, JoinSet};

use crate::{Registry, metrics};
use schedule::Schedule;

/// Longest time between two looks for versions that became active.
const MAX_TICK: Duration = Duration::from_secs(1);
/// Shortest time between two such looks, each of which goes through all servers where one was written.
const MIN_TICK: Duration = Duration::from_millis(20);
/// Longest time for one probe, with both eras tried.
const PROBE_DEADLINE: Duration = Duration::from_secs(15);

/// How many times longer a command is left alone between probes: one of the older revisions is started for each.
const PATIENCE_WITH_COMMANDS: u32 = 10;

/// What the last probe of each version found.
#[derive(Default)]
pub(crate) struct Board {
    checks: Mutex<HashMap<VersionKey, Check>>,
}

/// What the last probe of a version found.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    /// When it was.
    pub(crate) checked_at: Timestamp,
    /// Since when the result is what it is: healthy or not.
    pub(crate) since: Timestamp,
    /// How long the backend took; of the last probe that worked.
    pub(crate) latency: Option<Duration>,
    /// What was wrong; `None` means healthy.
    pub(crate) fault: Option<String>,
    /// The version the software reported; of the last probe that worked.
    pub(crate) reported: Option<String>,
    /// When the inventory was last read, by this process.
    inventory_read: Option<Instant>,
}

impl Check {
    /// Returns the word for the result.
    pub(crate) fn status(&self) -> &'static str {
        if self.fault.is_none() { "healthy" } else { "unhealthy" }
    }
}

impl Board {
    /// Returns the last result for a version.
    pub(crate) fn check(&self, key: &VersionKey) -> Option<Check> {
        self.checks().get(key).cloned()
    }

    /// Notes a probe that worked.
    pub(crate) fn answered(&self, key: &VersionKey, reported: Option<String>, latency: Duration) {
        self.note(key, None, |check| {
            check.latency = Some(latency);
            check.reported = reported;
        });
    }

    /// Notes an inventory that was read.
    pub(crate) fn read_whole(&self, key: &VersionKey, reported: Option<String>, latency: Duration) {
        self.note(key, None, |check| {
            check.latency = Some(latency);
            check.reported = reported;
            check.inventory_read = Some(Instant::now());
        });
    }

    /// Notes a probe that failed.
    pub(crate) fn failed(&self, key: &VersionKey, fault: String) {
        self.note(key, Some(fault), |_| {});
    }

    fn note(&self, key: &VersionKey, fault: Option<String>, edit: impl FnOnce(&mut Check)) {
        let now = Timestamp::now();
        let mut checks = self.checks();
        let known = checks.get(key).map(|check| check.fault.is_some());
        let check = checks.entry(key.clone()).or_insert_with(|| Check {
            checked_at: now,
            since: now,
            latency: None,
            fault: None,
            reported: None,
            inventory_read: None,
        });
        if known.is_some_and(|was_faulty| was_faulty != fault.is_some()) {
            check.since = now;
        }
        if known.unwrap_or(false) != fault.is_some() {
            let (path, label) = (&key.path, &key.label);
            match &fault {
                Some(reason) => tracing::warn!(server.path = %path, %label, reason, "backend is unhealthy"),
                None => tracing::info!(server.path = %path, %label, "backend is healthy again"),
            }
        }
        check.checked_at = now;
        check.fault = fault;
        edit(check);
    }

    fn retain(&self, is_there: impl Fn(&VersionKey) -> bool) {
        self.checks().retain(|key, _| is_there(key));
    }

    fn checks(&self) -> MutexGuard<'_, HashMap<VersionKey, Check>> {
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    /// Probes the active versions of enabled servers, each in its turn. Never returns.
    pub(crate) async fn probe_on_clock(self: &Arc<Self>) {
        let mut schedule = Schedule::default();
        let mut running: HashMap<Id, VersionKey> = HashMap::new();
        let mut probes = JoinSet::new();
        let most = self.parts.settings.probe_parallel.max(1);
        let looks = (self.parts.settings.probe_every / 10).clamp(MIN_TICK, MAX_TICK);
        let mut tick = tokio::time::interval(looks);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let next = schedule.next().filter(|_| running.len() < most);
            tokio::select! {
                _ = tick.tick() => self.plan(&mut schedule),
                Some(ended) = probes.join_next_with_id() => {
                    let id = match ended {
                        Ok((id, ())) => id,
                        Err(error) => error.id(),
                    };
                    if let Some(key) = running.remove(&id) {
                        let pause = self.spread(0.9, 0.2) * self.patience_with(&key);
                        schedule.ended(key, Instant::now() + pause);
                    }
                }
                () = reached(next) => {}
            }
            while running.len() < most
                && let Some(key) = schedule.take(Instant::now())
            {
                let (registry, probed) = (self.clone(), key.clone());
                let handle = probes.spawn(async move { registry.probe(&probed).await });
                running.insert(handle.id(), key);
            }
        }
    }

    /// Brings the schedule and the board in line with the catalog.
    fn plan(&self, schedule: &mut Schedule) {
        let catalog = self.catalog();
        let is_new = schedule.follow(&catalog.servers, |key| {
            // What is unknown is asked at once; the rest spreads over the first round.
            let is_known = catalog.inventories.contains_key(key);
            Instant::now() + if is_known { self.spread(0.0, 1.0) } else { Duration::ZERO }
        });
        if is_new {
            let version = |key: &VersionKey| catalog.servers.get(&key.path)?.version(key.label.as_str());
            self.board.retain(|key| version(key).is_some());
        }
    }

    /// Returns a part of the probe interval: `least`, and up to `more` by chance.
    fn spread(&self, least: f64, more: f64) -> Duration {
        // A fresh hasher's key is random, which is all the chance that is needed here.
        let chance = RandomState::new().hash_one(0u8) as f64 / u64::MAX as f64;
        self.parts.settings.probe_every.mul_f64(least + more * chance)
    }

    /// Returns how many times longer than usual a version is left alone between probes.
    fn patience_with(&self, key: &VersionKey) -> u32 {
        let is_command = self.endpoint(key).is_some_and(|endpoint| endpoint.command().is_some());
        // That it works again should show soon.
        let is_well = self.board.check(key).is_some_and(|check| check.fault.is_none());
        if is_command && is_well { PATIENCE_WITH_COMMANDS } else { 1 }
    }

    async fn probe(self: &Arc<Self>, key: &VersionKey) {
        let Some(endpoint) = self.endpoint(key) else { return };
        let known = self.catalog().inventory(&key.path, &key.label).cloned();
        let last_read = self.board.check(key).and_then(|check| check.inventory_read);
        let is_old = last_read.is_none_or(|at| at.elapsed() >= self.parts.settings.inventory_every);
        let must_read = match known {
            Some(known) if !is_old => self.greet(key, &endpoint, &known).await,
            _ => true,
        };
        if must_read && let Err(error) = self.refresh_among_many(key).await {
            tracing::debug!(error = ?error.to_string(), "inventory not read");
        }
    }

    /// Greets a backend without asking for its lists. Returns whether they should be read after all.
    async fn greet(&self, key: &VersionKey, endpoint: &Endpoint, known: &Inventory) -> bool {
        let began = Instant::now();
        let learning = self.parts.backends.learn(endpoint, Some(known.eras()));
        // In four steps at most: a discovery that is asked for twice, and both of a greeting.
        let within = PROBE_DEADLINE.max(4 * self.parts.backends.settings().probe_of(endpoint));
        let learnt = match tokio::time::timeout(within, learning).await {
            Ok(Ok(learnt)) => Ok(learnt),
            Ok(Err(error)) => Err(error.reason()),
            Err(_) => Err(format!("no answer within {} s", within.as_secs())),
        };
        metrics::probed("probe", learnt.is_ok(), began.elapsed());
        let learnt = match learnt {
            Err(reason) => {
                self.board.failed(key, reason);
                return false;
            }
            Ok(learnt) => learnt,
        };
        if let Learnt::Legacy(greeting) | Learnt::Both(_, greeting) = &learnt
            && let Some(session) = &greeting.session
        {
            // A session the backend does not let go of ends by its own clock.
            let met_at = greeting.met_at(endpoint);
            let _ = self.parts.backends.end_session(&met_at, session, greeting.revision).await;
        }
        let (is_same, reported) = match &learnt {
            Learnt::Modern(one) => (says(known, Era::Modern, &one.capabilities), &one.reported_version),
            Learnt::Legacy(one) => (says(known, Era::Legacy, &one.capabilities), &one.reported_version),
            Learnt::Both(modern, legacy) => {
                let is_same = says(known, Era::Modern, &modern.capabilities)
                    && says(known, Era::Legacy, &legacy.capabilities);
                (is_same, &modern.reported_version)
            }
        };
        let has_event_stream = matches!(&learnt, Learnt::Legacy(one) if one.has_event_stream);
        let is_new = learnt.eras() != known.eras()
            || has_event_stream != known.has_event_stream
            || !is_same
            || reported.is_some() && *reported != known.reported.version;
        self.board.answered(key, reported.clone(), began.elapsed());
        is_new
    }
}

/// Says whether a backend is known to announce these capabilities in an era.
fn says(known: &Inventory, era: Era, capabilities: &str) -> bool {
    known.side(era).capabilities == capabilities
}

/// Waits until then; for ever where there is nothing to wait for.
async fn reached(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
