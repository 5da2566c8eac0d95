//! Finding things: an index over active versions of enabled servers, their tools, and enabled virtual servers.
//!
//! Ranks by keywords. Deliberately knows nothing of callers: who may find a server is asked of a closure while
//! servers are scanned, so that what is hidden is not even counted.
#![warn(missing_docs)]

mod document;
mod entry;
pub mod found;
mod plan;
pub mod query;
mod rank;
mod scan;
mod tell;
mod text;
mod vocabulary;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use catalog::Catalog;
use catalog::server::Server;

use entry::Entries;
use found::Found;
use plan::Plan;
use query::Query;
use vocabulary::Vocabulary;

/// Words that may be added before those of texts long gone are worth forgetting.
const MAX_NEW_WORDS: usize = if cfg!(test) { 1000 } else { 200_000 };

/// What can be found. Readers work on a snapshot that is swapped as a whole.
#[derive(Default)]
pub struct Index {
    current: RwLock<Arc<Snapshot>>,
    /// Held by the one who brings the index up to date.
    writing: Mutex<()>,
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
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
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
