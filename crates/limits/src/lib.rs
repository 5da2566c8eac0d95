//! How often: how many requests a caller and an endpoint may have, and who has used up theirs.
//!
//! Knows neither HTTP nor MCP, and keeps no names: a caller is a number made with a secret of this process.
#![warn(missing_docs)]

mod buckets;
pub mod rate;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use catalog::access::Principal;
use metrics::{Counter, counter};

use buckets::Buckets;
pub use rate::Rate;

/// How often callers may come. What is absent is not limited.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// All requests of one caller, those to the REST API among them.
    pub principal: Option<Rate>,
    /// What holds for endpoints without limits of their own.
    pub usual: PathLimits,
    /// Limits of single endpoints, by their short path.
    pub paths: HashMap<String, PathLimits>,
}

/// How often one endpoint may be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathLimits {
    /// By everybody together.
    pub endpoint: Option<Rate>,
    /// By each caller.
    pub pair: Option<Rate>,
}

/// Which of its limits a request exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// That of the caller.
    Principal,
    /// That of the endpoint.
    Endpoint,
    /// That of the caller at the endpoint.
    Pair,
}

/// A request that comes too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests {}; try again in {} s", .scope.by(), self.seconds())]
pub struct Exceeded {
    /// Which limit it exceeds.
    pub scope: Scope,
    /// When it would not.
    pub retry_after: Duration,
}

/// Counts requests. Shared by all threads; its locks are held for some nanoseconds and seldom met.
pub struct Limiter {
    limits: Limits,
    buckets: Buckets,
    began: Instant,
    secret: RandomState,
    refused: [Counter; 3],
}

impl Limiter {
    /// Makes a limiter; `None` where nothing is limited, so that nothing is asked.
    pub fn new(limits: Limits) -> Option<Self> {
        let none = PathLimits::default();
        let is_off = limits.principal.is_none()
            && limits.usual == none
            && limits.paths.values().all(|limits| *limits == none);
        let refused = [Scope::Principal, Scope::Endpoint, Scope::Pair]
            .map(|scope| counter!("switchyard_rate_limited_total", "limit" => scope.as_str()));
        let (buckets, began, secret) = (Buckets::default(), Instant::now(), RandomState::new());
        (!is_off).then_some(Self { limits, buckets, began, secret, refused })
    }

    /// Counts a request of a caller to an endpoint, or refuses it; what is refused counts nowhere.
    pub fn at_endpoint(&self, principal: &Principal, path: &str, now: Instant) -> Result<(), Exceeded> {
        let own = self.limits.paths.get(path).filter(|_| !self.limits.paths.is_empty());
        let PathLimits { endpoint, pair } = *own.unwrap_or(&self.limits.usual);
        let (caller, place) = (self.caller(principal), self.secret.hash_one(path));
        // What is refused for the caller alone must not use up what others need.
        self.take(
            &[
                (Scope::Pair, pair, self.secret.hash_one((caller, place))),
                (Scope::Principal, self.limits.principal, caller),
                (Scope::Endpoint, endpoint, place),
            ],
            now,
        )
    }

    /// Counts a request of a caller to what is no endpoint, or refuses it.
    pub fn elsewhere(&self, principal: &Principal, now: Instant) -> Result<(), Exceeded> {
        match self.limits.principal {
            None => Ok(()),
            some => self.take(&[(Scope::Principal, some, self.caller(principal))], now),
        }
    }

    /// Forgets whoever has been away for long enough. To be called now and then.
    pub fn sweep(&self) {
        self.buckets.sweep(self.moment(Instant::now()));
    }

    fn take(&self, wanted: &[(Scope, Option<Rate>, u64)], now: Instant) -> Result<(), Exceeded> {
        let now = self.moment(now);
        for (index, (scope, rate, key)) in wanted.iter().enumerate() {
            let Some(rate) = rate else { continue };
            let Err(wait) = self.buckets.take(*key, rate, now) else { continue };
            for (_, rate, key) in &wanted[..index] {
                if let Some(rate) = rate {
                    self.buckets.give_back(*key, rate);
                }
            }
            self.refused[*scope as usize].increment(1);
            return Err(Exceeded { scope: *scope, retry_after: Duration::from_nanos(wait) });
        }
        Ok(())
    }

    /// Two credentials of one caller count as one; a token of ours for the subject `anonymous` is another one than
    /// the callers without any.
    fn caller(&self, principal: &Principal) -> u64 {
        self.secret.hash_one((&principal.subject, &principal.issuer, principal.token.is_some()))
    }

    fn moment(&self, now: Instant) -> u64 {
        // In 584 years it stands still.
        u64::try_from(now.saturating_duration_since(self.began).as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Scope {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Endpoint => "endpoint",
            Self::Pair => "pair",
        }
    }

    fn by(self) -> &'static str {
        match self {
            Self::Principal => "by this caller",
            Self::Endpoint => "at this endpoint",
            Self::Pair => "by this caller at this endpoint",
        }
    }
}

impl Exceeded {
    /// Returns the wait in whole seconds, as `Retry-After` wants it: at least one.
    pub fn seconds(&self) -> u64 {
        self.retry_after.as_millis().div_ceil(1000).max(1) as u64
    }
}

#[cfg(test)]
mod tests;
