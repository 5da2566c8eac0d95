//! Tools: those that fit by words of their own, and those that mean what is asked for.

use std::collections::HashSet;

use super::ToolOf;
use crate::entry::ServerEntry;
use crate::fusion::{self, LEAST_LIKENESS};
use crate::likeness::Likeness;
use crate::plan::{Plan, Weight};
use crate::rank::{Hit, Rarity, best};

/// What a word counts for a tool that only its server's path or name has.
const FROM_TITLE: f32 = 0.3;
/// Best tools by words whose meaning is looked at as well, at least; the rest is only counted.
const KEPT_BY_WORDS: usize = 200;

/// What tools are weighed by.
pub(super) struct Scan<'s> {
    pub(super) plan: &'s Plan,
    pub(super) rarity: &'s Rarity,
    pub(super) likeness: Option<&'s Likeness<'s>>,
}

/// A tool by the places of its server and its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Place {
    owner: u32,
    tool: u32,
}

impl Scan<'_> {
    /// Returns the best tools of all servers, each given with whether a tool of it may have a word of the query,
    /// and how many fit.
    pub(super) fn best<'a>(
        &self,
        servers: impl Iterator<Item = (&'a ServerEntry, bool)>,
        most: usize,
    ) -> (Vec<Hit<ToolOf<'a>>>, usize) {
        let (mut owners, mut hits) = (Vec::new(), Vec::new());
        for (owner, (entry, has_tools)) in (0..).zip(servers) {
            owners.push(entry);
            if has_tools || self.plan.is_tags_only() {
                self.by_words(entry, |tool, exactness, score| {
                    hits.push(Hit { entry: Place { owner, tool }, exactness, score });
                });
            }
        }
        let name = |place: Place| name(of(&owners, place));
        let Some(likeness) = self.likeness else {
            let total = best(&mut hits, most, name);
            return (hits.into_iter().map(|hit| hit.map(|place| of(&owners, place))).collect(), total);
        };
        let mut total = best(&mut hits, most.max(KEPT_BY_WORDS), name);
        let kept: HashSet<Place> = hits.iter().map(|hit| hit.entry).collect();
        for hit in &mut hits {
            let alike = likeness.tool(owners[hit.entry.owner as usize], hit.entry.tool as usize);
            hit.score = fusion::score(hit.score, alike);
        }
        for ((owner, tool), alike) in likeness.tools.iter().filter(|(_, alike)| **alike >= LEAST_LIKENESS) {
            let place = Place { owner: *owner, tool: *tool };
            if !kept.contains(&place) {
                let entry = owners[place.owner as usize];
                let mut words = self.words(entry, self.title(entry));
                let by_words = words(place.tool);
                total += usize::from(by_words.is_none());
                let (exactness, words) = by_words.unwrap_or_default();
                hits.push(Hit { entry: place, exactness, score: fusion::score(words, Some(*alike)) });
            }
        }
        best(&mut hits, most, name);
        (hits.into_iter().map(|hit| hit.map(|place| of(&owners, place))).collect(), total)
    }

    /// Returns the tools of one server that fit.
    pub(super) fn of_server<'a>(&self, owner: &'a ServerEntry) -> Vec<Hit<ToolOf<'a>>> {
        let mut words = self.words(owner, self.title(owner));
        let each = (0..).zip(&owner.tools).filter_map(|(place, tool)| {
            let by_words = words(place);
            let alike = self.likeness.and_then(|likeness| likeness.tool(owner, place as usize));
            if by_words.is_none() && alike.is_none_or(|alike| alike < LEAST_LIKENESS) {
                return None;
            }
            let (exactness, words) = by_words.unwrap_or_default();
            let score = if self.likeness.is_some() { fusion::score(words, alike) } else { words };
            Some(Hit { entry: ToolOf { owner, tool }, exactness, score })
        });
        each.collect()
    }

    /// Hands out the tools of a server that fit by words of their own, with exactness and score; all of them where
    /// only tags are asked for.
    fn by_words(&self, owner: &ServerEntry, mut take: impl FnMut(u32, u8, f32)) {
        let mut words = self.words(owner, self.title(owner));
        for place in 0..owner.tools.len() as u32 {
            if let Some((exactness, score)) = words(place) {
                take(place, exactness, score);
            }
        }
    }

    /// Weighs path and name of a server.
    fn title(&self, owner: &ServerEntry) -> Vec<Weight> {
        let mut title = vec![Weight::default(); self.plan.words];
        self.plan.weigh(&owner.title, &mut title);
        title
    }

    /// Returns what tells exactness and score of a tool of a server by its words, if it fits by these.
    fn words(&self, owner: &ServerEntry, title: Vec<Weight>) -> impl FnMut(u32) -> Option<(u8, f32)> {
        let mut own = vec![Weight::default(); self.plan.words];
        move |place| {
            let tool = &owner.tools[place as usize];
            let exactness = if self.plan.is_name(&tool.name) { 2 } else { 0 };
            let fits = self.plan.weigh(owner.words_of(tool), &mut own).fits;
            if !fits && exactness == 0 && !self.plan.is_tags_only() {
                return None;
            }
            let own_score = self.rarity.score(&own);
            for (weight, title) in own.iter_mut().zip(&title) {
                // A word of the server's name tells its tools from others' of the same name.
                if weight.exact == 0.0 && title.exact > 0.0 {
                    *weight = *title;
                }
            }
            Some((exactness, own_score + FROM_TITLE * (self.rarity.score(&own) - own_score)))
        }
    }
}

/// Returns what equals are ordered by.
pub(super) fn name<'a>(one: ToolOf<'a>) -> (&'a str, &'a str) {
    (one.owner.server.path.as_str(), &one.tool.name)
}

fn of<'a>(owners: &[&'a ServerEntry], place: Place) -> ToolOf<'a> {
    let owner = owners[place.owner as usize];
    ToolOf { owner, tool: &owner.tools[place.tool as usize] }
}
