//! The scan: weighs every entry the caller may find, by words and by meaning, and ranks those that fit.

mod tools;

use catalog::server::Server;

use crate::entry::{Entries, ServerEntry, ToolEntry, VirtualEntry};
use crate::fusion::{self, LEAST_LIKENESS};
use crate::likeness::Likeness;
use crate::plan::{Plan, Weight};
use crate::query::Query;
use crate::rank::{Hit, Rarity, best};

/// Tools shown beside a server that was found.
const MAX_MATCHING_TOOLS: usize = 5;

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

/// An entry that was looked at.
struct Seen {
    exactness: u8,
    /// Which of the rows of weights is its own, where it has any word of the query.
    row: Option<usize>,
    /// Whether one of its tools may have a word of the query.
    has_tools: bool,
}

/// Finds what fits.
pub(crate) fn scan<'a>(
    entries: &'a Entries,
    plan: &Plan,
    query: &Query<'_>,
    may_find: &impl Fn(&Server) -> bool,
) -> Ranked<'a> {
    let (mut weights, mut one) = (Vec::new(), vec![Weight::default(); plan.words]);
    let mut rows = 0;
    let mut look = |document, exactness| {
        let fit = plan.weigh(document, &mut one);
        let row = fit.fits.then(|| {
            weights.extend_from_slice(&one);
            rows += 1;
            rows - 1
        });
        Seen { exactness, row, has_tools: fit.has_tools }
    };
    let servers = entries.servers.iter().map(|entry| &**entry);
    let servers: Vec<_> =
        servers.filter(|entry| may_find(&entry.server) && plan.has_tags(&entry.names)).collect();
    let seen: Vec<_> = servers.iter().map(|entry| look(&entry.whole, plan.exactness(&entry.names))).collect();
    let virtual_servers = entries.virtual_servers.iter().map(|entry| &**entry);
    let virtual_servers: Vec<_> = virtual_servers.filter(|entry| plan.has_tags(&entry.names)).collect();
    let virtual_seen: Vec<_> =
        virtual_servers.iter().map(|entry| look(&entry.document, plan.exactness(&entry.names))).collect();

    let rarity = Rarity::of(&weights, plan.words, servers.len() + virtual_servers.len());
    let by_words = |seen: &Seen| match seen.row {
        Some(row) => rarity.score(&weights[row * plan.words..(row + 1) * plan.words]),
        None if plan.is_tags_only() => 1.0,
        None => 0.0,
    };
    let likeness = query.meaning.map(|meaning| Likeness::of(meaning, &servers));
    let hit = |seen: &Seen, alike: Option<f32>| {
        let fits = seen.row.is_some() || seen.exactness > 0 || plan.is_tags_only();
        let words = by_words(seen);
        let score = if query.meaning.is_some() { fusion::score(words, alike) } else { words };
        (fits || alike.is_some_and(|alike| alike >= LEAST_LIKENESS)).then_some((seen.exactness, score))
    };

    let mut ranked = Ranked::default();
    if query.kinds.tools {
        let scan = tools::Scan { plan, rarity: &rarity, likeness: likeness.as_ref() };
        let seen = servers.iter().zip(&seen).map(|(entry, seen)| (*entry, seen.has_tools));
        (ranked.tools, ranked.total_tools) = scan.best(seen, query.max_results);
    }
    if query.kinds.servers {
        let alike = alike(&servers, &seen, likeness.as_ref(), query, by_words);
        let each = servers.iter().zip(&seen).zip(alike);
        let hits = each.filter_map(|((entry, seen), alike)| {
            hit(seen, alike).map(|(exactness, score)| Hit { entry: *entry, exactness, score })
        });
        let mut hits: Vec<_> = hits.collect();
        ranked.total_servers = best(&mut hits, query.max_results, |one| &one.server.path);
        let scan = tools::Scan { plan, rarity: &rarity, likeness: likeness.as_ref() };
        let with_tools = |hit: Hit<&'a ServerEntry>| {
            let mut tools = scan.of_server(hit.entry);
            best(&mut tools, MAX_MATCHING_TOOLS, tools::name);
            (hit, tools)
        };
        ranked.servers = hits.into_iter().map(with_tools).collect();
    }
    if query.kinds.virtual_servers {
        let each = virtual_servers.into_iter().zip(&virtual_seen);
        let hits = each.filter_map(|(entry, seen)| {
            let alike = likeness.as_ref().and_then(|likeness| likeness.virtual_server(entry));
            hit(seen, alike).map(|(exactness, score)| Hit { entry, exactness, score })
        });
        let mut hits: Vec<_> = hits.collect();
        ranked.total_virtual_servers = best(&mut hits, query.max_results, |one| &one.source.slug);
        ranked.virtual_servers = hits;
    }
    ranked
}

/// Returns the likenesses of servers to the query, drawn towards what it finds first.
fn alike(
    servers: &[&ServerEntry],
    seen: &[Seen],
    likeness: Option<&Likeness<'_>>,
    query: &Query<'_>,
    by_words: impl Fn(&Seen) -> f32,
) -> Vec<Option<f32>> {
    let (Some(likeness), Some(meaning)) = (likeness, query.meaning) else {
        return vec![None; servers.len()];
    };
    let all = |meaning| -> Vec<_> {
        let each = (0..).zip(servers);
        each.map(|(place, entry)| likeness.server(place, entry, meaning)).collect()
    };
    let first = all(meaning);
    let each = servers.iter().zip(seen).zip(&first);
    let found = each.filter_map(|((entry, seen), alike)| {
        // By what it says of itself: what a single tool means is no direction to go to.
        let own = entry.meaning.vector()?;
        Some((fusion::score(by_words(seen), *alike), own.likeness(meaning), own))
    });
    all(&fusion::drawn(meaning, &found.collect::<Vec<_>>()))
}
