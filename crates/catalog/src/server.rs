//! A server and its versions: each version a record of its own, one pointer saying which is active.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::endpoint::Endpoint;
use crate::error::Refusal;
use crate::name::{ServerPath, VersionLabel};
use crate::scope::Scope;
use crate::time::Timestamp;

/// Most versions one server may have; each costs an inventory in memory.
pub const MAX_VERSIONS: usize = 100;

/// What all versions of a server share, and the pointer to the active one.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Where clients reach it.
    pub path: ServerPath,
    /// What people call it.
    pub name: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Who registered it.
    pub owner: Option<String>,
    /// Licence of the software, as given.
    pub license: Option<String>,
    /// Who may find it.
    pub visibility: Visibility,
    /// Scopes a caller needs to use it, all of them.
    pub required_scopes: Vec<Scope>,
    /// Whether it is routed at all.
    pub is_enabled: bool,
    /// Whether an unknown label is refused instead of served by the active version.
    pub strict_versions: bool,
    /// Moves with every write to the server or any version of it; what `If-Match` compares.
    pub revision: u64,
    /// When it was first registered.
    pub registered_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
    active: VersionLabel,
    versions: BTreeMap<VersionLabel, Arc<Version>>,
}

/// One deployment of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// Its routing label.
    pub label: VersionLabel,
    /// Where it lives.
    pub endpoint: Arc<Endpoint>,
    /// What it does.
    pub description: String,
    /// How mature it is.
    pub status: Status,
    /// The day it was released, `YYYY-MM-DD`.
    pub released_on: Option<String>,
    /// When it was marked deprecated.
    pub deprecated_at: Option<Timestamp>,
    /// The day it goes away, `YYYY-MM-DD`.
    pub sunset_on: Option<String>,
    /// When it was registered.
    pub registered_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
}

impl Version {
    /// A version of which no more is known than its label and where it lives.
    pub fn new(label: VersionLabel, endpoint: Endpoint, now: Timestamp) -> Self {
        Self {
            label,
            endpoint: Arc::new(endpoint),
            description: String::new(),
            status: Status::default(),
            released_on: None,
            deprecated_at: None,
            sunset_on: None,
            registered_at: now,
            updated_at: now,
        }
    }
}

/// How mature a version is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Fit for use.
    #[default]
    Stable,
    /// Still being tried.
    Beta,
    /// On its way out; answers say so.
    Deprecated,
}

/// Who may find a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// Everybody with a token.
    #[default]
    Public,
    /// Members of these groups.
    Groups(Vec<String>),
    /// Its owner.
    Private,
}

impl Status {
    /// Returns the word used outside.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Beta => "beta",
            Self::Deprecated => "deprecated",
        }
    }

    /// Reads the word used outside.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Stable, Self::Beta, Self::Deprecated].into_iter().find(|s| s.as_str() == text)
    }
}

impl Server {
    /// Makes a server of its first version, which is active.
    pub fn new(path: ServerPath, name: String, first: Version, now: Timestamp) -> Self {
        Self {
            path,
            name,
            tags: Vec::new(),
            owner: None,
            license: None,
            visibility: Visibility::Public,
            required_scopes: Vec::new(),
            is_enabled: false,
            strict_versions: false,
            revision: 1,
            registered_at: now,
            updated_at: now,
            active: first.label.clone(),
            versions: BTreeMap::from([(first.label.clone(), Arc::new(first))]),
        }
    }

    /// Puts a server together from stored records. Fails where the active version is not among them.
    pub fn from_records(head: Self, versions: Vec<Version>, active: VersionLabel) -> Option<Self> {
        let versions: BTreeMap<_, _> = versions.into_iter().map(|v| (v.label.clone(), Arc::new(v))).collect();
        versions.contains_key(&active).then(|| Self { versions, active, ..head })
    }

    /// Returns the active version.
    pub fn active(&self) -> &Arc<Version> {
        &self.versions[&self.active]
    }

    /// Returns all versions, by label.
    pub fn versions(&self) -> impl ExactSizeIterator<Item = &Arc<Version>> {
        self.versions.values()
    }

    /// Finds a version by its exact label.
    pub fn version(&self, label: &str) -> Option<&Arc<Version>> {
        self.versions.get(label)
    }

    /// Finds a version or says which there are.
    pub fn require(&self, label: &str) -> Result<&Arc<Version>, Refusal> {
        self.version(label).ok_or_else(|| Refusal::NoSuch {
            kind: "version",
            name: format!("{label} of {}", self.path),
            known: self.versions.keys().map(VersionLabel::to_string).collect(),
        })
    }

    /// Makes a version active. Nothing else changes, so going back restores exactly what was.
    pub fn activate(&self, label: &str, now: Timestamp) -> Result<Self, Refusal> {
        let active = self.require(label)?.label.clone();
        Ok(self.written(now, |next| next.active = active))
    }

    /// Adds a version, inactive. Refuses a label that is there.
    pub fn add(&self, version: Version, now: Timestamp) -> Result<Self, Refusal> {
        if self.versions.contains_key(&version.label) {
            return Err(Refusal::Exists {
                kind: "version",
                name: format!("{} of {}", version.label, self.path),
            });
        }
        if self.versions.len() >= MAX_VERSIONS {
            let reason = format!("{} has {MAX_VERSIONS} versions already; remove one first", self.path);
            return Err(Refusal::Invalid(vec![crate::error::Invalid::new("version", reason)]));
        }
        Ok(self.written(now, |next| {
            next.versions.insert(version.label.clone(), Arc::new(version));
        }))
    }

    /// Replaces the version of the same label.
    pub fn replace(&self, version: Version, now: Timestamp) -> Result<Self, Refusal> {
        self.require(version.label.as_str())?;
        Ok(self.written(now, |next| {
            next.versions.insert(version.label.clone(), Arc::new(version));
        }))
    }

    /// Removes an inactive version.
    pub fn remove(&self, label: &str, now: Timestamp) -> Result<Self, Refusal> {
        let label = self.require(label)?.label.clone();
        if label == self.active {
            return Err(Refusal::Active { path: self.path.to_string(), label: label.to_string() });
        }
        Ok(self.written(now, |next| {
            next.versions.remove(&label);
        }))
    }

    /// Copies the server, applies an edit, and moves its revision and time.
    pub fn written(&self, now: Timestamp, edit: impl FnOnce(&mut Self)) -> Self {
        let mut next = self.clone();
        edit(&mut next);
        next.revision += 1;
        next.updated_at = now;
        next
    }
}

#[cfg(test)]
mod tests;
