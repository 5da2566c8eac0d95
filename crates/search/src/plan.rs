//! A query made ready for scanning: which terms mean which of its words, and how surely.

use std::collections::HashMap;

use crate::abbreviations;
use crate::document::Posting;
use crate::entry::Names;
use crate::query::Query;
use crate::text;
use crate::translations;
use crate::vocabulary::{Near, Term, Vocabulary};

/// Words of a query that count. Each costs a walk through the vocabulary, and nobody types more.
pub(crate) const MAX_WORDS: usize = 24;

/// How surely a term that merely is near a word means it.
const MISSPELT: f32 = 0.6;
/// The same for another name of the thing.
const ALIAS: f32 = 0.95;

/// What a term means in a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meaning {
    /// Which word.
    pub(crate) word: usize,
    /// How surely, up to 1.
    pub(crate) quality: f32,
    /// Whether it is the word itself, in whichever form.
    pub(crate) is_exact: bool,
}

/// How well one document has one word of the query.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weight {
    /// As it was written.
    pub(crate) exact: f32,
    /// As something near it.
    pub(crate) near: f32,
}

/// Whether a document has a word of the query.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fit {
    /// Anywhere.
    pub(crate) fits: bool,
    /// In the text of its tools.
    pub(crate) has_tools: bool,
}

/// A query that is ready.
pub(crate) struct Plan {
    /// Number of its words.
    pub(crate) words: usize,
    /// All of `tags` that an entry must have.
    tags: Vec<String>,
    exact: String,
    key: String,
    /// For each term, where its meanings begin in `meanings`, plus one; 0 for none.
    table: Vec<u32>,
    meanings: Vec<Vec<Meaning>>,
    /// A bit for each term that means anything; so small that the scan finds it in the nearest cache.
    known: Vec<u64>,
}

impl Plan {
    /// Looks up what a query's words may mean.
    pub(crate) fn make(query: &Query<'_>, vocabulary: &Vocabulary) -> Self {
        let is_tag = |word: &&str| word.len() > 1 && word.starts_with('#');
        let inline = query.text.split_whitespace().filter(is_tag);
        let tags = inline.chain(query.tags.iter().map(|tag| tag.trim())).filter(|tag| !tag.is_empty());
        let tags = tags.map(|tag| tag.trim_start_matches('#').to_lowercase()).collect();
        let rest: Vec<&str> = query.text.split_whitespace().filter(|word| !is_tag(word)).collect();
        let rest = rest.join(" ");
        let words = words(&rest, vocabulary);
        let mut plan = Self {
            words: words.len(),
            tags,
            exact: rest.to_lowercase(),
            key: text::key(&rest),
            table: vec![0; vocabulary.terms()],
            meanings: Vec::new(),
            known: vec![0; vocabulary.terms() / 64 + 1],
        };
        for (index, word) in words.iter().enumerate() {
            for (term, meaning) in meanings(index, word, vocabulary) {
                plan.add(term, meaning);
            }
            // "mongo db" is written "mongodb" as often; the pair stands for both of its words.
            if let Some(next) = words.get(index + 1)
                && let Some(term) = vocabulary.find(&format!("{word}{next}"))
            {
                plan.add(term, Meaning { word: index, quality: 1.0, is_exact: true });
                plan.add(term, Meaning { word: index + 1, quality: 1.0, is_exact: true });
            }
        }
        plan
    }

    /// Says whether there is nothing to look for but tags.
    pub(crate) fn is_tags_only(&self) -> bool {
        self.words == 0 && !self.tags.is_empty()
    }

    /// Says whether an entry has all tags that are asked for.
    pub(crate) fn has_tags(&self, names: &Names) -> bool {
        self.tags.iter().all(|tag| names.tags.contains(tag))
    }

    /// Says whether the query is a name: 2 letter by letter, 1 apart from punctuation, 0 not at all.
    pub(crate) fn exactness(&self, names: &Names) -> u8 {
        if self.exact.is_empty() {
            0
        } else if names.exact.contains(&self.exact) {
            2
        } else {
            u8::from(!self.key.is_empty() && names.keys.contains(&self.key))
        }
    }

    /// Says whether the query is this name, letter by letter.
    pub(crate) fn is_name(&self, name: &str) -> bool {
        !self.exact.is_empty() && name.eq_ignore_ascii_case(&self.exact)
    }

    /// Weighs a document into `weights`, one for each word. Says whether it has any of them.
    pub(crate) fn weigh(&self, document: &[Posting], weights: &mut [Weight]) -> Fit {
        weights.fill(Weight::default());
        let mut fit = Fit::default();
        for posting in document {
            let term = posting.term as usize;
            // Terms past the end came into the vocabulary after this query.
            if self.known.get(term / 64).is_none_or(|bits| bits >> (term % 64) & 1 == 0) {
                continue;
            }
            let at = self.table[term];
            fit.fits = true;
            fit.has_tools |= posting.is_of_tool;
            for meaning in &self.meanings[at as usize - 1] {
                let weight = &mut weights[meaning.word];
                let kept = if meaning.is_exact { &mut weight.exact } else { &mut weight.near };
                *kept = kept.max(posting.weight * meaning.quality);
            }
        }
        fit
    }

    /// Says whether a text holds a word that means one of the query's.
    pub(crate) fn is_in(&self, text: &str, vocabulary: &Vocabulary) -> bool {
        let mut is_in = false;
        text::words(text, |word| {
            let term = vocabulary.find(word).and_then(|term| self.table.get(term as usize));
            is_in |= term.is_some_and(|at| *at > 0);
        });
        is_in
    }

    fn add(&mut self, term: Term, meaning: Meaning) {
        self.known[term as usize / 64] |= 1 << (term % 64);
        let at = &mut self.table[term as usize];
        if *at == 0 {
            self.meanings.push(Vec::new());
            *at = self.meanings.len() as u32;
        }
        self.meanings[*at as usize - 1].push(meaning);
    }
}

/// Returns the words to look for, each once; stop words only where there are no others.
fn words(text: &str, vocabulary: &Vocabulary) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    text::split(text, |run| {
        let mut word = String::new();
        text::fold(run, &mut word);
        // A name in CamelCase that no text holds as one may be written in several words.
        match text::parts(run).filter(|_| vocabulary.find(&word).is_none()) {
            Some(parts) => all.extend(parts),
            None => all.push(word),
        }
    });
    // Of words that say nothing, and then of those that nearly everything here holds, something must remain.
    for says_little in [text::is_stop_word, text::is_common_in_names] {
        if all.iter().any(|word| !says_little(word)) {
            all.retain(|word| !says_little(word));
        }
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|word| seen.insert(text::stem(word)));
    all.truncate(MAX_WORDS);
    all
}

/// Returns a query's text for an embedder: without tags, and with what it may mean besides behind it.
pub(crate) fn reading(text: &str, vocabulary: &Vocabulary) -> String {
    let words = text.split_whitespace().filter(|word| word.len() < 2 || !word.starts_with('#'));
    let mut reading = words.collect::<Vec<_>>().join(" ");
    let mut more = Vec::new();
    text::split(&reading, |run| {
        let mut word = String::new();
        text::fold(run, &mut word);
        let mut stands_for = abbreviations::of(&word);
        if stands_for.is_empty() && vocabulary.find(&word).is_none() {
            stands_for = translations::of(&word);
        }
        more.extend(stands_for.iter().map(|long| (*long).to_owned()));
        if stands_for.is_empty() && vocabulary.find(&word).is_none() && more.len() < MAX_WORDS {
            more.extend(vocabulary.corrected(&word).map(str::to_owned));
        }
    });
    for word in more {
        reading.push(' ');
        reading.push_str(&word);
    }
    reading
}

/// Returns the terms that may mean one word.
fn meanings(index: usize, word: &str, vocabulary: &Vocabulary) -> Vec<(Term, Meaning)> {
    let exact = vocabulary.find(word);
    let mut near: HashMap<Term, f32> = HashMap::new();
    vocabulary.near(word, |term, how| {
        let quality = match how {
            Near::Longer(share) => share * share,
            Near::Misspelt => MISSPELT,
        };
        let kept = near.entry(term).or_default();
        *kept = kept.max(quality);
    });
    let mut found: Vec<(Term, Meaning)> = Vec::new();
    let mut stands_for = abbreviations::of(word);
    if stands_for.is_empty() && exact.is_none() {
        stands_for = translations::of(word);
    }
    for term in stands_for.iter().filter_map(|long| vocabulary.find(long)) {
        near.remove(&term);
        found.push((term, Meaning { word: index, quality: ALIAS, is_exact: true }));
    }
    if let Some(term) = exact {
        near.remove(&term);
        found.push((term, Meaning { word: index, quality: 1.0, is_exact: true }));
    }
    let near =
        near.into_iter().map(|(term, quality)| (term, Meaning { word: index, quality, is_exact: false }));
    found.extend(near);
    found
}
