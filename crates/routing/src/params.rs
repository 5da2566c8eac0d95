//! Which tools of a version have arguments that headers repeat, and which nobody may use for the way they say so.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::inventory::{Inventory, Item};
use mcp::param::{Mark, marks};

/// The tools of one version that say something of headers; all others are in none of the two.
#[derive(Debug, Default)]
pub struct Params {
    marked: HashMap<Box<str>, Arc<[Mark]>>,
    unfit: HashMap<Box<str>, Box<str>>,
}

impl Params {
    /// Reads the schemas of all tools; `None` where none of them says anything, as nearly everywhere.
    pub(crate) fn of(inventory: &Inventory) -> Option<Box<Self>> {
        let mut params = Self::default();
        // Of two tools with one name the first counts; `rev` lets it write last.
        for tool in inventory.tools.iter().rev() {
            params.marked.remove(&tool.name);
            params.unfit.remove(&tool.name);
            match marks(schema(tool)) {
                Ok(marks) if marks.is_empty() => {}
                Ok(marks) => drop(params.marked.insert(tool.name.clone(), marks.into())),
                Err(unfit) => drop(params.unfit.insert(tool.name.clone(), unfit.to_string().into())),
            }
        }
        let says_nothing = params.marked.is_empty() && params.unfit.is_empty();
        (!says_nothing).then(|| Box::new(params))
    }

    /// Returns the marks of a tool; `None` where it has none.
    pub fn marks(&self, tool: &str) -> Option<&Arc<[Mark]>> {
        self.marked.get(tool)
    }

    /// Returns why a tool must not be used.
    pub fn unfit(&self, tool: &str) -> Option<&str> {
        self.unfit.get(tool).map(|reason| &**reason)
    }
}

fn schema(tool: &Item) -> &[u8] {
    let json = tool.json.as_bytes();
    mcp::message::member(json, "inputSchema").map_or(&[], |span| span.of(json))
}
