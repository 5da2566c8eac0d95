//! What a path leads to: a registered server or a virtual one, ready to be asked.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::access::Scope;
use catalog::endpoint::Era;
use catalog::name::{ServerPath, Slug};
use catalog::server::Server;
use catalog::virtual_server::VirtualServer;
use mcp::list::ListKind;
use mcp::method::Method;

use crate::names::{Listing, Resource, Template, Tool};
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
    /// Its tools in mapping order, missing ones left out.
    pub tools: Vec<Tool>,
    /// Capabilities it offers, a JSON object: the union of what its backends can do through us.
    pub capabilities: String,
    /// Its `serverInfo`, a JSON object.
    pub server_info: String,
    /// Its instructions as a JSON string, quotes and all.
    pub instructions: Option<String>,
    /// Exposed names whose tool is gone from its server, or of no use to any client.
    pub missing: Vec<String>,
    /// For each mapping the index of its backend; `None` where that is gone.
    pub(crate) rows: Vec<Option<usize>>,
    pub(crate) by_tool: HashMap<Box<str>, u32>,
    pub(crate) by_prompt: HashMap<Box<str>, u16>,
    pub(crate) by_uri: HashMap<Box<str>, Resource>,
    pub(crate) templates: Vec<Template>,
    pub(crate) lists: [Listing; 4],
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
    /// Finds a tool by its exposed name.
    pub fn tool(&self, exposed: &str) -> Option<&Tool> {
        self.by_tool.get(exposed).map(|&index| &self.tools[index as usize])
    }

    /// Finds the backend that owns a prompt.
    pub fn prompt_owner(&self, name: &str) -> Option<usize> {
        self.by_prompt.get(name).map(|&backend| usize::from(backend))
    }

    /// Finds the backends that may own a resource, the likeliest first: the exact URI, then templates that
    /// fit; otherwise every backend with resources, in order.
    pub fn resource_owners(&self, uri: &str) -> Vec<usize> {
        if let Some(resource) = self.by_uri.get(uri) {
            return vec![usize::from(resource.backend)];
        }
        let fits = |template: &&Template| template.fits(uri);
        if let Some(template) = self.templates.iter().find(fits) {
            return vec![usize::from(template.backend)];
        }
        let may_own =
            |&index: &usize| self.source.exposes_resources && self.backends[index].offers("resources");
        (0..self.backends.len()).filter(may_own).collect()
    }

    /// Finds the backend that owns a resource template, by its exact text.
    pub fn template_owner(&self, uri_template: &str) -> Option<usize> {
        self.templates.iter().find(|t| &*t.text == uri_template).map(|t| usize::from(t.backend))
    }

    /// Returns a list as clients see it.
    pub fn list(&self, kind: ListKind) -> &Listing {
        &self.lists[list_index(kind)]
    }

    /// Says whether a method is of a kind it offers at all; others are unknown to it.
    pub fn answers(&self, method: Method) -> bool {
        let offers = |name| mcp::message::member(self.capabilities.as_bytes(), name).is_some();
        match method {
            Method::PromptsList | Method::PromptsGet => offers("prompts"),
            Method::ResourcesList
            | Method::TemplatesList
            | Method::ResourcesRead
            | Method::Subscribe
            | Method::Unsubscribe => offers("resources"),
            Method::Complete => offers("completions"),
            _ => true,
        }
    }

    /// Says whether any of its tools comes from a backend of another era than `era`, so that its definition
    /// may hold what a client of that era does not take.
    pub fn has_tools_of_other_era(&self, era: Era) -> bool {
        self.backends.iter().any(|backend| backend.era.is_some_and(|known| known != era))
    }

    /// Says whether any tool needs more than the endpoint, so that lists differ between callers.
    pub fn has_guarded_tools(&self) -> bool {
        self.tools.iter().any(|tool| !tool.needs.is_empty())
    }

    /// Returns the list kinds in which clients see a difference to an older compilation.
    pub fn changed_lists(&self, old: &Self) -> Vec<ListKind> {
        let scopes_moved = || {
            self.required_scopes != old.required_scopes
                || self.tools.iter().map(|t| &t.needs).ne(old.tools.iter().map(|t| &t.needs))
        };
        [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::Templates]
            .into_iter()
            .filter(|&kind| {
                self.list(kind).all != old.list(kind).all
                    || (kind == ListKind::Tools && (scopes_moved() || self.moved_backends(old)))
            })
            .collect()
    }

    /// Says whether a tool is answered by another version than before.
    fn moved_backends(&self, old: &Self) -> bool {
        let owners = |target: &Self| -> Vec<catalog::VersionKey> {
            target.tools.iter().map(|tool| target.backends[tool.backend].key.clone()).collect()
        };
        owners(self) != owners(old)
    }
}

pub(crate) fn list_index(kind: ListKind) -> usize {
    match kind {
        ListKind::Tools => 0,
        ListKind::Prompts => 1,
        ListKind::Resources => 2,
        ListKind::Templates => 3,
    }
}
