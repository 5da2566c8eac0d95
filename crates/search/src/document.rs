//! The words of one thing that can be found, each with the weight it has there.
//!
//! The weights are those of BM25F: occurrences count by field and by the field's length, and saturate. Usual
//! lengths stand in for averages, so that a document stays as it is while others come and go.

use crate::text;
use crate::vocabulary::{Term, Vocabulary};

/// How fast further occurrences stop to matter.
const SATURATION: f32 = 2.0;
/// Words of one field that count; what a longer text says, it said before.
const MAX_FIELD_WORDS: usize = 4000;

/// A field: what a word in it weighs.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    weight: f32,
    is_of_tool: bool,
    /// Words of a usual text.
    usual_words: f32,
    /// How much a longer text makes each of its words count less, 0 to 1.
    by_length: f32,
}

/// The path of a server.
pub(crate) const PATH: Field = Field { weight: 5.0, is_of_tool: false, usual_words: 3.0, by_length: 0.5 };
/// A name.
pub(crate) const NAME: Field = Field { weight: 3.0, is_of_tool: false, usual_words: 3.0, by_length: 0.5 };
/// A description.
pub(crate) const DESCRIPTION: Field =
    Field { weight: 2.0, is_of_tool: false, usual_words: 12.0, by_length: 0.75 };
/// All tags.
pub(crate) const TAGS: Field = Field { weight: 1.5, is_of_tool: false, usual_words: 3.0, by_length: 0.5 };
/// What the product is for that a server is named after; it does not say so itself.
pub(crate) const PURPOSE: Field = Field { weight: 1.0, is_of_tool: false, usual_words: 3.0, by_length: 0.5 };
/// Names and descriptions of all tools of a server.
pub(crate) const TOOLS: Field = Field { weight: 1.0, is_of_tool: true, usual_words: 150.0, by_length: 0.5 };

/// A word of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    pub(crate) term: Term,
    /// Between 0 and 1.
    pub(crate) weight: f32,
    /// Whether a tool has it, so that a server's tools are worth a look.
    pub(crate) is_of_tool: bool,
}

/// A document in the making.
pub(crate) struct Builder<'a> {
    vocabulary: &'a mut Vocabulary,
    found: Vec<Posting>,
    field: Vec<Term>,
}

impl<'a> Builder<'a> {
    /// Begins an empty document.
    pub(crate) fn new(vocabulary: &'a mut Vocabulary) -> Self {
        Self { vocabulary, found: Vec::new(), field: Vec::new() }
    }

    /// Adds a field of one or more texts.
    pub(crate) fn field<'t>(mut self, field: Field, texts: impl IntoIterator<Item = &'t str>) -> Self {
        self.field.clear();
        let mut length = 0_u32;
        for text in texts {
            text::words(text, |word| {
                if self.field.len() < MAX_FIELD_WORDS {
                    self.field.push(self.vocabulary.add(word));
                    length += u32::from(!text::is_stop_word(word));
                }
            });
        }
        let longer = length as f32 / field.usual_words;
        let weight = field.weight / (1.0 - field.by_length + field.by_length * longer);
        self.found.extend(self.field.iter().map(|term| Posting {
            term: *term,
            weight,
            is_of_tool: field.is_of_tool,
        }));
        self
    }

    /// Adds up what was found: the words of the document, by term.
    pub(crate) fn build(mut self) -> Vec<Posting> {
        self.found.sort_unstable_by_key(|one| one.term);
        self.found.dedup_by(|next, kept| {
            let is_same = next.term == kept.term;
            if is_same {
                kept.weight += next.weight;
                kept.is_of_tool |= next.is_of_tool;
            }
            is_same
        });
        for one in &mut self.found {
            one.weight /= one.weight + SATURATION;
        }
        self.found.shrink_to_fit();
        self.found
    }
}
