//! What a version's backend was last seen to offer, and what it said of itself.

use crate::endpoint::Era;
use crate::time::Timestamp;

/// What one version's backend offered when it was last read. JSON is kept as the backend wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    /// The era the backend speaks.
    pub era: Era,
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
    /// Finds a tool by its original name.
    pub fn tool(&self, name: &str) -> Option<&Item> {
        self.tools.iter().find(|item| &*item.name == name)
    }

    /// Says whether the offer is the same, whenever and by whichever software it was read.
    pub fn offers_the_same(&self, other: &Self) -> bool {
        self.era == other.era
            && self.protocol_version == other.protocol_version
            && self.capabilities == other.capabilities
            && self.server_info == other.server_info
            && self.instructions == other.instructions
            && self.tools == other.tools
            && self.prompts == other.prompts
            && self.resources == other.resources
            && self.templates == other.templates
    }
}

#[cfg(test)]
mod tests;
