//! One identity provider: its keys, and when they are fetched again.
//!
//! Only `keep_keys` fetches, one fetch at a time. Whoever misses a key asks for a fetch and waits for its end, so a client
//! that goes away takes nothing with it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use catalog::time::Timestamp;
use jsonwebtoken::Algorithm;
use tokio::sync::{Notify, watch};

use super::discovery::{self, Metadata};
use super::fetch::{Answer, Fetch, Question};
use super::keyset::KeySet;
use super::settings::ProviderSettings;
use crate::refused::Refused;

/// How long keys count as fresh that come without a hint: a withdrawn key is noticed after that.
const FRESH: Duration = Duration::from_secs(300);
/// Hints beyond these are cut.
const FRESH_LIMITS: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3600));
/// Rest after a fetch that failed while there are no keys at all: at the start the provider may be late.
const WITHOUT_KEYS: Duration = Duration::from_secs(2);
/// Longest wait for a fetch, as seen by a request.
const WAIT: Duration = Duration::from_secs(10);

/// One identity provider.
pub(super) struct Provider {
    pub(super) settings: ProviderSettings,
    fetch: Arc<dyn Fetch>,
    state: Mutex<State>,
    wanted: Notify,
    /// Counts fetches that came to an end.
    ended: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    keys: Option<Fetched>,
    /// When a fetch last came to an end, good or bad.
    tried_at: Option<Timestamp>,
    /// Where it has what.
    metadata: Option<Arc<Metadata>>,
    /// Grows when a key was withdrawn.
    generation: u64,
    /// Why the last fetch failed.
    failure: Option<String>,
}

struct Fetched {
    keys: Arc<KeySet>,
    at: Timestamp,
    fresh_until: Timestamp,
}

impl Provider {
    pub(super) fn new(settings: ProviderSettings, fetch: Arc<dyn Fetch>) -> Self {
        let (state, wanted, ended) = (Mutex::default(), Notify::new(), watch::Sender::new(0));
        Self { settings, fetch, state, wanted, ended }
    }

    pub(super) fn generation(&self) -> u64 {
        self.state().generation
    }

    /// Returns where it is asked about tokens, as its metadata says.
    pub(super) fn introspection_endpoint(&self) -> Option<String> {
        self.metadata()?.introspection_endpoint.clone()
    }

    /// Returns its metadata, as soon as they were fetched once.
    pub(super) fn metadata(&self) -> Option<Arc<Metadata>> {
        self.state().metadata.clone()
    }

    pub(super) async fn ask(&self, question: Question) -> Result<Answer, super::fetch::Unanswered> {
        self.fetch.fetch(question).await
    }

    /// Returns its keys, among them one that fits where there is any; fetches them anew where there is none, if the last
    /// fetch is long enough ago.
    pub(super) async fn keys_for(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
        now: Timestamp,
    ) -> Result<(Arc<KeySet>, u64), Refused> {
        let mut ended = self.ended.subscribe();
        let has_fitting = |keys: &KeySet| keys.fitting(id, algorithm).next().is_some();
        match self.current(now) {
            Some((keys, generation)) if has_fitting(&keys) => return Ok((keys, generation)),
            found => {
                if !self.may_fetch(now) {
                    // Keys that are there and do not fit say that it is somebody else's token.
                    return Err(if found.is_some() { Refused::UnknownKey } else { Refused::Unreachable });
                }
            }
        }
        self.wanted.notify_one();
        // An end by the clock says the same as a fetch that failed: what is there has to do.
        let _ = tokio::time::timeout(WAIT, ended.changed()).await;
        match self.current(now) {
            Some((keys, generation)) if has_fitting(&keys) => Ok((keys, generation)),
            Some(_) if self.is_fresh_since(now) => Err(Refused::UnknownKey),
            _ => Err(Refused::Unreachable),
        }
    }

    /// Keeps the keys fresh, for ever. `forget` is told the issuer when a key was withdrawn.
    pub(super) async fn keep_keys(&self, forget: &(dyn Fn(&str) + Sync)) {
        loop {
            self.fetch_keys(Timestamp::now(), forget).await;
            loop {
                let now = Timestamp::now();
                let due = self.due();
                if now >= due {
                    break;
                }
                let wait = Duration::from_millis(u64::try_from(due.0 - now.0).unwrap_or_default());
                tokio::select! {
                    () = tokio::time::sleep(wait) => break,
                    () = self.wanted.notified() => {
                        if self.may_fetch(Timestamp::now()) {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Fetches the keys once; the old ones stay where that fails.
    pub(super) async fn fetch_keys(&self, now: Timestamp, forget: &(dyn Fn(&str) + Sync)) {
        let issuer = self.settings.issuer.as_str();
        let fetched = self.fetched().await;
        let mut is_withdrawn = false;
        {
            let mut state = self.state();
            state.tried_at = Some(now);
            match fetched {
                Ok((keys, fresh, metadata)) => {
                    if state.failure.take().is_some() || state.keys.is_none() {
                        tracing::info!(%issuer, keys = keys.len(), "the keys of the identity provider are here");
                    }
                    is_withdrawn = state.keys.as_ref().is_some_and(|old| old.keys.lost_any(&keys));
                    state.generation += u64::from(is_withdrawn);
                    state.metadata = Some(Arc::new(metadata));
                    let fresh_until = after(now, fresh);
                    state.keys = Some(Fetched { keys: Arc::new(keys), at: now, fresh_until });
                }
                Err(reason) => {
                    // Said once, not with every try.
                    if state.failure.as_ref() != Some(&reason) {
                        let has_keys = state.keys.is_some();
                        tracing::warn!(%issuer, %reason, has_keys, "the keys of the identity provider cannot be fetched");
                    }
                    state.failure = Some(reason);
                }
            }
        }
        if is_withdrawn {
            forget(issuer);
        }
        self.ended.send_modify(|count| *count += 1);
    }

    async fn fetched(&self) -> Result<(KeySet, Duration, Metadata), String> {
        let issuer = self.settings.issuer.as_str();
        let metadata = self.fetched_metadata().await?;
        let is_learnt = !discovery::is_beside(&metadata.jwks_uri, issuer);
        let answer = self.good(&metadata.jwks_uri, is_learnt).await?;
        let keys = KeySet::read(&answer.body).map_err(|error| format!("its keys cannot be read: {error}"))?;
        let fresh = answer.max_age_seconds.map_or(FRESH, Duration::from_secs);
        Ok((keys, fresh.clamp(FRESH_LIMITS.0, FRESH_LIMITS.1), metadata))
    }

    /// Reads its metadata at the first place that has them; else says what was wrong with the likeliest place.
    async fn fetched_metadata(&self) -> Result<Metadata, String> {
        let issuer = self.settings.issuer.as_str();
        let mut failed = None;
        for url in discovery::places(issuer) {
            let answer = self.good(&url, false).await;
            match answer.and_then(|answer| discovery::read(&answer.body, issuer)) {
                Ok(metadata) => return Ok(metadata),
                Err(reason) => failed = failed.or(Some(reason)),
            }
        }
        Err(failed.unwrap_or_default())
    }

    async fn good(&self, url: &str, is_learnt: bool) -> Result<Answer, String> {
        let question = Question { url: url.to_owned(), is_learnt, authorization: None, form: None };
        match self.fetch.fetch(question).await {
            Ok(answer) if answer.status == 200 => Ok(answer),
            Ok(answer) => Err(format!("{url} answered HTTP {}", answer.status)),
            Err(error) => Err(format!("{url}: {error}")),
        }
    }

    /// Returns the keys, unless they are too old to be believed.
    fn current(&self, now: Timestamp) -> Option<(Arc<KeySet>, u64)> {
        let state = self.state();
        let fetched =
            state.keys.as_ref().filter(|fetched| now < after(fetched.at, self.settings.keys_keep))?;
        Some((fetched.keys.clone(), state.generation))
    }

    fn may_fetch(&self, now: Timestamp) -> bool {
        let state = self.state();
        let rest = if state.keys.is_some() { self.settings.refetch_every } else { self.rest_without_keys() };
        state.tried_at.is_none_or(|tried| now >= after(tried, rest))
    }

    fn is_fresh_since(&self, moment: Timestamp) -> bool {
        self.state().keys.as_ref().is_some_and(|fetched| fetched.at >= moment)
    }

    fn rest_without_keys(&self) -> Duration {
        WITHOUT_KEYS.min(self.settings.refetch_every)
    }

    fn due(&self) -> Timestamp {
        let state = self.state();
        let tried = state.tried_at.unwrap_or_default();
        match &state.keys {
            Some(fetched) => fetched.fresh_until.max(after(tried, self.settings.refetch_every)),
            None => after(tried, self.rest_without_keys()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn after(moment: Timestamp, rest: Duration) -> Timestamp {
    Timestamp(moment.0.saturating_add(i64::try_from(rest.as_millis()).unwrap_or(i64::MAX)))
}
