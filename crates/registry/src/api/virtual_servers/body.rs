//! The shape in which a virtual server comes in, and its way to a checked one with all faults at once.

use std::collections::HashSet;

use catalog::Catalog;
use catalog::error::{Invalid, Refusal};
use catalog::name::{ServerPath, Slug, ToolName, VersionLabel};
use catalog::prose::{check_line, check_prose};
use catalog::time::Timestamp;
use catalog::unreadable::Place;
use catalog::virtual_server::resource_route::MAX_RESOURCE_ROUTES;
use catalog::virtual_server::{MAX_MAPPINGS, MAX_OVERRIDES, Mapping, ScopeOverride, VirtualServer};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{collisions, resource_routes};
use crate::api::edit::{MAX_WORD_BYTES, MAX_WORDS};
use crate::api::fields::read_words;
use crate::api::groups::{MAX_LISTED, read_scopes};
use crate::unfit::unfit_row;

/// Longest name of a virtual server, in characters.
const MAX_NAME_CHARS: usize = 200;

/// What a virtual server is made of. Other members, as answers have them, are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = VirtualServerBody)]
#[schema(example = json!({
    "server_name": "Dev Tools", "path": "/virtual/dev-tools", "description": "Search and send", "is_enabled": true,
    "tool_mappings": [
        {"tool_name": "search", "backend_server_path": "/github", "alias": "github_search"},
        {"tool_name": "search", "backend_server_path": "/jira", "alias": "jira_search", "backend_version": "v2.0.0"},
        {"tool_name": "send_message", "backend_server_path": "/slack"}],
    "required_scopes": ["mcp-access"],
    "tool_scope_overrides": [{"tool_alias": "send_message", "required_scopes": ["slack-write"]}]}))]
pub(super) struct Body {
    /// What people call it. Required, unless members are edited.
    #[serde(alias = "name")]
    pub(super) server_name: Option<String>,
    /// `/virtual/` and a slug; made from the name where absent. Cannot be changed.
    pub(super) path: Option<String>,
    /// What it is for.
    pub(super) description: Option<String>,
    /// Words to find it by.
    pub(super) tags: Option<Vec<String>>,
    /// The rows, in the order clients see.
    pub(super) tool_mappings: Option<Vec<Row>>,
    /// Scopes a caller needs to use it, all of them.
    pub(super) required_scopes: Option<Vec<String>>,
    /// More scopes for single tools.
    pub(super) tool_scope_overrides: Option<Vec<Override>>,
    /// Whether it is routed; off where absent.
    pub(super) is_enabled: Option<bool>,
    /// Its own instructions; those of the servers are joined where absent or empty.
    pub(super) instructions: Option<String>,
    /// Whether prompts of the mapped servers are exposed; on where absent.
    pub(super) exposes_prompts: Option<bool>,
    /// Whether resources of the mapped servers are exposed; on where absent.
    pub(super) exposes_resources: Option<bool>,
    /// Where resources that no server lists are asked for; everywhere in turn where absent.
    pub(super) resource_routes: Option<Vec<resource_routes::Row>>,
}

/// One tool to map.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[schema(as = ToolMappingBody)]
pub(super) struct Row {
    /// The tool's name on its server. Required.
    tool_name: Option<String>,
    /// Path of the server. Required.
    backend_server_path: Option<String>,
    /// The name clients see; the original one where absent.
    alias: Option<String>,
    /// Label of the version to pin it to; the active one where absent.
    backend_version: Option<String>,
    /// A description that replaces the server's.
    description_override: Option<String>,
}

/// Scopes for one tool.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = ToolScopeOverrideBody)]
pub(super) struct Override {
    /// The name clients see, or the original one. Required.
    #[serde(alias = "tool_name")]
    tool_alias: Option<String>,
    /// Scopes a caller needs to see and call it, all of them.
    #[serde(default)]
    required_scopes: Vec<String>,
}

/// A checked virtual server.
pub(super) struct Built {
    /// It, as it will be written.
    pub(super) server: VirtualServer,
    /// What is allowed and may still cause trouble.
    pub(super) warnings: Vec<String>,
}

impl Body {
    /// Makes a new one.
    pub(super) fn create(self, catalog: &Catalog, owner: String, now: Timestamp) -> Result<Built, Refusal> {
        let (slug, fault) = match self.slug() {
            Ok(slug) => (slug, None),
            Err(fault) => (Slug::parse("path", "unreadable").expect("a slug"), Some(fault)),
        };
        if fault.is_none() && catalog.virtual_servers.contains_key(&slug) {
            return Err(Refusal::Exists { kind: "virtual server", name: slug.path() });
        }
        if fault.is_none() {
            catalog.check_readable(&Place::VirtualServer(slug.clone()))?;
        }
        let base = VirtualServer { owner: Some(owner), ..blank(slug, now) };
        self.build(catalog, base, None, fault)
    }

    /// Replaces one: members that are left out get their defaults.
    pub(super) fn replace(
        self,
        catalog: &Catalog,
        current: &VirtualServer,
        now: Timestamp,
    ) -> Result<Built, Refusal> {
        let base = VirtualServer {
            owner: current.owner.clone(),
            created_at: current.created_at,
            is_enabled: current.is_enabled,
            revision: current.revision + 1,
            ..blank(current.slug.clone(), now)
        };
        let fault = self.moved(&current.slug);
        self.build(catalog, base, Some(current), fault)
    }

    /// Edits one: members that are left out stay.
    pub(super) fn edit(
        self,
        catalog: &Catalog,
        current: &VirtualServer,
        now: Timestamp,
    ) -> Result<Built, Refusal> {
        let base = VirtualServer { revision: current.revision + 1, updated_at: now, ..current.clone() };
        let fault = self.moved(&current.slug);
        self.build(catalog, base, Some(current), fault)
    }

    /// Returns the rows that can be read, as far as they can, for a look at their sources before the check.
    pub(super) fn rows(&self) -> Vec<Mapping> {
        let rows = self.tool_mappings.iter().flatten().take(MAX_MAPPINGS).enumerate();
        rows.map(|(index, row)| row.clone().read(index, &mut Vec::new(), &mut Unread::default())).collect()
    }

    fn slug(&self) -> Result<Slug, Invalid> {
        match (self.path.as_deref().map(str::trim), self.server_name.as_deref()) {
            (Some(path), _) if !path.is_empty() => Slug::parse("path", path),
            (_, Some(name)) => Slug::from_title("path", name),
            (_, None) => Err(Invalid::new("path", "is required, for example /virtual/dev-tools")),
        }
    }

    fn moved(&self, slug: &Slug) -> Option<Invalid> {
        let path = self.path.as_deref().filter(|path| !path.trim().is_empty())?;
        let is_same = Slug::parse("path", path).is_ok_and(|other| other == *slug);
        let reason = || format!("{path:?} is another path; this is {} and stays there", slug.path());
        (!is_same).then(|| Invalid::new("path", reason()))
    }

    fn build(
        self,
        catalog: &Catalog,
        base: VirtualServer,
        current: Option<&VirtualServer>,
        fault: Option<Invalid>,
    ) -> Result<Built, Refusal> {
        let mut faults: Vec<Invalid> = fault.into_iter().collect();
        let (mut server, mut unread) = (base, Unread::default());
        if let Some(name) = self.server_name {
            server.name = name.trim().to_owned();
        }
        if server.name.is_empty() {
            faults.push(Invalid::new("server_name", "is required"));
        } else if let Err(fault) = check_line("server_name", &server.name) {
            faults.push(fault);
        } else if server.name.chars().count() > MAX_NAME_CHARS {
            faults.push(Invalid::new("server_name", format!("is longer than {MAX_NAME_CHARS} characters")));
        }
        if let Some(rows) = self.tool_mappings {
            if rows.len() > MAX_MAPPINGS {
                faults.push(Invalid::new("tool_mappings", format!("has more than {MAX_MAPPINGS} rows")));
                return Err(Refusal::Invalid(faults));
            }
            let read =
                rows.into_iter().enumerate().map(|(index, row)| row.read(index, &mut faults, &mut unread));
            server.mappings = read.collect();
        }
        if let Some(scopes) = self.required_scopes {
            server.required_scopes = read_scopes("required_scopes", &scopes, MAX_LISTED, &mut faults);
        }
        if let Some(overrides) = self.tool_scope_overrides {
            if overrides.len() > MAX_OVERRIDES {
                let reason = format!("has more than {MAX_OVERRIDES} rows");
                faults.push(Invalid::new("tool_scope_overrides", reason));
                return Err(Refusal::Invalid(faults));
            }
            let read =
                overrides.into_iter().enumerate().filter_map(|(index, one)| one.read(index, &mut faults));
            server.overrides = read.collect();
        }
        if let Some(tags) = self.tags {
            let tags = tags.iter().map(|tag| tag.trim().to_owned()).collect();
            match read_words("tags", tags, MAX_WORDS, MAX_WORD_BYTES) {
                Ok(tags) => server.tags = tags,
                Err(fault) => faults.push(fault),
            }
        }
        if let Some(routes) = self.resource_routes {
            if routes.len() > MAX_RESOURCE_ROUTES {
                let reason = format!("has more than {MAX_RESOURCE_ROUTES} rows");
                faults.push(Invalid::new("resource_routes", reason));
                return Err(Refusal::Invalid(faults));
            }
            let read = routes
                .into_iter()
                .enumerate()
                .map(|(index, one)| one.read(index, &mut faults, &mut unread.routes));
            server.resource_routes = read.collect();
        }
        for (field, text) in [("description", &self.description), ("instructions", &self.instructions)] {
            faults.extend(text.as_ref().and_then(|text| check_prose(field, text).err()));
        }
        server.description = self.description.unwrap_or(server.description);
        server.is_enabled = self.is_enabled.unwrap_or(server.is_enabled);
        server.exposes_prompts = self.exposes_prompts.unwrap_or(server.exposes_prompts);
        server.exposes_resources = self.exposes_resources.unwrap_or(server.exposes_resources);
        if let Some(text) = self.instructions {
            server.instructions = Some(text).filter(|text| !text.trim().is_empty());
        }
        // Whoever switches it on is told of everything that is gone; another edit may keep such rows.
        let is_switched_on = server.is_enabled && current.is_some_and(|old| !old.is_enabled);
        let checked = server.check(catalog, current.filter(|_| !is_switched_on));
        match checked {
            Ok(mut warnings) if faults.is_empty() => {
                let left_out = |row: &Mapping| {
                    Some(format!("{} is left out: {}", row.exposed(), unfit_row(catalog, row)?))
                };
                warnings.extend(server.mappings.iter().filter_map(left_out));
                warnings.extend(collisions::hidden(catalog, &server));
                if server.mappings.is_empty() {
                    warnings.push("no tool is mapped".into());
                }
                Ok(Built { server, warnings })
            }
            Ok(_) => Err(Refusal::Invalid(faults)),
            Err(found) => {
                faults.extend(found.into_iter().filter(|fault| !unread.explains(fault, &server)));
                Err(Refusal::Invalid(faults))
            }
        }
    }
}

/// Rows of which something could not be read, so that what the check says of them is an echo.
#[derive(Default)]
struct Unread {
    /// Indices of rows whose tool, server or version is unreadable.
    sources: HashSet<usize>,
    /// Aliases that are unreadable; scopes may name them.
    aliases: HashSet<String>,
    /// Indices of routes of resources whose server is unreadable.
    routes: HashSet<usize>,
}

impl Unread {
    fn explains(&self, fault: &Invalid, server: &VirtualServer) -> bool {
        if let Some(rest) = fault.field.strip_prefix("tool_mappings[") {
            let (index, member) = rest.split_once("].").unwrap_or_default();
            return member != "alias" && index.parse().is_ok_and(|index| self.sources.contains(&index));
        }
        if let Some(rest) = fault.field.strip_prefix("resource_routes[") {
            let (index, member) = rest.split_once("].").unwrap_or_default();
            // What an unreadable row maps cannot be told.
            let is_unread = index.parse().is_ok_and(|index| self.routes.contains(&index));
            return member == "backend_server_path" && (is_unread || !self.sources.is_empty());
        }
        let index = fault.field.strip_prefix("tool_scope_overrides[").and_then(|rest| rest.split_once(']'));
        let named = index.and_then(|(index, _)| server.overrides.get(index.parse::<usize>().ok()?));
        named.is_some_and(|one| self.aliases.contains(&one.name))
    }
}

impl Row {
    /// Reads a row. What is unreadable becomes a fault, and a placeholder keeps the other rows' indices.
    fn read(self, index: usize, faults: &mut Vec<Invalid>, unread: &mut Unread) -> Mapping {
        let field = |name: &str| format!("tool_mappings[{index}].{name}");
        let placeholder = || ToolName::parse("", &format!("row-{index}.unreadable")).expect("a tool name");
        let known = faults.len();
        let tool = self.tool_name.unwrap_or_default().trim().to_owned();
        if tool.is_empty() {
            faults.push(Invalid::new(field("tool_name"), "is required"));
        }
        let path = self.backend_server_path.unwrap_or_default();
        let server = ServerPath::parse(&field("backend_server_path"), &path).unwrap_or_else(|fault| {
            faults.push(fault);
            ServerPath::parse("", "/unreadable").expect("a path")
        });
        let said = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let pin = said(&self.backend_version).and_then(|text| {
            VersionLabel::parse(&field("backend_version"), &text).map_err(|fault| faults.push(fault)).ok()
        });
        if faults.len() > known {
            unread.sources.insert(index);
        }
        let alias = said(&self.alias).map(|text| {
            ToolName::parse(&field("alias"), text.trim()).unwrap_or_else(|fault| {
                faults.push(fault);
                unread.aliases.insert(text);
                placeholder()
            })
        });
        let description = said(&self.description_override);
        let fault =
            description.as_ref().and_then(|text| check_prose(&field("description_override"), text).err());
        faults.extend(fault);
        // A nameless tool is one fault, not also a bad exposed name.
        let alias = alias.or_else(|| tool.is_empty().then(placeholder));
        Mapping { tool, server, alias, pin, description }
    }
}

impl Override {
    fn read(self, index: usize, faults: &mut Vec<Invalid>) -> Option<ScopeOverride> {
        let field = |name: &str| format!("tool_scope_overrides[{index}].{name}");
        let required_scopes =
            read_scopes(&field("required_scopes"), &self.required_scopes, MAX_LISTED, faults);
        let name = self.tool_alias.unwrap_or_default().trim().to_owned();
        if name.is_empty() {
            faults.push(Invalid::new(field("tool_alias"), "is required"));
        }
        // Stays in the list even so: indices of the others count.
        Some(ScopeOverride { name, required_scopes })
    }
}

fn blank(slug: Slug, now: Timestamp) -> VirtualServer {
    VirtualServer {
        slug,
        name: String::new(),
        description: String::new(),
        tags: Vec::new(),
        mappings: Vec::new(),
        required_scopes: Vec::new(),
        overrides: Vec::new(),
        instructions: None,
        exposes_prompts: true,
        exposes_resources: true,
        resource_routes: Vec::new(),
        is_enabled: false,
        owner: None,
        revision: 1,
        created_at: now,
        updated_at: now,
    }
}
