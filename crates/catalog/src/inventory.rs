//! What a version's backend was last seen to offer, and what it said of itself.

use std::collections::HashSet;

use crate::endpoint::{Era, Eras};
use crate::time::Timestamp;

/// What one version's backend offered when it was last read. JSON is kept as the backend wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    /// The era in which what follows was said; the newer one of a backend that speaks both.
    pub era: Era,
    /// What a backend that speaks both eras says in the older one.
    pub legacy: Option<Box<LegacySide>>,
    /// The revision it agreed to or listed, for example `2025-11-25`.
    pub protocol_version: String,
    /// Its `serverInfo`, a JSON object; `{}` where it gave none.
    pub server_info: Box<str>,
    /// Its `capabilities`, a JSON object.
    pub capabilities: Box<str>,
    /// Its instructions, decoded.
    pub instructions: Option<String>,
    /// `tools/list`, all pages.
    pub tools: Vec<Item>,
    /// `prompts/list`, all pages.
    pub prompts: Vec<Item>,
    /// `resources/list`, all pages.
    pub resources: Vec<Item>,
    /// `resources/templates/list`, all pages.
    pub templates: Vec<Item>,
    /// The version the running software reports, and how it changed.
    pub reported: Reported,
    /// When the lists were read.
    pub read_at: Timestamp,
    /// Whether it is spoken to over HTTP+SSE, the transport of 2024-11-05.
    pub has_event_stream: bool,
}

/// What a backend of both eras says and offers in the older one. A list that is the same in both is kept once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacySide {
    /// The revision it agreed to.
    pub protocol_version: String,
    /// As in [`Inventory`], as are all that follow.
    pub server_info: Box<str>,
    /// Its `capabilities`.
    pub capabilities: Box<str>,
    /// Its instructions.
    pub instructions: Option<String>,
    /// Its tools; `None` where they are the same in both eras, as in the other lists.
    pub tools: Option<Vec<Item>>,
    /// Its prompts.
    pub prompts: Option<Vec<Item>>,
    /// Its resources.
    pub resources: Option<Vec<Item>>,
    /// Its templates.
    pub templates: Option<Vec<Item>>,
}

/// What a backend says and offers to clients of one era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side<'a> {
    /// The revision it speaks with them.
    pub protocol_version: &'a str,
    /// Its `serverInfo`, a JSON object.
    pub server_info: &'a str,
    /// Its `capabilities`, a JSON object.
    pub capabilities: &'a str,
    /// Its instructions, decoded.
    pub instructions: Option<&'a str>,
    /// Its tools.
    pub tools: &'a [Item],
    /// Its prompts.
    pub prompts: &'a [Item],
    /// Its resources.
    pub resources: &'a [Item],
    /// Its templates.
    pub templates: &'a [Item],
}

/// One tool, prompt, resource or template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// `name` of a tool or prompt, `uri` of a resource, `uriTemplate` of a template; decoded.
    pub name: Box<str>,
    /// The whole JSON object, byte for byte.
    pub json: Box<str>,
}

/// The version the running software reports of itself (`serverInfo.version`). Never a routing label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// The version now.
    pub version: Option<String>,
    /// The one before it.
    pub previous: Option<String>,
    /// When the change was noticed.
    pub changed_at: Option<Timestamp>,
}

impl Reported {
    /// Takes in what a probe read. Returns the new state, and whether a known version changed.
    pub fn observe(&self, version: Option<&str>, now: Timestamp) -> (Self, bool) {
        let Some(version) = version else { return (self.clone(), false) };
        match &self.version {
            Some(known) if known == version => (self.clone(), false),
            Some(known) => {
                let changed = Self {
                    version: Some(version.into()),
                    previous: Some(known.clone()),
                    changed_at: Some(now),
                };
                (changed, true)
            }
            None => (Self { version: Some(version.into()), previous: None, changed_at: None }, false),
        }
    }
}

impl Inventory {
    /// What a backend that says and offers nothing offers.
    pub fn empty(era: Era, protocol_version: &str, read_at: Timestamp) -> Self {
        Self {
            era,
            legacy: None,
            protocol_version: protocol_version.into(),
            server_info: "{}".into(),
            capabilities: "{}".into(),
            instructions: None,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            reported: Reported::default(),
            read_at,
            has_event_stream: false,
        }
    }

    /// Puts together what a backend said in both eras.
    pub fn of_both(modern: Self, legacy: Self) -> Self {
        let side = LegacySide {
            tools: (legacy.tools != modern.tools).then_some(legacy.tools),
            prompts: (legacy.prompts != modern.prompts).then_some(legacy.prompts),
            resources: (legacy.resources != modern.resources).then_some(legacy.resources),
            templates: (legacy.templates != modern.templates).then_some(legacy.templates),
            protocol_version: legacy.protocol_version,
            server_info: legacy.server_info,
            capabilities: legacy.capabilities,
            instructions: legacy.instructions,
        };
        Self { legacy: Some(Box::new(side)), ..modern }
    }

    /// Returns the eras the backend speaks.
    pub fn eras(&self) -> Eras {
        if self.legacy.is_some() { Eras::Both } else { self.era.into() }
    }

    /// Returns what the backend says in an era; in the only one it speaks, where that is another.
    pub fn side(&self, era: Era) -> Side<'_> {
        let legacy = self.legacy.as_deref().filter(|_| era == Era::Legacy);
        let Some(side) = legacy else {
            return Side {
                protocol_version: &self.protocol_version,
                server_info: &self.server_info,
                capabilities: &self.capabilities,
                instructions: self.instructions.as_deref(),
                tools: &self.tools,
                prompts: &self.prompts,
                resources: &self.resources,
                templates: &self.templates,
            };
        };
        Side {
            protocol_version: &side.protocol_version,
            server_info: &side.server_info,
            capabilities: &side.capabilities,
            instructions: side.instructions.as_deref(),
            tools: side.tools.as_deref().unwrap_or(&self.tools),
            prompts: side.prompts.as_deref().unwrap_or(&self.prompts),
            resources: side.resources.as_deref().unwrap_or(&self.resources),
            templates: side.templates.as_deref().unwrap_or(&self.templates),
        }
    }

    /// Returns all tools: of those in both eras the newer definition, then those of the older era only.
    pub fn all_tools(&self) -> impl Iterator<Item = &Item> {
        let older = self.legacy.as_deref().and_then(|side| side.tools.as_deref()).unwrap_or_default();
        let known: HashSet<&str> = match older {
            [] => HashSet::new(),
            _ => self.tools.iter().map(|item| &*item.name).collect(),
        };
        self.tools.iter().chain(older.iter().filter(move |item| !known.contains(&*item.name)))
    }

    /// Finds a tool by its original name, as [`Self::all_tools`] has it.
    pub fn tool(&self, name: &str) -> Option<&Item> {
        self.side(Era::Modern).tool(name).or_else(|| self.side(Era::Legacy).tool(name))
    }

    /// Says whether the offer is the same, whenever and by whichever software it was read.
    pub fn offers_the_same(&self, other: &Self) -> bool {
        self.era == other.era
            && self.has_event_stream == other.has_event_stream
            && self.legacy == other.legacy
            && self.side(self.era) == other.side(self.era)
    }
}

impl<'a> Side<'a> {
    /// Finds a tool by its original name.
    pub fn tool(&self, name: &str) -> Option<&'a Item> {
        self.tools.iter().find(|item| &*item.name == name)
    }
}

#[cfg(test)]
mod tests;
