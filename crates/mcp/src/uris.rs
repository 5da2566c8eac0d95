//! URIs in an answer, found on its way past: by the bytes of their key, without reading the JSON around them.

use crate::message::text;

/// Longest URI that is looked at, in bytes as it stands in the JSON. Longer ones carry data rather than name something.
pub const MAX_URI_BYTES: usize = 2048;

/// A member that names a resource: in a link or an embedded resource, at any depth. Inside a string the quotes would be
/// escaped, so these bytes are a string of their own.
const KEY: &[u8] = br#""uri""#;

/// Most blanks before and behind the colon; those who indent write one.
const MAX_BLANKS: usize = 24;

/// Finds the values of members `"uri"` in JSON, or in events with JSON in them, that comes in pieces.
///
/// It finds members at any depth and does not check the JSON.
#[derive(Debug, Default)]
pub struct Scan {
    /// The end of what came, where a member may have begun in it: no longer than the longest member that is looked at.
    kept: Vec<u8>,
}

impl Scan {
    /// Looks through the next piece.
    pub fn piece(&mut self, piece: &[u8], mut found: impl FnMut(&str)) {
        if self.kept.is_empty() {
            let rest = look(piece, &mut found);
            self.kept.extend_from_slice(&piece[rest..]);
            return;
        }
        let mut joined = std::mem::take(&mut self.kept);
        joined.extend_from_slice(piece);
        let rest = look(&joined, &mut found);
        joined.drain(..rest);
        self.kept = joined;
    }
}

/// Looks through bytes and returns where the part begins that must be seen together with what follows.
fn look(bytes: &[u8], found: &mut impl FnMut(&str)) -> usize {
    let mut at = 0;
    while let Some(next) = memchr::memmem::find(&bytes[at..], KEY) {
        let begin = at + next;
        let after = begin + KEY.len();
        match value(&bytes[after..]) {
            Value::Uri(raw) => {
                if let Some(uri) = text(raw) {
                    found(&uri);
                }
                at = after + raw.len();
            }
            Value::Other => at = after,
            Value::Unfinished => return begin,
        }
    }
    // The key itself may be cut in two.
    let end = &bytes[at.max(bytes.len().saturating_sub(KEY.len() - 1))..];
    let begun = (0..end.len()).find(|&from| KEY.starts_with(&end[from..])).unwrap_or(end.len());
    bytes.len() - end.len() + begun
}

enum Value<'a> {
    /// A string with its quotes.
    Uri(&'a [u8]),
    Other,
    Unfinished,
}

/// Reads what stands behind the key.
fn value(bytes: &[u8]) -> Value<'_> {
    let blank =
        |bytes: &[u8]| bytes.iter().take(MAX_BLANKS).take_while(|byte| byte.is_ascii_whitespace()).count();
    let colon = blank(bytes);
    match bytes.get(colon) {
        None => return Value::Unfinished,
        Some(b':') => {}
        Some(_) => return Value::Other,
    }
    let begin = colon + 1 + blank(&bytes[colon + 1..]);
    match bytes.get(begin) {
        None => return Value::Unfinished,
        Some(b'"') => {}
        Some(_) => return Value::Other,
    }
    let mut at = begin + 1;
    while let Some(next) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += next;
        if at - begin > MAX_URI_BYTES {
            return Value::Other;
        }
        if bytes[at] == b'"' {
            return Value::Uri(&bytes[begin..=at]);
        }
        at += 2;
    }
    if bytes.len() - begin > MAX_URI_BYTES { Value::Other } else { Value::Unfinished }
}

#[cfg(test)]
mod tests;
