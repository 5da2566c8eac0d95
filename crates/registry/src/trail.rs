//! What is noted of one request for the audit trail, from its arrival to the change it makes.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use catalog::rating::Rated;
use catalog::time::Timestamp;
use store::audit::{Entry, Outcome};
use store::change::Edit;

/// Longest text of an entry, in bytes; URLs and foreign tokens hold longer ones.
const MAX_TEXT_BYTES: usize = 256;

/// Notes of one request, shared by all who work on it. Those of a request that only reads make no entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    /// Gone once the entry is made.
    action: Option<&'static str>,
    actor: Option<Arc<str>>,
    object: Option<String>,
    detail: String,
    source: Option<IpAddr>,
}

impl Trail {
    /// Begins with what a request shows before anybody has looked into it.
    pub(crate) fn new(action: &'static str, object: Option<String>, source: Option<IpAddr>) -> Self {
        let notes = Notes { action: Some(action), object, source, ..Notes::default() };
        Self(Arc::new(Mutex::new(notes)))
    }

    /// Notes who calls.
    pub(crate) fn actor(&self, subject: &Arc<str>) {
        self.with(|notes| notes.actor = Some(subject.clone()));
    }

    /// Notes more of what is done, in a few words without secrets.
    pub(crate) fn detail(&self, words: impl Into<String>) {
        self.with(|notes| notes.detail = words.into());
    }

    /// Makes the entry: the first time, of a request that writes, by a caller who is known. The object is the one
    /// that is edited, else the one that the request names.
    pub(crate) fn entry(&self, outcome: Outcome, edits: &[Edit]) -> Option<Entry> {
        self.with(|notes| {
            let actor = notes.actor.clone()?;
            let action = notes.action.take()?;
            let object = edits.iter().find_map(object).or_else(|| notes.object.take());
            Some(Entry {
                at: Timestamp::now(),
                actor: if actor.len() > MAX_TEXT_BYTES { short(&actor).into() } else { actor },
                action: action.into(),
                object: object.map(|object| short(&object).to_owned()),
                outcome,
                detail: short(&notes.detail).to_owned(),
                data: None,
                source: notes.source,
            })
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Notes) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}

/// Returns what an edit is made to; `None` for what the gateway notes by itself.
fn object(edit: &Edit) -> Option<String> {
    match edit {
        Edit::PutServer { server, .. } => Some(server.path.to_string()),
        Edit::DeleteServer(path) | Edit::PutRating { rated: Rated::Server(path), .. } => {
            Some(path.to_string())
        }
        Edit::PutInventory(..) => None,
        Edit::PutConnection(one) => Some(one.key.server.to_string()),
        Edit::DeleteConnection(key) => Some(key.server.to_string()),
        Edit::PutVirtualServer(one) => Some(one.slug.to_string()),
        Edit::DeleteVirtualServer(slug) | Edit::PutRating { rated: Rated::VirtualServer(slug), .. } => {
            Some(slug.to_string())
        }
        Edit::PutGroup(group) => Some(group.name.clone()),
        Edit::DeleteGroup(name) => Some(name.clone()),
        Edit::PutScope(scope, _) | Edit::DeleteScope(scope) => Some(scope.to_string()),
        Edit::PutToken(token) => Some(token.id.to_string()),
        Edit::DeleteToken(id) => Some(id.to_string()),
    }
}

#[cfg(test)]
mod tests;
