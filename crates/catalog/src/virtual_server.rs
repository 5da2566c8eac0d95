//! Virtual servers: tools picked from servers, under aliases and pins, with scopes; and their checks.

pub mod resource_route;
pub mod suggest;

use std::collections::{HashMap, HashSet};

use crate::Catalog;
use crate::invalid::Invalid;
use crate::name::{ServerPath, Slug, ToolName, VersionLabel, WARN_NAME_BYTES};
use crate::scope::Scope;
use crate::time::Timestamp;
use resource_route::{MAX_RESOURCE_ROUTES, ResourceRoute};

/// Most mappings of one virtual server. Clients cope with far fewer; the bound keeps a list answer in memory.
pub const MAX_MAPPINGS: usize = 2000;

/// Most overrides of one virtual server: one for each mapping.
pub const MAX_OVERRIDES: usize = MAX_MAPPINGS;

/// An endpoint composed of tools of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualServer {
    /// Its name in the URL.
    pub slug: Slug,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The rows, in the order clients see.
    pub mappings: Vec<Mapping>,
    /// Scopes a caller needs to use it at all.
    pub required_scopes: Vec<Scope>,
    /// More scopes for single tools.
    pub overrides: Vec<ScopeOverride>,
    /// Its own instructions; the backends' are joined where absent.
    pub instructions: Option<String>,
    /// Whether prompts of the mapped servers are exposed.
    pub exposes_prompts: bool,
    /// Whether resources of the mapped servers are exposed.
    pub exposes_resources: bool,
    /// Where resources that no backend lists are asked for.
    pub resource_routes: Vec<ResourceRoute>,
    /// Whether it is routed.
    pub is_enabled: bool,
    /// Who made it.
    pub owner: Option<String>,
    /// Moves with every write.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
}

/// One row: a tool of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// The tool's original name.
    pub tool: String,
    /// The server it belongs to.
    pub server: ServerPath,
    /// The name clients see; the original where absent.
    pub alias: Option<ToolName>,
    /// The version it is pinned to; the active one where absent.
    pub pin: Option<VersionLabel>,
    /// A description that replaces the backend's.
    pub description: Option<String>,
}

/// Scopes for one tool, beside those of the endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeOverride {
    /// An exposed or original name that is mapped.
    pub name: String,
    /// Scopes a caller needs, all of them.
    pub required_scopes: Vec<Scope>,
}

impl Mapping {
    /// Returns the name clients see.
    pub fn exposed(&self) -> &str {
        self.alias.as_ref().map_or(&self.tool, |alias| alias.as_str())
    }
}

impl VirtualServer {
    /// Returns the scopes that overrides add for a mapping, without duplicates.
    pub fn tool_scopes(&self, mapping: &Mapping) -> Vec<Scope> {
        let mut seen: HashSet<&Scope> = HashSet::new();
        let is_meant = |one: &&ScopeOverride| one.name == mapping.exposed() || one.name == mapping.tool;
        let meant = self.overrides.iter().filter(is_meant).flat_map(|one| &one.required_scopes);
        meant.filter(|scope| seen.insert(scope)).cloned().collect()
    }

    /// Checks everything against the catalog and reports all faults at once; returns warnings.
    ///
    /// `kept` is the virtual server as it was: a tool that has gone from its backend since is no fault of
    /// an edit that merely keeps its row.
    pub fn check(&self, catalog: &Catalog, kept: Option<&Self>) -> Result<Vec<String>, Vec<Invalid>> {
        let (mut faults, mut warnings) = (Vec::new(), Vec::new());
        if self.mappings.len() > MAX_MAPPINGS {
            faults.push(Invalid::new("tool_mappings", format!("has more than {MAX_MAPPINGS} rows")));
        }
        if self.overrides.len() > MAX_OVERRIDES {
            let reason = format!("has more than {MAX_OVERRIDES} rows");
            faults.push(Invalid::new("tool_scope_overrides", reason));
        }
        if self.resource_routes.len() > MAX_RESOURCE_ROUTES {
            let reason = format!("has more than {MAX_RESOURCE_ROUTES} rows");
            faults.push(Invalid::new("resource_routes", reason));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let kept: HashSet<&Mapping> = kept.into_iter().flat_map(|old| &old.mappings).collect();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let offered: HashMap<usize, ToolName> =
            suggest::aliases(&self.mappings).into_iter().map(|one| (one.row, one.alias)).collect();
        for (index, mapping) in self.mappings.iter().enumerate() {
            let example =
                || offered.get(&index).map_or(String::new(), |alias| format!(", for example {alias}"));
            let field = |name: &str| format!("tool_mappings[{index}].{name}");
            let exposed = mapping.exposed();
            if let Err(fault) = ToolName::parse(&field("alias"), exposed) {
                faults.push(Invalid::new(
                    fault.field,
                    format!("{}; give the tool an alias{}", fault.reason, example()),
                ));
            } else if exposed.len() > WARN_NAME_BYTES {
                warnings.push(format!(
                    "{exposed} is longer than {WARN_NAME_BYTES} characters; several clients refuse it; give it an alias{}",
                    example()
                ));
            }
            if let Some(first) = seen.insert(exposed, index) {
                let reason = format!(
                    "{exposed:?} is the exposed name of row {first} too; give one of them an alias{}",
                    example()
                );
                faults.push(Invalid::new(field("alias"), reason));
            }
            if let Err(fault) = self.check_source(catalog, mapping, index)
                && !kept.contains(mapping)
            {
                faults.push(fault);
            }
        }
        let named: HashSet<&str> = self.mappings.iter().flat_map(|row| [row.exposed(), &row.tool]).collect();
        for (index, one) in self.overrides.iter().enumerate() {
            if !named.contains(&*one.name) {
                let reason = format!("{:?} is no exposed or original name of a mapped tool", one.name);
                faults.push(Invalid::new(format!("tool_scope_overrides[{index}].tool_alias"), reason));
            }
        }
        faults.extend(resource_route::faults(&self.resource_routes, &self.mappings));
        if faults.is_empty() { Ok(warnings) } else { Err(faults) }
    }

    fn check_source(&self, catalog: &Catalog, mapping: &Mapping, index: usize) -> Result<(), Invalid> {
        let field = |name: &str| format!("tool_mappings[{index}].{name}");
        let Some(server) = catalog.servers.get(&mapping.server) else {
            return Err(Invalid::new(
                field("backend_server_path"),
                format!("no server {} is registered", mapping.server),
            ));
        };
        let label = match &mapping.pin {
            None => &server.active().label,
            Some(pin) if server.version(pin.as_str()).is_some() => pin,
            Some(pin) => {
                let known: Vec<_> = server.versions().map(|v| v.label.as_str()).collect();
                let reason = format!("{} has no version {pin}; it has {}", mapping.server, known.join(", "));
                return Err(Invalid::new(field("backend_version"), reason));
            }
        };
        match catalog.inventory(&mapping.server, label) {
            Some(inventory) if inventory.tool(&mapping.tool).is_some() => Ok(()),
            Some(_) => {
                let reason = format!("{} {label} offers no tool {:?}", mapping.server, mapping.tool);
                Err(Invalid::new(field("tool_name"), reason))
            }
            None => {
                let reason = format!(
                    "the tools of {} {label} are not known yet, so {:?} cannot be checked; refresh the server first",
                    mapping.server, mapping.tool
                );
                Err(Invalid::new(field("tool_name"), reason))
            }
        }
    }
}

#[cfg(test)]
mod tests;
