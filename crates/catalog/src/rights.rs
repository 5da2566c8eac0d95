//! What scopes allow on endpoints: servers, methods and tools, as scope documents name them.
//!
//! An endpoint that no document names is open to whoever holds its required scopes. One that any document names is
//! **guarded**: besides, a caller needs a scope whose document allows what is asked.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::scope::Scope;

/// Most endpoints one document names, and most methods or tools of one of them.
pub const MAX_NAMED: usize = 1000;

/// What a scope is for and what it allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeDocument {
    /// What it is for.
    pub description: String,
    /// What its holders may do at endpoints.
    pub access: Vec<ServerAccess>,
    /// What its holders may do in the registry: `list_service`, `toggle_service` and such, each with the servers it is for.
    pub permissions: BTreeMap<String, Vec<Pattern>>,
}

/// What a scope allows at one endpoint, or at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAccess {
    /// Which endpoint: `/context7`, `/virtual/dev-tools`.
    pub at: Place,
    /// Methods that may be used: `tools/list`.
    pub methods: Vec<Pattern>,
    /// Tools that may be seen, and called where `tools/call` is among the methods.
    pub tools: Vec<Pattern>,
}

/// Where a scope allows something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At every endpoint.
    Everywhere,
    /// At the endpoint of this short path.
    Path(Box<str>),
}

/// A name, the beginning of names (`get_*`), or all of them (`*`, `all`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Box<str>);

/// What all scopes together allow, by endpoint.
#[derive(Debug, Default)]
pub struct Rights {
    named: HashMap<Box<str>, Guard>,
    everywhere: Option<Guard>,
    /// Documents that allow something in the registry.
    permitting: Vec<(Scope, Arc<ScopeDocument>)>,
}

/// What scopes allow at one endpoint that is guarded.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    scope: Scope,
    document: Arc<ScopeDocument>,
    /// Which part of the document.
    part: usize,
}

impl ScopeDocument {
    /// Makes the document of a scope that is only described.
    pub fn described(text: impl Into<String>) -> Self {
        Self { description: text.into(), ..Self::default() }
    }

    /// Stands in for a document that cannot be read: nobody knows which endpoints it guards, so all are, and it allows
    /// nothing.
    pub fn stand_in() -> Self {
        let nothing = ServerAccess { at: Place::Everywhere, methods: Vec::new(), tools: Vec::new() };
        Self { access: vec![nothing], ..Self::described("the record of this scope cannot be read") }
    }
}

impl Place {
    /// Reads a place as documents name it: `context7`, `/context7/`, `virtual/dev-tools`, or `*` for all.
    pub fn parse(text: &str) -> Self {
        if is_all(text) {
            return Self::Everywhere;
        }
        let name = text.trim().trim_matches('/').to_ascii_lowercase();
        Self::Path(format!("/{}", name.strip_suffix("/mcp").unwrap_or(&name)).into())
    }

    /// Returns it as documents name it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Everywhere => "*",
            Self::Path(path) => path,
        }
    }
}

impl Pattern {
    /// Takes a pattern in.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Returns its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Says whether a name is one of those.
    pub fn fits(&self, name: &str) -> bool {
        is_all(&self.0)
            || match self.0.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => *self.0 == *name,
            }
    }
}

impl Rights {
    /// Adds up what all scopes allow.
    pub fn of(scopes: &BTreeMap<Scope, Arc<ScopeDocument>>) -> Self {
        let mut rights = Self::default();
        let mut everywhere: Vec<Rule> = Vec::new();
        for (scope, document) in scopes {
            if !document.permissions.is_empty() {
                rights.permitting.push((scope.clone(), document.clone()));
            }
            for (part, access) in document.access.iter().enumerate() {
                let rule = Rule { scope: scope.clone(), document: document.clone(), part };
                match &access.at {
                    Place::Everywhere => everywhere.push(rule),
                    Place::Path(path) => rights.named.entry(path.clone()).or_default().rules.push(rule),
                }
            }
        }
        for guard in rights.named.values_mut() {
            // Behind those that name the endpoint, which are asked for first.
            guard.rules.extend(everywhere.iter().cloned());
        }
        rights.everywhere = (!everywhere.is_empty()).then_some(Guard { rules: everywhere });
        rights
    }

    /// Returns the guard of an endpoint, by its short path; `None` where no document names it.
    pub fn guard(&self, path: &str) -> Option<&Guard> {
        if self.named.is_empty() {
            return self.everywhere.as_ref();
        }
        self.named.get(path).or(self.everywhere.as_ref())
    }

    /// Says whether a scope held allows an action of the registry (`toggle_service`) on the endpoint of a path.
    pub fn permits(&self, holds: impl Fn(&Scope) -> bool, action: &str, path: &str) -> bool {
        let is_meant = |one: &Pattern| one.fits(path) || one.fits(path.trim_start_matches('/'));
        self.permitting.iter().any(|(scope, document)| {
            document.permissions.get(action).is_some_and(|on| on.iter().any(is_meant)) && holds(scope)
        })
    }
}

impl Guard {
    /// Says whether a caller may come in at all: whether any scope held allows anything here.
    pub fn admits(&self, holds: impl Fn(&Scope) -> bool) -> bool {
        self.rules.iter().any(|rule| rule.allows_anything() && holds(&rule.scope))
    }

    /// Says whether a caller may use a method, for `tools/call` of a tool.
    pub fn allows(&self, holds: impl Fn(&Scope) -> bool, method: &str, tool: Option<&str>) -> bool {
        self.rules.iter().any(|rule| rule.allows(method, tool) && holds(&rule.scope))
    }

    /// Says whether a caller sees a tool in lists.
    pub fn shows(&self, holds: impl Fn(&Scope) -> bool, tool: &str) -> bool {
        self.rules.iter().any(|rule| rule.shows(tool) && holds(&rule.scope))
    }

    /// Says whether a caller sees every tool there is or will be.
    pub fn shows_all(&self, holds: impl Fn(&Scope) -> bool) -> bool {
        self.rules.iter().any(|rule| rule.shows_all() && holds(&rule.scope))
    }

    /// Returns the scope to ask for to be let in.
    pub fn entry_scope(&self) -> Option<&Scope> {
        self.rules.iter().find(|rule| rule.allows_anything()).map(|rule| &rule.scope)
    }

    /// Returns the scope to ask for to use a method, of those that allow it the one that allows least; `None` where none
    /// does.
    pub fn scope_for(&self, method: &str, tool: Option<&str>) -> Option<&Scope> {
        let fitting = self.rules.iter().filter(|rule| rule.allows(method, tool));
        // Of equals the first is taken, and those that name the endpoint come first.
        fitting.min_by_key(|rule| rule.breadth()).map(|rule| &rule.scope)
    }
}

impl Rule {
    fn access(&self) -> &ServerAccess {
        &self.document.access[self.part]
    }

    fn allows_anything(&self) -> bool {
        !self.access().methods.is_empty()
    }

    fn allows(&self, method: &str, tool: Option<&str>) -> bool {
        let access = self.access();
        fits(&access.methods, method) && tool.is_none_or(|tool| fits(&access.tools, tool))
    }

    fn shows(&self, tool: &str) -> bool {
        let access = self.access();
        fits(&access.tools, tool) && [LIST, CALL].into_iter().any(|method| fits(&access.methods, method))
    }

    fn shows_all(&self) -> bool {
        let access = self.access();
        access.tools.iter().any(|tool| is_all(tool.as_str()))
            && [LIST, CALL].into_iter().any(|method| fits(&access.methods, method))
    }

    /// How much it allows: everywhere, everything, or single things.
    fn breadth(&self) -> (bool, bool, usize) {
        let access = self.access();
        let wide =
            |all: &[Pattern]| all.iter().any(|one| one.as_str().ends_with('*') || is_all(one.as_str()));
        let is_wide = wide(&access.methods) || wide(&access.tools);
        (access.at == Place::Everywhere, is_wide, access.methods.len() + access.tools.len())
    }
}

/// The two methods that are about tools.
const LIST: &str = "tools/list";
const CALL: &str = "tools/call";

fn fits(patterns: &[Pattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.fits(name))
}

fn is_all(text: &str) -> bool {
    matches!(text, "*" | "all")
}

#[cfg(test)]
mod tests;
