//! What entries mean: the text a vector is made of, and the vector once it is there.

use std::sync::{Arc, OnceLock};

use catalog::server::Server;
use catalog::virtual_server::VirtualServer;

use crate::glossary;
use crate::memory::{Digest, Memory};
use crate::text;
use crate::vector::Vector;

/// Longest text that a vector is made of, in characters; models read no further.
const MAX_CHARS: usize = 800;

/// A text and its vector. The vector comes later than the entry, once for all.
pub(crate) struct Meaning {
    pub(crate) digest: Digest,
    vector: OnceLock<Arc<Vector>>,
}

impl Meaning {
    pub(crate) fn of(text: &str) -> Self {
        Self { digest: Digest::of(text), vector: OnceLock::new() }
    }

    /// Returns the vector, if it is there.
    pub(crate) fn vector(&self) -> Option<&Vector> {
        self.vector.get().map(|vector| &**vector)
    }

    /// Takes the vector if it is known by now.
    pub(crate) fn settle(&self, memory: &Memory) {
        if self.vector.get().is_none()
            && let Some(vector) = memory.get(self.digest)
        {
            // Only one thread settles, and what is there already is the same.
            let _ = self.vector.set(vector);
        }
    }
}

/// What all tools of a server mean, one behind the other: what is read together lies together.
pub(crate) struct Meanings {
    pub(crate) digests: Box<[Digest]>,
    rows: OnceLock<Rows>,
}

/// The vectors of all tools of a server.
pub(crate) struct Rows {
    /// Those of texts that have one.
    pub(crate) vectors: Box<[Option<Arc<Vector>>]>,
    /// The signs of each, as many words for each tool; zeros where there is no vector.
    signs: Box<[u64]>,
    words: usize,
}

impl Meanings {
    pub(crate) fn of(digests: Box<[Digest]>) -> Self {
        Self { digests, rows: OnceLock::new() }
    }

    /// Returns the vectors, once all are there.
    pub(crate) fn rows(&self) -> Option<&Rows> {
        self.rows.get()
    }

    /// Takes the vectors if all are known by now.
    pub(crate) fn settle(&self, memory: &Memory) {
        if self.rows.get().is_some() || self.digests.iter().any(|digest| memory.is_wanted(*digest)) {
            return;
        }
        let vectors: Box<[_]> = self.digests.iter().map(|digest| memory.get(*digest)).collect();
        let numbers = vectors.iter().flatten().map(|vector| vector.numbers.len()).max().unwrap_or_default();
        let words = numbers.div_ceil(64);
        let mut signs = Vec::with_capacity(words * vectors.len());
        for (place, vector) in vectors.iter().enumerate() {
            if let Some(vector) = vector {
                vector.signs(&mut signs);
            }
            signs.resize((place + 1) * words, 0);
        }
        // As above.
        let _ = self.rows.set(Rows { vectors, signs: signs.into(), words });
    }
}

impl Rows {
    /// Says whether vectors have so many words of signs; those of another model have not.
    pub(crate) fn has_width(&self, words: usize) -> bool {
        self.words == words
    }

    /// Hands out, tool by tool, how many signs differ from those of a query.
    pub(crate) fn differences(&self, query: &[u64], mut take: impl FnMut(u16)) {
        if !self.has_width(query.len()) {
            return;
        }
        for row in self.signs.chunks_exact(self.words.max(1)) {
            let each = row.iter().zip(query);
            take(each.map(|(one, other)| (one ^ other).count_ones()).sum::<u32>() as u16);
        }
    }

    /// Returns how near a tool's meaning is to a query's.
    pub(crate) fn likeness(&self, place: usize, query: &Vector) -> f32 {
        self.vectors[place].as_ref().map_or(0.0, |vector| vector.likeness(query))
    }
}

/// Returns the text of a server.
pub(crate) fn of_server(server: &Server) -> String {
    let mut text = told(&server.name, &server.active().description, &server.tags);
    for (name, purpose) in explained(server) {
        text.push_str(&format!(". {name}: {purpose}"));
    }
    text
}

/// Returns the products that a server's name and path tell of, with what they are for.
pub(crate) fn explained(server: &Server) -> Vec<(&'static str, &'static str)> {
    let mut words = Vec::new();
    for text in [&*server.name, server.path.as_str()] {
        text::words(text, |word| words.push(word.to_owned()));
    }
    glossary::explain(words.iter().map(String::as_str))
}

/// Returns the text of a virtual server.
pub(crate) fn of_virtual_server(source: &VirtualServer) -> String {
    told(&source.name, &source.description, &source.tags)
}

/// Returns the text of a tool.
pub(crate) fn of_tool(name: &str, description: &str) -> String {
    told(&name.replace(['_', '-', '.'], " "), description, &[])
}

fn told(name: &str, description: &str, tags: &[String]) -> String {
    let mut text = name.to_owned();
    if !description.is_empty() {
        text.push_str(": ");
        text.push_str(description);
    }
    if !tags.is_empty() {
        text.push_str(". ");
        text.push_str(&tags.join(", "));
    }
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
        text.truncate(end);
    }
    text
}
