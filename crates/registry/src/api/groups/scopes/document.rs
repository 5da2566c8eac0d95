//! A scope's document on the wire, in the form of the original registry, and how it is read.

use std::collections::BTreeMap;

use catalog::Catalog;
use catalog::access::Scope;
use catalog::error::{Invalid, Refusal};
use catalog::name::MAX_SCOPE_BYTES;
use catalog::prose::check_prose;
use catalog::rights::{MAX_NAMED, Pattern, Place, ScopeDocument, ServerAccess};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::groups::read_names;

/// A scope, what it is for, and what it allows.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Scope)]
#[schema(example = json!({"name": "github-readers", "description": "Look around in repositories",
    "server_access": [{"server": "/github", "methods": ["tools/list", "tools/call"], "tools": ["search", "get_*"]}],
    "group_mappings": ["developers"]}))]
pub(crate) struct Document {
    /// Its name.
    #[serde(default, alias = "scope_name", alias = "_id")]
    pub(super) name: String,
    /// What it is for.
    #[serde(default)]
    description: String,
    /// What its holders may do at endpoints. An endpoint that any scope names here is for holders of such scopes alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    server_access: Vec<Access>,
    /// What its holders may do in the registry: `list_service` and others, each with the servers it is for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ui_permissions: BTreeMap<String, Words>,
    /// Groups that have this scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group_mappings: Option<Vec<String>>,
}

/// What a scope allows at one endpoint.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = ServerAccess)]
pub(super) struct Access {
    /// The endpoint: `/github`, `virtual/dev-tools`, or `*` for every one.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// Methods: `tools/list`, `prompts/*`, or `all`.
    #[serde(default)]
    methods: Words,
    /// Tools that are seen, and called where `tools/call` is among the methods: names, `get_*`, or `all`.
    #[serde(default)]
    tools: Words,
}

/// Words, one or several.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Words {
    /// Several.
    Several(Vec<String>),
    /// One.
    One(String),
}

/// A scope as it is to be, read and checked.
pub(super) struct Wanted {
    pub(super) scope: Scope,
    pub(super) document: ScopeDocument,
    /// Groups that are to have it; as they are where absent.
    pub(super) groups: Option<Vec<String>>,
}

impl Document {
    /// Writes a scope down, with the groups that have it.
    pub(super) fn of(scope: &Scope, document: &ScopeDocument, catalog: &Catalog) -> Self {
        let groups = catalog.groups.values().filter(|group| group.scopes.contains(scope));
        let groups: Vec<String> = groups.map(|group| group.name.clone()).collect();
        let access = |access: &ServerAccess| Access {
            server: Some(access.at.as_str().to_owned()),
            methods: words(&access.methods),
            tools: words(&access.tools),
        };
        Self {
            name: scope.to_string(),
            description: document.description.clone(),
            server_access: document.access.iter().map(access).collect(),
            ui_permissions: (document.permissions.iter())
                .map(|(name, of)| (name.clone(), words(of)))
                .collect(),
            group_mappings: (!groups.is_empty()).then_some(groups),
        }
    }

    /// Makes one of its parts, for documents that come in pieces.
    pub(super) fn of_parts(
        name: String,
        server_access: Vec<Access>,
        ui_permissions: BTreeMap<String, Words>,
        group_mappings: Option<Vec<String>>,
    ) -> Self {
        Self { name, server_access, ui_permissions, group_mappings, ..Self::default() }
    }

    /// Checks it. Entries about things that are none of ours, as the original's agents, are left out.
    pub(super) fn read(self) -> Result<Wanted, Refusal> {
        let mut faults = Vec::new();
        let scope = Scope::parse("name", self.name.trim());
        faults.extend(check_prose("description", &self.description).err());
        if self.server_access.len() > MAX_NAMED || self.ui_permissions.len() > MAX_NAMED {
            faults.push(Invalid::new("server_access", format!("names more than {MAX_NAMED} endpoints")));
        }
        let mut access = Vec::new();
        for (index, one) in self.server_access.into_iter().enumerate() {
            let Some(server) = one.server else { continue };
            let field = |name: &str| format!("server_access[{index}].{name}");
            if server.trim().trim_matches('/').is_empty() || server.len() > MAX_SCOPE_BYTES {
                faults.push(Invalid::new(field("server"), "must name an endpoint, like /github, or be *"));
            }
            access.push(ServerAccess {
                at: Place::parse(server.trim()),
                methods: one.methods.read(&field("methods"), &mut faults),
                tools: one.tools.read(&field("tools"), &mut faults),
            });
        }
        let permissions = self.ui_permissions.into_iter().map(|(name, servers)| {
            let field = format!("ui_permissions.{name}");
            let servers = servers.read(&field, &mut faults);
            (name, servers)
        });
        let permissions = permissions.collect();
        let groups = self.group_mappings.map(|names| read_names("group_mappings", &names, &mut faults));
        match scope {
            Ok(scope) if faults.is_empty() => {
                let document = ScopeDocument { description: self.description, access, permissions };
                Ok(Wanted { scope, document, groups })
            }
            bad => {
                faults.extend(bad.err());
                Err(Refusal::Invalid(faults))
            }
        }
    }
}

impl Words {
    fn read(self, field: &str, faults: &mut Vec<Invalid>) -> Vec<Pattern> {
        let words = match self {
            Self::One(word) => vec![word],
            Self::Several(words) => words,
        };
        if words.len() > MAX_NAMED {
            faults.push(Invalid::new(field, format!("has more than {MAX_NAMED} entries")));
            return Vec::new();
        }
        let is_bad = |word: &&String| word.is_empty() || word.len() > MAX_SCOPE_BYTES;
        if let Some(bad) = words.iter().find(is_bad) {
            faults.push(Invalid::new(field, format!("{bad:?} must be 1 to {MAX_SCOPE_BYTES} bytes")));
        }
        words.into_iter().map(Pattern::new).collect()
    }
}

impl Default for Words {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

fn words(patterns: &[Pattern]) -> Words {
    Words::Several(patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect())
}
