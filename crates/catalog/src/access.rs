//! Who a caller is, what groups grant, and the one function that answers "may they?".

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

pub use crate::scope::Scope;
use crate::time::Timestamp;
use crate::token::{IssuedToken, TokenId};

/// A group and the scopes it grants to its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What its members may do.
    pub scopes: Vec<Scope>,
    /// Moves with every write.
    pub revision: u64,
}

/// Who calls, as a verified credential says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The person or program. Unique within `issuer`.
    pub subject: Arc<str>,
    /// Who vouches for it; empty for tokens of our own and anonymous callers.
    pub issuer: Arc<str>,
    /// Groups the credential names.
    pub groups: Vec<String>,
    /// Scopes the credential itself carries.
    pub scopes: Vec<Scope>,
    /// Whether this is an administrator, who may do everything.
    pub is_admin: bool,
    /// The id of the token, where it is one of ours.
    pub token: Option<TokenId>,
    /// The one endpoint path the credential is good for, where it is bound: `/virtual/dev-tools`.
    pub resource: Option<Arc<str>>,
    /// The URLs of the endpoints that an outside credential is good for; `None` where it is not bound so.
    pub audiences: Option<Arc<[Box<str>]>>,
    /// When the credential ends.
    pub expires_at: Option<Timestamp>,
    /// When the credential was last presented, which is no part of who calls.
    pub last_use: LastUse,
}

/// When a credential was last presented, noted without a lock.
#[derive(Debug, Default)]
pub struct LastUse(AtomicI64);

/// Everything a principal may do under one snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    everything: bool,
    scopes: HashSet<Scope>,
}

impl Principal {
    /// A caller without a credential, where the configuration lets one in.
    pub fn anonymous() -> Self {
        Self {
            subject: "anonymous".into(),
            issuer: "".into(),
            groups: Vec::new(),
            scopes: Vec::new(),
            is_admin: false,
            token: None,
            resource: None,
            audiences: None,
            expires_at: None,
            last_use: LastUse::default(),
        }
    }

    /// Says whether this is a caller without a credential.
    pub fn is_nameless(&self) -> bool {
        // A token of ours has an id, one of a provider an issuer.
        self.token.is_none() && self.issuer.is_empty()
    }

    /// Says whether a token of ours stands for this caller, whatever they called with.
    pub fn is_named_by(&self, token: &IssuedToken) -> bool {
        token.subject == *self.subject && token.subject_issuer.as_deref().unwrap_or_default() == &*self.issuer
    }

    /// Says whether two credentials stand for the same caller, so that one may go on with the other's session.
    pub fn is_same_caller(&self, other: &Self) -> bool {
        // A token that we issued to the subject `anonymous` is no anonymous caller.
        let is_ours = |one: &Self| one.token.is_some();
        self.subject == other.subject && self.issuer == other.issuer && is_ours(self) == is_ours(other)
    }
}

impl LastUse {
    /// Notes that it was presented. Within a second nothing is written, so that threads that present one credential do
    /// not take its memory from each other.
    pub fn note(&self, now: Timestamp) {
        if now.0.saturating_sub(self.0.load(Relaxed)) >= 1000 {
            self.0.store(now.0, Relaxed);
        }
    }

    /// Returns the moment; `None` where it never was.
    pub fn get(&self) -> Option<Timestamp> {
        Some(Timestamp(self.0.load(Relaxed))).filter(|at| at.0 != 0)
    }
}

impl Clone for LastUse {
    fn clone(&self) -> Self {
        Self(AtomicI64::new(self.0.load(Relaxed)))
    }
}

impl PartialEq for LastUse {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LastUse {}

impl Grants {
    /// Adds up what the credential carries and what its groups grant.
    pub fn of(principal: &Principal, groups: &BTreeMap<String, Arc<Group>>) -> Self {
        let granted = principal.groups.iter().filter_map(|name| groups.get(name)).flat_map(|g| &g.scopes);
        Self {
            everything: principal.is_admin,
            scopes: principal.scopes.iter().chain(granted).cloned().collect(),
        }
    }

    /// Returns the first scope that is required and not held; `None` means they may.
    pub fn missing<'a>(&self, required: &'a [Scope]) -> Option<&'a Scope> {
        if self.everything { None } else { required.iter().find(|scope| !self.scopes.contains(*scope)) }
    }

    /// Says whether nothing is ever missing.
    pub fn is_everything(&self) -> bool {
        self.everything
    }

    /// Returns the scopes held, in no order.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.scopes.iter()
    }
}

#[cfg(test)]
mod tests;
