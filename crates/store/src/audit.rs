//! The audit trail: who did what to which object, when, from where, and whether they were allowed to.

use std::net::IpAddr;
use std::sync::Arc;

use catalog::time::Timestamp;

/// What the action of a call of MCP begins with; everything else is a deed of the control plane.
pub const CALLS: &str = "mcp.";

/// One deed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was done.
    pub at: Timestamp,
    /// Subject of the caller.
    pub actor: Arc<str>,
    /// What was done: `version.activate`. The part before the dot is the kind of the object.
    pub action: Arc<str>,
    /// What it was done to: a path, a slug, a name or an id, where the request says.
    pub object: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// More of it, in a few words. Never holds a secret.
    pub detail: String,
    /// What of the object was before and is after, or the call: a JSON object. Never holds a secret.
    pub data: Option<Box<str>>,
    /// The address it came from, where that is known.
    pub source: Option<IpAddr>,
}

/// An entry that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its id, which the store gives: each is higher than all before, and none comes twice.
    pub id: u64,
    /// What was done.
    pub entry: Entry,
}

/// How a deed ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Ok,
    /// The caller may not do it, or not now.
    Refused,
    /// It failed.
    Failed,
}

/// Which entries are wanted, newest first. A filter that is absent lets all through.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Subject of the caller.
    pub actor: Option<String>,
    /// An action, or the part of actions before the dot.
    pub action: Option<String>,
    /// What it was done to.
    pub object: Option<String>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Not before this.
    pub since: Option<Timestamp>,
    /// Before this.
    pub until: Option<Timestamp>,
    /// Only entries with a lower id, for those who go on where they were. What matches is not counted then.
    pub below: Option<u64>,
    /// Most entries to return.
    pub limit: usize,
    /// Entries to skip.
    pub offset: usize,
}

/// Some of the entries that match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The entries, newest first.
    pub entries: Vec<Kept>,
    /// Number of all that match; 0 where that was not asked.
    pub total: u64,
}

/// How much of the trail is kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Older entries go.
    pub since: Timestamp,
    /// Most entries of what was done here; the oldest go first.
    pub most: u64,
    /// Most entries of calls.
    pub most_calls: u64,
    /// Most entries of what was refused, so that nobody drives out what was done by trying what they may not.
    pub most_refused: u64,
}

impl Outcome {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Failed => "error",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Ok, Self::Refused, Self::Failed].into_iter().find(|one| one.as_str() == text)
    }
}
