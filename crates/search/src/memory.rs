//! Which text has which vector: what was once computed is not computed again.

pub mod file;

use std::collections::HashMap;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};

use crate::vector::Vector;

/// Most vectors in memory, some 400 bytes each; texts beyond are found by their words.
pub const MAX_VECTORS: usize = 300_000;
/// Vectors of texts long gone that may be kept, besides as many as are in use: a switch back costs nothing.
const MAX_IDLE: usize = 10_000;

/// What tells a text from every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub(crate) [u8; 16]);

impl Digest {
    /// Returns that of a text: the first half of its SHA-256.
    pub(crate) fn of(text: &str) -> Self {
        let whole = digest(&SHA256, text.as_bytes());
        let mut half = [0; 16];
        half.copy_from_slice(&whole.as_ref()[..16]);
        Self(half)
    }
}

/// The vectors, all of one model.
#[derive(Default)]
pub(crate) struct Memory {
    known: HashMap<Digest, Arc<Vector>>,
    /// Texts that the model could do nothing with.
    hopeless: std::collections::HashSet<Digest>,
}

impl Memory {
    pub(crate) fn of(known: Vec<(Digest, Vector)>) -> Self {
        let known = known.into_iter().map(|(digest, vector)| (digest, Arc::new(vector)));
        Self { known: known.collect(), hopeless: Default::default() }
    }

    pub(crate) fn get(&self, digest: Digest) -> Option<Arc<Vector>> {
        self.known.get(&digest).cloned()
    }

    /// Says whether the model may be asked for the vector of a text.
    pub(crate) fn is_wanted(&self, digest: Digest) -> bool {
        self.known.len() < MAX_VECTORS
            && !self.known.contains_key(&digest)
            && !self.hopeless.contains(&digest)
    }

    pub(crate) fn learn(&mut self, digest: Digest, vector: Option<Vector>) {
        match vector {
            Some(vector) => {
                self.known.insert(digest, Arc::new(vector));
            }
            None => {
                self.hopeless.insert(digest);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn each(&self, mut take: impl FnMut(Digest, &Vector)) {
        self.known.iter().for_each(|(digest, vector)| take(*digest, vector));
    }

    /// Lets go of vectors that no entry holds, once these are many.
    pub(crate) fn forget(&mut self) {
        let idle = self.known.values().filter(|vector| Arc::strong_count(vector) == 1).count();
        let is_full = self.known.len() >= MAX_VECTORS && idle > 0;
        if is_full || idle > self.known.len() - idle + MAX_IDLE {
            self.known.retain(|_, vector| Arc::strong_count(vector) > 1);
            self.hopeless.clear();
        }
    }
}

#[cfg(test)]
mod tests;
