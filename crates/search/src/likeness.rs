//! How near the meanings of entries are to a query's: exactly for servers and virtual servers; for tools, of which
//! there are many more, by signs first and exactly for the best of these.

use std::collections::HashMap;

use crate::entry::{ServerEntry, VirtualEntry};
use crate::vector::Vector;

/// Tools whose likeness is computed exactly. A tool among the best ten has its signs among the best thousand.
const EXACT_TOOLS: usize = 1000;
/// What a tool's likeness counts for its server, beside the server's own.
const OF_TOOL: f32 = 0.9;

/// The likenesses to one query.
pub(crate) struct Likeness<'q> {
    query: &'q Vector,
    /// By place among the servers that were looked at, then by place among its tools: those that are most alike.
    pub(crate) tools: HashMap<(u32, u32), f32>,
    /// The best of each server's tools.
    best_tools: HashMap<u32, f32>,
}

impl<'q> Likeness<'q> {
    /// Looks through the tools of servers.
    pub(crate) fn of(query: &'q Vector, servers: &[&ServerEntry]) -> Self {
        let mut likeness = Self { query, tools: HashMap::new(), best_tools: HashMap::new() };
        for (server, tool) in most_alike(query, servers) {
            let rows = servers[server as usize].tool_meanings.rows();
            let Some(found) = rows.map(|rows| rows.likeness(tool as usize, query)) else { continue };
            likeness.tools.insert((server, tool), found);
            let best = likeness.best_tools.entry(server).or_default();
            *best = best.max(found);
        }
        likeness
    }

    /// Returns that of a server, by what it says of itself or by its best tool.
    pub(crate) fn server(&self, place: u32, entry: &ServerEntry, query: &Vector) -> Option<f32> {
        let own = entry.meaning.vector().map(|vector| vector.likeness(query))?;
        Some(self.best_tools.get(&place).map_or(own, |best| own.max(best * OF_TOOL)))
    }

    /// Returns that of a tool, if its vector is there.
    pub(crate) fn tool(&self, owner: &ServerEntry, place: usize) -> Option<f32> {
        let rows = owner.tool_meanings.rows()?;
        rows.vectors[place].as_ref().map(|vector| vector.likeness(self.query))
    }

    /// Returns that of a virtual server.
    pub(crate) fn virtual_server(&self, entry: &VirtualEntry) -> Option<f32> {
        entry.meaning.vector().map(|vector| vector.likeness(self.query))
    }
}

/// Returns the tools whose signs differ least, with the place of their server.
fn most_alike(query: &Vector, servers: &[&ServerEntry]) -> Vec<(u32, u32)> {
    let mut signs = Vec::new();
    query.signs(&mut signs);
    let mut differences = Vec::new();
    for entry in servers {
        if let Some(rows) = entry.tool_meanings.rows() {
            rows.differences(&signs, |difference| differences.push(difference));
        }
    }
    let limit = limit(&differences, query.numbers.len());
    let (mut alike, mut next) = (Vec::new(), differences.iter());
    for (server, entry) in (0..).zip(servers) {
        let is_whole = entry.tool_meanings.rows().is_some_and(|rows| rows.has_width(signs.len()));
        let tools = if is_whole { entry.tools.len() } else { 0 };
        for (tool, difference) in (0..).zip(next.by_ref().take(tools)) {
            if *difference <= limit && alike.len() < EXACT_TOOLS {
                alike.push((server, tool));
            }
        }
    }
    alike
}

/// Returns the difference up to which there are about [`EXACT_TOOLS`] tools.
fn limit(differences: &[u16], most: usize) -> u16 {
    if differences.len() <= EXACT_TOOLS {
        return u16::MAX;
    }
    let mut counts = vec![0_usize; most + 1];
    for difference in differences {
        counts[usize::from(*difference).min(most)] += 1;
    }
    let mut sum = 0;
    let within = counts.iter().take_while(|count| {
        sum += **count;
        sum <= EXACT_TOOLS
    });
    within.count().saturating_sub(1) as u16
}
