//! The scan: weighs every entry the caller may find, and ranks those that fit.

use catalog::server::Server;

use crate::entry::{Entries, ServerEntry, ToolEntry, VirtualEntry};
use crate::plan::{Plan, Weight};
use crate::query::Query;
use crate::rank::{Hit, Rarity, best};

/// Tools shown beside a server that was found.
const MAX_MATCHING_TOOLS: usize = 5;
/// What a word counts for a tool that only its server's path or name has.
const FROM_TITLE: f32 = 0.3;

/// The best of each kind, and how many fit.
#[derive(Default)]
pub(crate) struct Ranked<'a> {
    /// Each with the best of its tools.
    pub(crate) servers: Vec<(Hit<&'a ServerEntry>, Vec<Hit<ToolOf<'a>>>)>,
    pub(crate) tools: Vec<Hit<ToolOf<'a>>>,
    pub(crate) virtual_servers: Vec<Hit<&'a VirtualEntry>>,
    pub(crate) total_servers: usize,
    pub(crate) total_tools: usize,
    pub(crate) total_virtual_servers: usize,
}

/// A tool and the server it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct ToolOf<'a> {
    pub(crate) owner: &'a ServerEntry,
    pub(crate) tool: &'a ToolEntry,
}

/// Finds what fits.
pub(crate) fn scan<'a>(
    entries: &'a Entries,
    plan: &Plan,
    query: &Query<'_>,
    may_find: &impl Fn(&Server) -> bool,
) -> Ranked<'a> {
    let (mut weights, mut one) = (Vec::new(), vec![Weight::default(); plan.words]);
    let (mut admitted, mut servers, mut virtual_servers) = (0, Vec::new(), Vec::new());
    let mut owners = Vec::new();
    for entry in entries.servers.iter().map(|entry| &**entry) {
        if !may_find(&entry.server) || !plan.has_tags(&entry.names) {
            continue;
        }
        admitted += 1;
        let exactness = plan.exactness(&entry.names);
        let fit = plan.weigh(&entry.whole, &mut one);
        if fit.fits || exactness > 0 || plan.is_tags_only() {
            weights.extend_from_slice(&one);
            servers.push(Hit { entry, exactness, score: 0.0 });
            // Tools are only looked at where one of them can fit.
            if fit.has_tools || plan.is_tags_only() {
                owners.push(entry);
            }
        }
    }
    for entry in entries.virtual_servers.iter().map(|entry| &**entry) {
        if !plan.has_tags(&entry.names) {
            continue;
        }
        admitted += 1;
        let exactness = plan.exactness(&entry.names);
        if plan.weigh(&entry.document, &mut one).fits || exactness > 0 || plan.is_tags_only() {
            weights.extend_from_slice(&one);
            virtual_servers.push(Hit { entry, exactness, score: 0.0 });
        }
    }
    let rarity = Rarity::of(&weights, plan.words, admitted);
    let score = |index: usize| rarity.score(&weights[index * plan.words..(index + 1) * plan.words]);
    servers.iter_mut().enumerate().for_each(|(index, hit)| hit.score = score(index));
    let before = servers.len();
    virtual_servers.iter_mut().enumerate().for_each(|(index, hit)| hit.score = score(before + index));

    let mut ranked = Ranked::default();
    if query.kinds.tools {
        ranked.tools = owners.into_iter().flat_map(|owner| fitting_tools(owner, plan, &rarity)).collect();
        ranked.total_tools = best(&mut ranked.tools, query.max_results, tool_name);
    }
    if query.kinds.servers {
        ranked.total_servers = best(&mut servers, query.max_results, |one| &one.server.path);
        let with_tools = |hit: Hit<&'a ServerEntry>| {
            let mut tools = fitting_tools(hit.entry, plan, &rarity);
            best(&mut tools, MAX_MATCHING_TOOLS, tool_name);
            (hit, tools)
        };
        ranked.servers = servers.into_iter().map(with_tools).collect();
    }
    if query.kinds.virtual_servers {
        ranked.total_virtual_servers = best(&mut virtual_servers, query.max_results, |one| &one.source.slug);
        ranked.virtual_servers = virtual_servers;
    }
    ranked
}

/// Returns the tools of a server that fit by words of their own; all of them where only tags are asked for.
fn fitting_tools<'a>(owner: &'a ServerEntry, plan: &Plan, rarity: &Rarity) -> Vec<Hit<ToolOf<'a>>> {
    let (mut title, mut own) = (vec![Weight::default(); plan.words], vec![Weight::default(); plan.words]);
    plan.weigh(&owner.title, &mut title);
    let mut found = Vec::new();
    for tool in &owner.tools {
        let exactness = if plan.is_name(&tool.name) { 2 } else { 0 };
        if !plan.weigh(owner.words_of(tool), &mut own).fits && exactness == 0 && !plan.is_tags_only() {
            continue;
        }
        let own_score = rarity.score(&own);
        for (weight, title) in own.iter_mut().zip(&title) {
            // A word of the server's name tells its tools from others' of the same name.
            if weight.exact == 0.0 && title.exact > 0.0 {
                *weight = *title;
            }
        }
        let score = own_score + FROM_TITLE * (rarity.score(&own) - own_score);
        found.push(Hit { entry: ToolOf { owner, tool }, exactness, score });
    }
    found
}

fn tool_name<'a>(one: ToolOf<'a>) -> (&'a str, &'a str) {
    (one.owner.server.path.as_str(), &one.tool.name)
}
