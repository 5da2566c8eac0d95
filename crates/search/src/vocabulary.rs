//! All words that texts hold, each with the number of its stem, and which words are near another.

use std::collections::HashMap;

use crate::text;

/// Number of a stem.
pub(crate) type Term = u32;

/// Shortest word whose misspellings are guessed; shorter ones are near too many others.
const MIN_FUZZY_CHARS: usize = 5;
/// Shortest beginning of a word that finds the whole; ideographs say more.
const MIN_PREFIX_CHARS: usize = 3;

/// How a word of the vocabulary is near another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Near {
    /// It begins with it; the share of its letters that were given.
    Longer(f32),
    /// One letter is wrong, missing, too many, or two are swapped.
    Misspelt,
}

/// The words.
#[derive(Default)]
pub(crate) struct Vocabulary {
    words: HashMap<Box<str>, Term>,
    stems: HashMap<Box<str>, Term>,
    /// All words one behind the other, for the walk through all of them.
    row: String,
    places: Vec<Place>,
}

/// A word in the row.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    term: Term,
}

impl Vocabulary {
    /// Returns the number of words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the number of stems; all terms are below it.
    pub(crate) fn terms(&self) -> usize {
        self.stems.len()
    }

    /// Returns the term of a word and makes one where there is none.
    pub(crate) fn add(&mut self, word: &str) -> Term {
        if let Some(term) = self.words.get(word) {
            return *term;
        }
        let next = Term::try_from(self.stems.len()).expect("fewer words than memory for them");
        let term = *self.stems.entry(text::stem(word).into()).or_insert(next);
        self.words.insert(word.into(), term);
        let start = self.row.len();
        self.row.push_str(word);
        self.places.push(Place { start, end: self.row.len(), term });
        term
    }

    /// Returns the term of a word, or of another form of it.
    pub(crate) fn find(&self, word: &str) -> Option<Term> {
        self.words.get(word).or_else(|| self.stems.get(&*text::stem(word))).copied()
    }

    /// Returns the known word that a misspelt one is likely meant to be.
    pub(crate) fn corrected(&self, word: &str) -> Option<&str> {
        if word.chars().count() < MIN_FUZZY_CHARS {
            return None;
        }
        self.places
            .iter()
            .map(|place| &self.row[place.start..place.end])
            .find(|known| is_one_off(word, known))
    }

    /// Hands out terms of words that are near this one.
    pub(crate) fn near(&self, word: &str, mut take: impl FnMut(Term, Near)) {
        let length = word.chars().count();
        let has_prefix = length >= MIN_PREFIX_CHARS || word.chars().all(text::is_ideograph);
        let is_fuzzy = length >= MIN_FUZZY_CHARS;
        if !has_prefix && !is_fuzzy {
            return;
        }
        for Place { start, end, term } in self.places.iter().copied() {
            let known = &self.row[start..end];
            if has_prefix && known.len() > word.len() && known.starts_with(word) {
                take(term, Near::Longer(length as f32 / known.chars().count() as f32));
            } else if is_fuzzy && is_one_off(word, known) {
                take(term, Near::Misspelt);
            }
        }
    }
}

/// Says whether one edit makes one word the other: a letter changed, left out, put in, or two swapped.
fn is_one_off(one: &str, other: &str) -> bool {
    // One character is at most four bytes.
    if one.len().abs_diff(other.len()) > 4 {
        return false;
    }
    let (mut one, mut other) = (one.chars(), other.chars());
    loop {
        let rests = (one.as_str(), other.as_str());
        let (a, b) = (one.next(), other.next());
        if a == b {
            if a.is_none() {
                return false;
            }
            continue;
        }
        if one.as_str() == other.as_str() || one.as_str() == rests.1 || rests.0 == other.as_str() {
            return true;
        }
        return one.next() == b && other.next() == a && one.as_str() == other.as_str();
    }
}

#[cfg(test)]
mod tests;
