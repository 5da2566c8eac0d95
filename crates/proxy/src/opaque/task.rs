//! Ids of tasks: sealed with the version that made them, and for each caller in one spelling.

use std::sync::Arc;

use bytes::Bytes;
use catalog::access::Principal;
use routing::version::VersionTarget;

use super::{Opaque, binding};

/// Tasks of which is remembered under which id their callers know them, and the longest id of a backend that is. At
/// most a kilobyte each. One that is forgotten is still found by its id, and is in lists again once its caller has
/// shown that.
pub(super) const MAX_TASKS: usize = 20_000;
const MAX_RAW_BYTES: usize = 256;

/// What an id of a task is sealed for.
const PURPOSE: &str = "task";

/// What a cursor into lists of tasks is sealed for.
const PAGES: &str = "pages of tasks";

/// Where an id of a task is given, and so will be shown again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    /// What the sessions of a virtual server are bound to; `None` at the server's own path.
    pub(crate) endpoint: Option<&'a str>,
    /// The exposed name of the tool that began the task at a virtual server; empty where that does not matter, and where
    /// it is not known.
    pub(crate) tool: &'a str,
}

/// A task of a backend.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// The server's path and the version's label.
    pub(crate) server: String,
    pub(crate) label: String,
    /// As in [`super::DirectSession`].
    pub(crate) identity: u64,
    /// As in [`Place`].
    pub(crate) tool: String,
    /// The backend's id, a JSON string as it wrote it.
    pub(crate) raw: Bytes,
}

/// Where the list of a backend's tasks goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resting {
    pub(crate) server: String,
    pub(crate) label: String,
    pub(crate) identity: u64,
    /// The backend's cursor, a JSON string as it wrote it; `None` where its list has not begun.
    pub(crate) cursor: Option<Bytes>,
}

/// What is remembered of a task.
pub(super) struct Known {
    id: Arc<str>,
    tool: Box<str>,
}

impl<'a> Place<'a> {
    /// The path of the task's own server.
    pub(crate) const OWN: Place<'static> = Place { endpoint: None, tool: "" };

    /// Returns what an id of a version's task is bound to here.
    pub(crate) fn of(&self, version: &'a VersionTarget) -> &'a str {
        self.endpoint.unwrap_or(version.key.path.as_str())
    }
}

impl Opaque {
    /// Returns the id for a task that a call of this caller began. It is remembered as theirs.
    ///
    /// A backend that was started anew may give an id again; then the last tool to begin one counts.
    pub(crate) fn begun_task(
        &self,
        place: Place<'_>,
        version: &VersionTarget,
        raw: &[u8],
        principal: &Principal,
    ) -> Arc<str> {
        let slot = slot(place.of(version), &maker(version), raw, principal);
        if let Some(known) = self.tasks.get(&*slot).filter(|known| *known.tool == *place.tool) {
            return known.id.clone();
        }
        let id = self.seal_task(place, version, raw, principal);
        self.remember(slot, raw, id.clone(), place.tool);
        id
    }

    /// Returns the id for a task of which a backend tells: the one its caller was given first, since clients compare them.
    pub(crate) fn told_task(
        &self,
        place: Place<'_>,
        version: &VersionTarget,
        raw: &[u8],
        principal: &Principal,
    ) -> Arc<str> {
        let known = self.known_task(place, version, raw, principal);
        known.unwrap_or_else(|| self.seal_task(place, version, raw, principal))
    }

    /// Returns the id under which a caller knows a task. `None`: as far as is remembered it is not theirs.
    pub(crate) fn known_task(
        &self,
        place: Place<'_>,
        version: &VersionTarget,
        raw: &[u8],
        principal: &Principal,
    ) -> Option<Arc<str>> {
        let slot = slot(place.of(version), &maker(version), raw, principal);
        self.tasks.get(&*slot).map(|known| known.id.clone())
    }

    /// Opens an id that is shown. `None` as in [`Opaque::unwrap_session`].
    pub(crate) fn shown_task(&self, id: &str, endpoint: &str, principal: &Principal) -> Option<Task> {
        let task = Task::read(self.seal.open(id, &binding(PURPOSE, endpoint, principal))?.into())?;
        let slot = slot(endpoint, &task.maker(), &task.raw, principal);
        if self.tasks.get(&*slot).is_none() {
            self.remember(slot, &task.raw, id.into(), &task.tool);
        }
        Some(task)
    }

    /// Makes a cursor of ours into the lists of several backends.
    pub(crate) fn seal_pages(&self, pages: &[Resting], endpoint: &str, principal: &Principal) -> String {
        let mut plain = Vec::new();
        for Resting { server, label, identity, cursor } in pages {
            plain.extend_from_slice(format!("{server}\n{label}\n{identity:x}\n").as_bytes());
            plain.extend_from_slice(cursor.as_deref().unwrap_or_default());
            plain.push(b'\n');
        }
        self.seal.seal(&plain, &binding(PAGES, endpoint, principal))
    }

    /// Reads one back. `None` as in [`Opaque::unwrap_session`].
    pub(crate) fn open_pages(
        &self,
        cursor: &str,
        endpoint: &str,
        principal: &Principal,
    ) -> Option<Vec<Resting>> {
        let plain = String::from_utf8(self.seal.open(cursor, &binding(PAGES, endpoint, principal))?).ok()?;
        let lines: Vec<&str> = plain.lines().collect();
        let page = |page: &[&str]| {
            let [server, label, identity, cursor] = page else { return None };
            let cursor = Some(Bytes::copy_from_slice(cursor.as_bytes())).filter(|cursor| !cursor.is_empty());
            let identity = u64::from_str_radix(identity, 16).ok()?;
            Some(Resting { server: (*server).into(), label: (*label).into(), identity, cursor })
        };
        lines.chunks(4).map(page).collect()
    }

    fn seal_task(
        &self,
        place: Place<'_>,
        version: &VersionTarget,
        raw: &[u8],
        principal: &Principal,
    ) -> Arc<str> {
        let mut plain = format!("{}{}\n", maker(version), place.tool).into_bytes();
        plain.extend_from_slice(raw);
        self.seal.seal(&plain, &binding(PURPOSE, place.of(version), principal)).into()
    }

    fn remember(&self, slot: Box<[u8]>, raw: &[u8], id: Arc<str>, tool: &str) {
        if raw.len() <= MAX_RAW_BYTES {
            self.tasks.insert(slot, Arc::new(Known { id, tool: tool.into() }));
        }
    }
}

impl Resting {
    /// The list of a version that has not begun.
    pub(crate) fn before(version: &VersionTarget) -> Self {
        let (server, label) = (version.key.path.to_string(), version.key.label.to_string());
        Self { server, label, identity: version.identity, cursor: None }
    }
}

impl Task {
    fn read(plain: Bytes) -> Option<Self> {
        // The raw id is JSON and so holds no line feed, whatever a tool is called.
        let raw = memchr::memrchr(b'\n', &plain)?;
        let head = std::str::from_utf8(&plain[..raw]).ok()?;
        let mut parts = head.splitn(4, '\n').map(str::to_owned);
        let (server, label, identity) = (parts.next()?, parts.next()?, parts.next()?);
        let (identity, tool) = (u64::from_str_radix(&identity, 16).ok()?, parts.next()?);
        Some(Self { server, label, identity, tool, raw: plain.slice(raw + 1..) })
    }

    fn maker(&self) -> String {
        format!("{}\n{}\n{:x}\n", self.server, self.label, self.identity)
    }
}

/// Names the version that made something, from its server's path to its identity.
fn maker(version: &VersionTarget) -> String {
    format!("{}\n{}\n{:x}\n", version.key.path, version.key.label, version.identity)
}

/// Under what a task of a caller is remembered.
fn slot(endpoint: &str, maker: &str, raw: &[u8], principal: &Principal) -> Box<[u8]> {
    let mut slot = binding(PURPOSE, endpoint, principal);
    slot.extend_from_slice(maker.as_bytes());
    slot.extend_from_slice(raw);
    slot.into()
}

#[cfg(test)]
mod tests;
