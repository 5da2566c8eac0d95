//! Scores: what each word of a query counts, and which hits are the best.

use std::cmp::Ordering;

use crate::plan::Weight;

/// Least that a word counts where it stands as written; most where only something near it does, if the word
/// itself is known elsewhere.
const EXACT_FLOOR: f32 = 0.1;
/// What a word near the one that was written counts where the latter is nowhere.
const NEAR_ALONE: f32 = 0.9;

/// Something that fits, with what its place depends on.
pub(crate) struct Hit<T> {
    pub(crate) entry: T,
    /// 2 and 1 for names, 0 for the rest.
    pub(crate) exactness: u8,
    /// 0 to 1.
    pub(crate) score: f32,
}

impl<T> Hit<T> {
    /// Returns the same hit of another way to name the thing.
    pub(crate) fn map<U>(self, name: impl FnOnce(T) -> U) -> Hit<U> {
        Hit { entry: name(self.entry), exactness: self.exactness, score: self.score }
    }
}

/// How rare each word of a query is, and whether it is anywhere as written.
pub(crate) struct Rarity {
    words: Vec<(f32, bool)>,
    sum: f32,
}

impl Rarity {
    /// Counts in the weights of all hits among `admitted` entries, one weight a word and hit.
    pub(crate) fn of(weights: &[Weight], words: usize, admitted: usize) -> Self {
        let mut counts = vec![(0_usize, 0_usize); words];
        for (at, weight) in weights.iter().enumerate() {
            let (exact, near) = &mut counts[at % words];
            *exact += usize::from(weight.exact > 0.0);
            *near += usize::from(weight.near > 0.0);
        }
        let rarity = |(exact, near): (usize, usize)| {
            let count = if exact > 0 { exact } else { near } as f32;
            ((1.0 + (admitted as f32 - count + 0.5).max(0.0) / (count + 0.5)).ln(), exact > 0)
        };
        let words: Vec<_> = counts.into_iter().map(rarity).collect();
        let sum = words.iter().map(|(rarity, _)| rarity).sum();
        Self { words, sum }
    }

    /// Returns the share, 0 to 1, of what the best conceivable document has; 1 where no words are asked for.
    pub(crate) fn score(&self, weights: &[Weight]) -> f32 {
        if self.words.is_empty() {
            return 1.0;
        }
        let each = self.words.iter().zip(weights);
        let sum: f32 = each.map(|((rarity, is_known), weight)| rarity * value(*weight, *is_known)).sum();
        sum / self.sum.max(f32::MIN_POSITIVE)
    }
}

fn value(weight: Weight, is_known: bool) -> f32 {
    if weight.exact > 0.0 {
        EXACT_FLOOR + (1.0 - EXACT_FLOOR) * weight.exact
    } else if is_known {
        EXACT_FLOOR * weight.near
    } else {
        NEAR_ALONE * weight.near
    }
}

/// Keeps the best hits, best first; equals go by name. Returns how many there were.
pub(crate) fn best<T: Copy, N: Ord>(hits: &mut Vec<Hit<T>>, most: usize, name: impl Fn(T) -> N) -> usize {
    let total = hits.len();
    let order = |one: &Hit<T>, other: &Hit<T>| -> Ordering {
        let by_rank = other.exactness.cmp(&one.exactness).then(other.score.total_cmp(&one.score));
        by_rank.then_with(|| name(one.entry).cmp(&name(other.entry)))
    };
    if total > most {
        hits.select_nth_unstable_by(most, order);
        hits.truncate(most);
    }
    hits.sort_unstable_by(order);
    total
}
