//! From ranked entries to what is found, with the text that fits beside each.

use catalog::server::Server;

use crate::found::{Found, FoundServer, FoundTool, FoundVirtualServer};
use crate::plan::Plan;
use crate::rank::Hit;
use crate::scan::{Ranked, ToolOf};
use crate::vocabulary::Vocabulary;

/// Longest context, in characters; enough to see why.
const MAX_CONTEXT_CHARS: usize = 240;
/// Most of a hit that is no exact name.
const BELOW_EXACT: f32 = 0.99;

impl Ranked<'_> {
    /// Copies out what is found.
    pub(crate) fn tell(self, plan: &Plan, vocabulary: &Vocabulary) -> Found {
        let servers = self.servers.into_iter().map(|(hit, tools)| {
            let server = &hit.entry.server;
            let context = context(plan, vocabulary, &server.active().description, &server.tags, || {
                tools.iter().map(|one| &*one.entry.tool.name).collect()
            });
            FoundServer {
                server: server.clone(),
                inventory: hit.entry.inventory.clone(),
                relevance: relevance(&hit),
                context,
                tools: tools.iter().map(tool).collect(),
            }
        });
        let virtual_servers = self.virtual_servers.into_iter().map(|hit| {
            let source = &hit.entry.source;
            let context = context(plan, vocabulary, &source.description, &source.tags, || {
                let exposed = source.mappings.iter().map(|mapping| mapping.exposed());
                exposed.filter(|name| plan.is_in(name, vocabulary)).take(5).collect()
            });
            FoundVirtualServer { virtual_server: source.clone(), relevance: relevance(&hit), context }
        });
        Found {
            servers: servers.collect(),
            tools: self.tools.iter().map(tool).collect(),
            virtual_servers: virtual_servers.collect(),
            total_servers: self.total_servers,
            total_tools: self.total_tools,
            total_virtual_servers: self.total_virtual_servers,
        }
    }
}

fn relevance<T>(hit: &Hit<T>) -> f32 {
    if hit.exactness > 0 { 1.0 } else { hit.score.clamp(0.0, BELOW_EXACT) }
}

fn tool(hit: &Hit<ToolOf<'_>>) -> FoundTool {
    let ToolOf { owner, tool } = hit.entry;
    let server: &std::sync::Arc<Server> = &owner.server;
    FoundTool {
        server: server.clone(),
        name: tool.name.to_string(),
        description: tool.description.to_string(),
        relevance: relevance(hit),
        context: cut(if tool.description.is_empty() { &tool.name } else { &tool.description }),
    }
}

/// Returns the description where it fits, else the tags or tools that do, else the description after all.
fn context<'a>(
    plan: &Plan,
    vocabulary: &Vocabulary,
    description: &str,
    tags: &[String],
    tools: impl FnOnce() -> Vec<&'a str>,
) -> String {
    if plan.is_in(description, vocabulary) {
        return cut(description);
    }
    if tags.iter().any(|tag| plan.is_in(tag, vocabulary)) {
        return cut(&format!("Tags: {}", tags.join(", ")));
    }
    match tools() {
        fitting if fitting.is_empty() => cut(description),
        fitting => cut(&format!("Tools: {}", fitting.join(", "))),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_CONTEXT_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.into(),
    }
}
