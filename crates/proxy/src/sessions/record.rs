//! What the second tier keeps of a client session.

use std::sync::Arc;

use catalog::VersionKey;
use catalog::name::{ServerPath, VersionLabel};
use mcp::era::Revision;
use serde::{Deserialize, Serialize};

use super::{BackendSession, ClientSession, Slot, State};

/// How long an ended session stays known as ended: a week, longer than any client keeps an id it ended.
pub(super) const ENDED_SECONDS: u32 = 7 * 24 * 3600;

/// What the second tier keeps of one client session.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Record {
    #[serde(default, rename = "ended")]
    pub(super) is_ended: bool,
    #[serde(default)]
    pub(super) backends: Vec<BackendRecord>,
    #[serde(default)]
    pub(super) log_level: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct BackendRecord {
    path: String,
    label: String,
    session: Option<String>,
    revision: String,
    /// Of the version it was opened with.
    #[serde(default)]
    identity: u64,
}

impl Record {
    pub(super) fn of(session: &ClientSession) -> Self {
        let state = session.state();
        let backend = |(key, slot): &(VersionKey, Arc<Slot>)| {
            let open = slot.current()?;
            Some(BackendRecord {
                path: key.path.to_string(),
                label: key.label.to_string(),
                session: open.id.as_ref().and_then(|id| id.to_str().ok()).map(str::to_owned),
                revision: open.revision.as_str().into(),
                identity: open.identity,
            })
        };
        Self {
            is_ended: state.is_ended,
            backends: state.backends.iter().filter_map(backend).collect(),
            log_level: state.log_level.clone(),
        }
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings and flags always serialise")
    }

    pub(super) fn into_state(self) -> State {
        let backends = self.backends.into_iter().filter_map(BackendRecord::into_slot).collect();
        State { backends, log_level: self.log_level, is_ended: self.is_ended, ..State::default() }
    }
}

impl BackendRecord {
    fn into_slot(self) -> Option<(VersionKey, Arc<Slot>)> {
        let path = ServerPath::parse("path", &self.path).ok()?;
        let label = VersionLabel::parse("label", &self.label).ok()?;
        let id = self.session.map(|id| http::HeaderValue::from_str(&id)).transpose().ok()?;
        let slot = Slot::default();
        let revision = Revision::parse(&self.revision)?;
        slot.set(BackendSession { id, revision, endpoint: None, identity: self.identity });
        Some((VersionKey { path, label }, Arc::new(slot)))
    }
}
