//! Finding things: an index over active versions of enabled servers, their tools, and enabled virtual servers.
//!
//! Ranks by keywords, and by meaning where vectors are there. Deliberately knows nothing of callers: who may find a server is asked of a closure while
//! servers are scanned, so that what is hidden is not even counted.
#![warn(missing_docs)]

mod abbreviations;
mod document;
pub mod embed;
mod entry;
pub mod found;
mod fusion;
mod glossary;
mod likeness;
mod meaning;
pub mod memory;
mod plan;
pub mod query;
mod rank;
mod scan;
mod tell;
mod text;
mod translations;
pub mod vector;
mod vocabulary;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use catalog::Catalog;
use catalog::server::Server;

use entry::Entries;
use found::Found;
use memory::{Digest, Memory};
use plan::Plan;
use query::Query;
use vector::Vector;
use vocabulary::Vocabulary;

/// Words that may be added before those of texts long gone are worth forgetting.
const MAX_NEW_WORDS: usize = if cfg!(test) { 1000 } else { 200_000 };

/// What can be found. Readers work on a snapshot that is swapped as a whole.
#[derive(Default)]
pub struct Index {
    current: RwLock<Arc<Snapshot>>,
    /// Held by the one who brings the index up to date.
    writing: Mutex<()>,
    /// Vectors of texts. Held after `writing`.
    memory: RwLock<Memory>,
}

/// All that can be found at one revision. The vocabulary only grows, so it may be shared with later ones.
#[derive(Default)]
struct Snapshot {
    vocabulary: Arc<RwLock<Vocabulary>>,
    /// Number of words when the vocabulary was last made afresh.
    words_at_first: usize,
    entries: Entries,
}

impl Index {
    /// Brings the index in line with a catalog: puts what is new or changed, removes what has gone, was
    /// disabled or is no longer active. Only texts that changed are read again.
    pub fn follow(&self, catalog: &Catalog) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.snapshot();
        if old.entries.are_of(catalog) {
            return;
        }
        let words = old.vocabulary.read().unwrap_or_else(PoisonError::into_inner).len();
        let next = if words > old.words_at_first.saturating_mul(2) + MAX_NEW_WORDS {
            Snapshot::default().followed(catalog, true)
        } else {
            old.followed(catalog, old.entries.is_empty())
        };
        next.entries.settle(&self.memory.read().unwrap_or_else(PoisonError::into_inner));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }

    /// Begins with the vectors that a model is known to have made.
    pub fn remember(&self, known: Vec<(Digest, Vector)>) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        *memory = Memory::of(known);
        self.snapshot().entries.settle(&memory);
    }

    /// Returns texts whose vectors are wanted, at most so many; those of servers come before those of tools.
    pub fn wanted(&self, most: usize) -> Vec<(Digest, String)> {
        let snapshot = self.snapshot();
        let memory = self.memory.read().unwrap_or_else(PoisonError::into_inner);
        let (mut wanted, mut seen) = (Vec::new(), HashSet::new());
        snapshot.entries.wanted(&memory, |digest, text| {
            if seen.insert(digest) {
                wanted.push((digest, text));
            }
            wanted.len() < most
        });
        drop(memory);
        if wanted.is_empty() {
            self.memory.write().unwrap_or_else(PoisonError::into_inner).forget();
        }
        wanted
    }

    /// Takes vectors of texts; `None` for one that the model can do nothing with.
    pub fn learn(&self, learnt: Vec<(Digest, Option<Vector>)>) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        learnt.into_iter().for_each(|(digest, vector)| memory.learn(digest, vector));
        self.snapshot().entries.settle(&memory);
    }

    /// Returns the number of vectors that are known.
    pub fn count_known(&self) -> usize {
        self.memory.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Hands out all vectors that are known.
    pub fn known(&self, take: impl FnMut(Digest, &Vector)) {
        self.memory.read().unwrap_or_else(PoisonError::into_inner).each(take);
    }

    /// Returns the text of a query as an embedder should read it: without tags, and with what abbreviations and
    /// misspelt words stand for. Empty where only tags are asked for.
    pub fn reading(&self, text: &str) -> String {
        let snapshot = self.snapshot();
        let vocabulary = snapshot.vocabulary.read().unwrap_or_else(PoisonError::into_inner);
        plan::reading(text, &vocabulary)
    }

    /// Finds what fits a query, best first; of servers only those that `may_find` admits.
    pub fn query(&self, query: &Query<'_>, may_find: impl Fn(&Server) -> bool) -> Found {
        let snapshot = self.snapshot();
        let plan = {
            let vocabulary = snapshot.vocabulary.read().unwrap_or_else(PoisonError::into_inner);
            Plan::make(query, &vocabulary)
        };
        let ranked = scan::scan(&snapshot.entries, &plan, query, &may_find);
        let vocabulary = snapshot.vocabulary.read().unwrap_or_else(PoisonError::into_inner);
        ranked.tell(&plan, &vocabulary)
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Snapshot {
    fn followed(&self, catalog: &Catalog, is_first: bool) -> Self {
        let entries = self.entries.followed(catalog, &self.vocabulary);
        let words = self.vocabulary.read().unwrap_or_else(PoisonError::into_inner).len();
        let words_at_first = if is_first { words } else { self.words_at_first };
        Self { vocabulary: self.vocabulary.clone(), words_at_first, entries }
    }
}

#[cfg(test)]
mod tests;
