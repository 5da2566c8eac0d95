//! What a path leads to: a registered server or a virtual one, ready to be asked.

use std::borrow::Cow;
use std::sync::Arc;

use catalog::access::Scope;
use catalog::endpoint::Era;
use catalog::name::{ServerPath, Slug};
use catalog::server::Server;
use catalog::virtual_server::VirtualServer;
use mcp::list::ListKind;

use crate::face::Face;
use crate::version::VersionTarget;

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A registered server.
    Server(&'a Arc<ServerTarget>),
    /// A virtual server.
    Virtual(&'a Arc<VirtualTarget>),
}

/// A registered server with all its versions.
#[derive(Debug)]
pub struct ServerTarget {
    /// Its path, also what clients see of it in errors.
    pub path: ServerPath,
    /// Scopes a caller needs.
    pub required_scopes: Vec<Scope>,
    /// Whether it is served at all.
    pub is_enabled: bool,
    /// Whether unknown labels are refused.
    pub strict_versions: bool,
    /// Whether one of its versions wants a token of the caller.
    pub(crate) wants_caller: bool,
    pub(crate) versions: Vec<Arc<VersionTarget>>,
    pub(crate) active: usize,
    pub(crate) source: Arc<Server>,
}

/// A virtual server, compiled.
#[derive(Debug)]
pub struct VirtualTarget {
    /// Its slug.
    pub slug: Slug,
    /// Its short path, `/virtual/dev-tools`.
    pub path: String,
    /// What its session ids are bound to: its path and when it was made, so that those of a virtual server that
    /// was deleted are good for no later one of the same slug.
    pub binding: String,
    /// Scopes a caller needs to enter.
    pub required_scopes: Vec<Scope>,
    /// Whether it is served at all.
    pub is_enabled: bool,
    /// The versions behind it, each once, in mapping order. Other members point into this.
    pub backends: Vec<Arc<VersionTarget>>,
    /// Its `serverInfo`, a JSON object.
    pub server_info: String,
    /// Exposed names whose tool is gone from its server, or of no use to any client.
    pub missing: Vec<String>,
    /// Whether one of its backends wants a token of the caller.
    pub(crate) wants_caller: bool,
    /// For each mapping the index of its backend; `None` where that is gone.
    pub(crate) rows: Vec<Option<usize>>,
    /// What clients of each era see. The same, unless one of its backends offers other things in each.
    pub(crate) legacy: Arc<Face>,
    pub(crate) modern: Arc<Face>,
    pub(crate) source: Arc<VirtualServer>,
}

impl Target<'_> {
    /// Returns the short path, which is also the audience of tokens for it.
    pub fn path(&self) -> &str {
        match self {
            Self::Server(server) => server.path.as_str(),
            Self::Virtual(target) => &target.path,
        }
    }

    /// Returns the scopes a caller needs to enter.
    pub fn required_scopes(&self) -> &[Scope] {
        match self {
            Self::Server(server) => &server.required_scopes,
            Self::Virtual(target) => &target.required_scopes,
        }
    }

    /// Says whether a backend behind it wants a token of the caller.
    pub fn wants_caller(&self) -> bool {
        match self {
            Self::Server(server) => server.wants_caller,
            Self::Virtual(target) => target.wants_caller,
        }
    }

    /// Says whether it is served.
    pub fn is_enabled(&self) -> bool {
        match self {
            Self::Server(server) => server.is_enabled,
            Self::Virtual(target) => target.is_enabled,
        }
    }
}

impl ServerTarget {
    /// Returns the active version.
    pub fn active(&self) -> &Arc<VersionTarget> {
        &self.versions[self.active]
    }

    /// Finds a version by its exact label.
    pub fn version(&self, label: &str) -> Option<&Arc<VersionTarget>> {
        self.versions.iter().find(|version| version.key.label.as_str() == label)
    }

    /// Says whether there is more than one version, so that answers name theirs.
    pub fn has_versions(&self) -> bool {
        self.versions.len() > 1
    }

    /// Returns the labels, for an error message.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.versions.iter().map(|version| version.key.label.as_str())
    }
}

impl VirtualTarget {
    /// Returns what clients of an era see of it.
    pub fn face(&self, front: Era) -> &Arc<Face> {
        match front {
            Era::Legacy => &self.legacy,
            Era::Modern => &self.modern,
        }
    }

    /// Says whether a backend offers tasks to clients of `front`.
    pub fn has_tasks(&self, front: Era) -> bool {
        self.backends.iter().any(|backend| backend.offers_tasks(front))
    }

    /// Says whether a backend lists tasks, which there is only before 2026-07-28.
    pub fn lists_tasks(&self) -> bool {
        self.backends.iter().any(|backend| backend.lists_tasks())
    }

    /// Returns what its backends can do with tasks of 2025-11-25, the union.
    fn task_capabilities(&self) -> String {
        let any = |keys: &[&str]| self.backends.iter().any(|backend| backend.offers_of_tasks(keys));
        let mut offered = Vec::new();
        for name in ["list", "cancel"] {
            if any(&[name]) {
                offered.push(format!(r#""{name}":{{}}"#));
            }
        }
        if any(&["requests", "tools", "call"]) {
            offered.push(r#""requests":{"tools":{"call":{}}}"#.into());
        }
        format!("{{{}}}", offered.join(","))
    }

    /// Returns the capabilities it offers to clients of `front`, a JSON object.
    pub fn capabilities_for(&self, front: Era) -> Cow<'_, str> {
        let face = self.face(front);
        if !self.has_tasks(front) {
            return Cow::Borrowed(&face.capabilities);
        }
        let tasks = match front {
            Era::Legacy => format!(r#""tasks":{}"#, self.task_capabilities()),
            Era::Modern => format!(r#""extensions":{{"{}":{{}}}}"#, mcp::task::EXTENSION),
        };
        let others = face.capabilities.strip_suffix('}').expect("an object");
        // There are always tools among them.
        Cow::Owned(format!("{others},{tasks}}}"))
    }

    /// Says whether any of its tools reaches clients of `front` from a backend of the other era, so that its
    /// definition may hold what they do not take.
    pub fn has_tools_of_other_era(&self, front: Era) -> bool {
        self.backends.iter().any(|backend| backend.era_toward(front) != front)
    }

    /// Returns the list kinds in which clients see a difference to an older compilation.
    pub fn changed_lists(&self, old: &Self) -> Vec<ListKind> {
        let are_one = |target: &Self| Arc::ptr_eq(&target.legacy, &target.modern);
        let fronts =
            if are_one(self) && are_one(old) { &[Era::Legacy][..] } else { &[Era::Legacy, Era::Modern] };
        let differs = |kind| fronts.iter().any(|&front| self.is_changed(old, front, kind));
        [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::Templates]
            .into_iter()
            .filter(|&kind| differs(kind))
            .collect()
    }

    fn is_changed(&self, old: &Self, front: Era, kind: ListKind) -> bool {
        let (new, old_face) = (self.face(front), old.face(front));
        let scopes_moved = || {
            self.required_scopes != old.required_scopes
                || new.tools.iter().map(|t| &t.needs).ne(old_face.tools.iter().map(|t| &t.needs))
        };
        new.list(kind).all != old_face.list(kind).all
            || (kind == ListKind::Tools && (scopes_moved() || self.moved_backends(old, front)))
    }

    /// Says whether a tool is answered by another version than before.
    fn moved_backends(&self, old: &Self, front: Era) -> bool {
        let owners = |target: &Self| -> Vec<catalog::VersionKey> {
            let tools = &target.face(front).tools;
            tools.iter().map(|tool| target.backends[tool.backend].key.clone()).collect()
        };
        owners(self) != owners(old)
    }
}
