//! Text to the numbers that a model of the BERT kind knows its pieces of words by.

use std::collections::HashMap;
use std::path::Path;

use rten_text::models::{Model as _, WordPiece, WordPieceOptions};
use rten_text::normalizers::{Bert as Folding, BertOptions, Normalizer as _};
use rten_text::pre_tokenizers::{Bert as Splitting, PreTokenizer as _};
use serde::Deserialize;

use crate::Error;

/// Pieces of a text that count, marks at both ends included: some eighty words. The time for a text grows with
/// them, and what a longer description says, its beginning said.
const MAX_PIECES: usize = 128;

/// Names of the files that hold the pieces, the first that exists is taken.
pub(crate) const FILES: [&str; 2] = ["tokenizer.json", "vocab.txt"];

/// Splits texts.
pub(crate) struct Words {
    folding: Folding,
    splitting: Splitting,
    pieces: WordPiece,
    first: u32,
    last: u32,
}

/// The part of `tokenizer.json` that matters here. Its padding is left out on purpose: it would cost as much time
/// as words do.
#[derive(Deserialize)]
struct Described {
    model: Pieces,
    normalizer: Option<Folded>,
}

#[derive(Deserialize)]
struct Pieces {
    #[serde(rename = "type")]
    kind: Option<String>,
    vocab: HashMap<String, u32>,
}

#[derive(Deserialize)]
struct Folded {
    lowercase: Option<bool>,
    strip_accents: Option<bool>,
}

impl Words {
    /// Reads `tokenizer.json`, or `vocab.txt`: the pieces of an uncased model, one a line.
    pub(crate) fn read(file: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let is_vocabulary = file.extension().is_some_and(|extension| extension == "txt");
        let words = if is_vocabulary { of_vocabulary(bytes) } else { of_description(bytes) };
        words.map_err(|reason| Error::Unfit { file: file.to_path_buf(), reason })
    }

    fn of(vocabulary: HashMap<String, u32>, folding: BertOptions) -> Result<Self, String> {
        let mark = |name: &str| vocabulary.get(name).copied().ok_or_else(|| format!("it has no {name}"));
        let (first, last, _) = (mark("[CLS]")?, mark("[SEP]")?, mark("[UNK]")?);
        let pieces = WordPiece::from_vocab(vocabulary, WordPieceOptions::default());
        Ok(Self { folding: Folding::new(folding), splitting: Splitting::new(), pieces, first, last })
    }

    /// Returns the numbers of a text's pieces, between the marks of its ends.
    pub(crate) fn split(&self, text: &str) -> Result<Vec<i32>, String> {
        // Of scripts without blanks, each character is a word.
        let mut apart = String::with_capacity(text.len() + 2);
        for c in text.chars() {
            if matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}') {
                apart.extend([' ', c, ' ']);
            } else {
                apart.push(if c.is_control() { ' ' } else { c });
            }
        }
        let (folded, _) = self.folding.normalize(&apart).map_err(|error| error.to_string())?;
        let mut numbers = vec![self.first];
        for word in self.splitting.pre_tokenize(&folded).map_err(|error| error.to_string())? {
            let add = &mut |_, number| numbers.push(number);
            self.pieces.encode_with_offsets(word, add).map_err(|error| error.to_string())?;
            if numbers.len() >= MAX_PIECES {
                break;
            }
        }
        numbers.truncate(MAX_PIECES - 1);
        numbers.push(self.last);
        numbers.into_iter().map(|number| i32::try_from(number).map_err(|error| error.to_string())).collect()
    }
}

fn of_vocabulary(bytes: &[u8]) -> Result<Words, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let pieces = (0..).zip(text.lines()).map(|(number, piece)| (piece.to_owned(), number)).collect();
    Words::of(pieces, BertOptions { lowercase: true, strip_accents: true })
}

fn of_description(bytes: &[u8]) -> Result<Words, String> {
    let described: Described = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let kind = described.model.kind.as_deref();
    if kind.is_some_and(|kind| kind != "WordPiece") {
        return Err(format!("it splits words by {}; only WordPiece is known here", kind.unwrap_or_default()));
    }
    let folded = described.normalizer.unwrap_or(Folded { lowercase: None, strip_accents: None });
    let lowercase = folded.lowercase.unwrap_or(false);
    let strip_accents = folded.strip_accents.unwrap_or(lowercase);
    Words::of(described.model.vocab, BertOptions { lowercase, strip_accents })
}

#[cfg(test)]
mod tests;
