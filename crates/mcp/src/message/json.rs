//! Finds the parts of a JSON text without building a tree: members of an object, elements of an array,
//! the text of a string, each as a range of the bytes it came from.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A range of bytes in a body or in an object cut from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// First byte after.
    pub end: u32,
}

impl Span {
    /// Returns the bytes this span covers; none where it reaches beyond `body`.
    pub fn of(self, body: &[u8]) -> &[u8] {
        body.get(self.range()).unwrap_or_default()
    }

    /// Converts to a range for slicing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Moves the span by the offset of the object it was found in, so that it fits the whole body.
    pub fn shifted(self, by: u32) -> Span {
        Span { start: self.start.saturating_add(by), end: self.end.saturating_add(by) }
    }

    /// Finds where `part`, a slice of `whole`, lies in it. `whole` is shorter than 4 GiB.
    pub(crate) fn locate(whole: &str, part: &str) -> Span {
        let start = (part.as_ptr() as usize - whole.as_ptr() as usize) as u32;
        Span { start, end: start + part.len() as u32 }
    }
}

/// Finds the raw value of a member of a JSON object.
///
/// `None` where the member is absent or stands there twice, or where `object` is not exactly one object.
/// Keys compare decoded: `"n\u0061me"` is `name`.
pub fn member(object: &[u8], key: &str) -> Option<Span> {
    let [span] = pick(object, [key])?;
    span
}

/// Finds the raw values of several members in one pass, in the order of `keys`.
///
/// A slot is `None` where the member is absent or stands there twice; the whole is `None` where `object`
/// is not exactly one object.
pub fn pick<const N: usize>(object: &[u8], keys: [&str; N]) -> Option<[Option<Span>; N]> {
    let text = as_text(object)?;
    let mut values = [None; N];
    let mut seen = [0_u32; N];
    walk_object(text, |key, value| {
        let key = plain(key);
        if let Some(index) = keys.iter().position(|wanted| key.as_deref() == Some(*wanted)) {
            seen[index] += 1;
            values[index] = (seen[index] == 1).then(|| Span::locate(text, value));
        }
    })?;
    Some(values)
}

/// Lists the members of a JSON object, keys with their quotes. `None` where it is not exactly one object.
pub fn members(object: &[u8]) -> Option<Vec<(Span, Span)>> {
    let text = as_text(object)?;
    let mut found = Vec::new();
    walk_object(text, |key, value| found.push((Span::locate(text, key), Span::locate(text, value))))?;
    Some(found)
}

/// Lists the elements of a JSON array. `None` where it is not exactly one array.
pub fn elements(array: &[u8]) -> Option<Vec<Span>> {
    let text = as_text(array)?;
    let mut found = Vec::new();
    walk_array(text, |value| found.push(Span::locate(text, value)))?;
    Some(found)
}

/// Decodes a JSON string; borrowed where it holds no escapes.
///
/// `None` where it is not a string, or holds half a surrogate pair and so stands for no text.
pub fn text(raw: &[u8]) -> Option<Cow<'_, str>> {
    if memchr::memchr(b'\\', raw).is_none() {
        return serde_json::from_slice(raw).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice(raw).ok().map(Cow::Owned)
}

/// Encodes text as a JSON string, with its quotes.
pub fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("text always has a JSON spelling")
}

/// Decodes a raw string that is known to be one, without a second look at its bytes where it holds no escapes.
/// `None` where its escapes make no text.
pub(crate) fn plain(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.get(1..raw.len().saturating_sub(1))?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(raw).ok().map(Cow::Owned)
}

/// Returns the first byte of `text` from `at` on that is not white space, with its place.
pub(crate) fn first_byte(text: &[u8], at: usize) -> Option<(usize, u8)> {
    let rest = text.get(at..)?;
    let skipped = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))?;
    Some((at + skipped, rest[skipped]))
}

/// Calls `each` with every raw key and value; `None` where `text` is not exactly one object.
fn walk_object<'a>(text: &'a str, each: impl FnMut(&'a str, &'a str)) -> Option<()> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_map(Members(each)).ok()?;
    deserializer.end().ok()
}

/// Calls `each` with every raw element; `None` where `text` is not exactly one array.
fn walk_array<'a>(text: &'a str, each: impl FnMut(&'a str)) -> Option<()> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_seq(Elements(each)).ok()?;
    deserializer.end().ok()
}

/// Spans are 32 bits wide, so longer texts are not looked into.
fn as_text(bytes: &[u8]) -> Option<&str> {
    u32::try_from(bytes.len()).ok()?;
    std::str::from_utf8(bytes).ok()
}

struct Members<F>(F);

impl<'de, F: FnMut(&'de str, &'de str)> Visitor<'de> for Members<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
            (self.0)(key.get(), value.get());
        }
        Ok(())
    }
}

struct Elements<F>(F);

impl<'de, F: FnMut(&'de str)> Visitor<'de> for Elements<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(value) = elements.next_element::<&'de RawValue>()? {
            (self.0)(value.get());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
