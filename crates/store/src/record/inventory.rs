//! Inventories as they are stored: a small record, and each list as one JSON text with the backend's own
//! bytes inside. Ten thousand servers are read at every start, so a list is scanned once and never parsed.

use catalog::VersionKey;
use catalog::endpoint::{Era, Eras};
use catalog::inventory::{Inventory, Item, LegacySide, Reported};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Unreadable;
use super::moment::Moment;

/// What a backend said of itself when it was last read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InventoryRecord {
    path: String,
    version: String,
    era: ErasWord,
    protocol_version: String,
    /// A JSON text within the text, so that every store gives back its bytes.
    server_info: String,
    capabilities: String,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    mcp_server_version: Option<String>,
    #[serde(default)]
    mcp_server_version_previous: Option<String>,
    #[serde(default)]
    mcp_server_version_updated_at: Option<Moment>,
    #[serde(default)]
    num_tools: u64,
    read_at: Moment,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_event_stream: bool,
    /// What it said in the older era, where it speaks both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    legacy: Option<LegacyRecord>,
}

/// The eras a backend speaks, as a word.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ErasWord {
    Legacy,
    Modern,
    Both,
}

/// What a backend of both eras said in the older one. Its lists, as JSON texts like those of [`InventoryLists`], stand
/// here only where they are not the same in both; few backends have any.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LegacyRecord {
    protocol_version: String,
    server_info: String,
    capabilities: String,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompts: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resources: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource_templates: Option<String>,
}

/// The four lists of an inventory, each a JSON text: `[["search",{"name":"search",…}],…]`.
///
/// The first of each pair is the item's key, decoded; the second the item, byte for byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InventoryLists<Text> {
    /// `tools/list`.
    pub tools: Text,
    /// `prompts/list`.
    pub prompts: Text,
    /// `resources/list`.
    pub resources: Text,
    /// `resources/templates/list`.
    pub resource_templates: Text,
}

impl InventoryRecord {
    /// Takes down all but the lists.
    pub fn of(key: &VersionKey, inventory: &Inventory) -> Self {
        Self {
            path: key.path.to_string(),
            version: key.label.to_string(),
            era: ErasWord::of(inventory.eras()),
            protocol_version: inventory.protocol_version.clone(),
            server_info: inventory.server_info.to_string(),
            capabilities: inventory.capabilities.to_string(),
            instructions: inventory.instructions.clone(),
            mcp_server_version: inventory.reported.version.clone(),
            mcp_server_version_previous: inventory.reported.previous.clone(),
            mcp_server_version_updated_at: Moment::maybe(inventory.reported.changed_at),
            num_tools: inventory.all_tools().count() as u64,
            read_at: Moment(inventory.read_at),
            has_event_stream: inventory.has_event_stream,
            legacy: inventory.legacy.as_deref().map(LegacyRecord::of),
        }
    }

    /// Reads the inventory back with its lists.
    pub fn into_inventory(self, lists: InventoryLists<&str>) -> Result<Inventory, Unreadable> {
        Ok(Inventory {
            era: self.era.first(),
            legacy: self.legacy.map(|side| side.into_side().map(Box::new)).transpose()?,
            protocol_version: self.protocol_version,
            server_info: self.server_info.into(),
            capabilities: self.capabilities.into(),
            instructions: self.instructions,
            tools: read_list(lists.tools)?,
            prompts: read_list(lists.prompts)?,
            resources: read_list(lists.resources)?,
            templates: read_list(lists.resource_templates)?,
            reported: Reported {
                version: self.mcp_server_version,
                previous: self.mcp_server_version_previous,
                changed_at: self.mcp_server_version_updated_at.map(|moment| moment.0),
            },
            read_at: self.read_at.0,
            has_event_stream: self.has_event_stream,
        })
    }
}

impl ErasWord {
    fn of(eras: Eras) -> Self {
        match eras {
            Eras::Legacy => Self::Legacy,
            Eras::Modern => Self::Modern,
            Eras::Both => Self::Both,
        }
    }

    /// Returns the era of what stands first in the record.
    fn first(self) -> Era {
        match self {
            Self::Legacy => Era::Legacy,
            Self::Modern | Self::Both => Era::Modern,
        }
    }
}

impl LegacyRecord {
    fn of(side: &LegacySide) -> Self {
        let list = |items: &Option<Vec<Item>>| items.as_deref().map(write_list);
        Self {
            protocol_version: side.protocol_version.clone(),
            server_info: side.server_info.to_string(),
            capabilities: side.capabilities.to_string(),
            instructions: side.instructions.clone(),
            tools: list(&side.tools),
            prompts: list(&side.prompts),
            resources: list(&side.resources),
            resource_templates: list(&side.templates),
        }
    }

    fn into_side(self) -> Result<LegacySide, Unreadable> {
        let list = |text: Option<String>| text.as_deref().map(read_list).transpose();
        Ok(LegacySide {
            protocol_version: self.protocol_version,
            server_info: self.server_info.into(),
            capabilities: self.capabilities.into(),
            instructions: self.instructions,
            tools: list(self.tools)?,
            prompts: list(self.prompts)?,
            resources: list(self.resources)?,
            templates: list(self.resource_templates)?,
        })
    }
}

impl InventoryLists<String> {
    /// Writes the lists of an inventory.
    pub fn of(inventory: &Inventory) -> Self {
        Self {
            tools: write_list(&inventory.tools),
            prompts: write_list(&inventory.prompts),
            resources: write_list(&inventory.resources),
            resource_templates: write_list(&inventory.templates),
        }
    }

    /// Lends the lists out, to be read back.
    pub fn as_str(&self) -> InventoryLists<&str> {
        InventoryLists {
            tools: &self.tools,
            prompts: &self.prompts,
            resources: &self.resources,
            resource_templates: &self.resource_templates,
        }
    }
}

fn write_list(items: &[Item]) -> String {
    let bytes = items.iter().map(|item| item.name.len() + item.json.len() + 8).sum::<usize>();
    let mut text = String::with_capacity(bytes + 2);
    text.push('[');
    for item in items {
        let comma = if text.len() > 1 { "," } else { "" };
        let name = serde_json::to_string(&item.name).expect("a text is always JSON");
        text.extend([comma, "[", &name, ",", &item.json, "]"]);
    }
    text.push(']');
    text
}

fn read_list(text: &str) -> Result<Vec<Item>, Unreadable> {
    let pairs: Vec<(Box<str>, &RawValue)> = serde_json::from_str(text)?;
    Ok(pairs.into_iter().map(|(name, json)| Item { name, json: json.get().into() }).collect())
}
