//! Words and meaning in one score.

use crate::vector::Vector;

/// What words count beside the meaning: they tell near-duplicates apart, and the meaning finds what they miss.
const WORDS: f32 = 0.4;
/// What the meaning of an entry is taken for while its vector is not there, as a share of what its words say.
const UNKNOWN: f32 = 0.7;
/// The sum that counts as a full score; words and meaning hardly ever are both at their best.
const FULL: f32 = 1.1;
/// Least likeness that finds something by its meaning alone. Any two texts have as much in common by chance.
pub(crate) const LEAST_LIKENESS: f32 = 0.12;

/// Best hits that a query is drawn towards: what they have in common, others like them have too.
const DRAWN_BY: usize = 3;
/// How far it is drawn, as a share of its own length.
const DRAWN: f32 = 0.5;

/// Returns the score of an entry by its words, and by its meaning where that is known.
pub(crate) fn score(words: f32, likeness: Option<f32>) -> f32 {
    let likeness = likeness.map_or(words * UNKNOWN, |likeness| likeness.max(0.0));
    ((likeness + WORDS * words) / FULL).min(1.0)
}

/// Returns a query drawn towards the best of what it found first, given with their scores and likenesses.
pub(crate) fn drawn(query: &Vector, found: &[(f32, f32, &Vector)]) -> Vector {
    let mut best: Vec<_> = found.iter().filter(|(_, likeness, _)| *likeness > 0.0).collect();
    if best.len() > DRAWN_BY {
        best.select_nth_unstable_by(DRAWN_BY, |one, other| other.0.total_cmp(&one.0));
        best.truncate(DRAWN_BY);
    }
    let best: Vec<_> = best.into_iter().map(|(_, likeness, vector)| (*likeness, *vector)).collect();
    query.towards(&best, DRAWN)
}

#[cfg(test)]
mod tests;
