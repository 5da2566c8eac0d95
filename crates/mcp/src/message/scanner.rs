//! Walks once over a JSON text, checks every byte of it by RFC 8259, and says where its parts lie.
//!
//! This is the one reader of JSON in this crate. It builds nothing, and needs one bit for each level of nesting.

mod nesting;
mod numbers;
mod strings;

use std::borrow::Cow;

use super::span::Span;
use nesting::Nesting;

/// A place in a JSON text. Everything before it is checked, and spans are counted from the text's beginning.
pub(super) struct Scanner<'a> {
    /// UTF-8, and shorter than 4 GiB.
    text: &'a [u8],
    at: usize,
    /// Objects and arrays that the caller walks through at present.
    depth: usize,
    /// The deepest nesting met.
    deepest: usize,
}

/// The text is not JSON, or not of the shape that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// A string: a member's name, or a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quoted<'a> {
    /// Where it lies, with its quotes.
    pub(super) span: Span,
    /// What stands between them.
    inside: &'a [u8],
    has_escapes: bool,
}

impl<'a> Quoted<'a> {
    /// Returns what it says, in UTF-8; `None` where its escapes make no text.
    #[inline(always)]
    pub(super) fn said(&self) -> Option<Cow<'a, [u8]>> {
        if self.has_escapes { decoded(self.inside).map(Cow::Owned) } else { Some(Cow::Borrowed(self.inside)) }
    }
}

impl<'a> Scanner<'a> {
    /// Stands before a text; `None` where it is not UTF-8, or so long that its offsets do not fit a span.
    pub(super) fn new(text: &'a [u8]) -> Option<Self> {
        // Most texts are ASCII, which is told sooner.
        let is_text = text.is_ascii() || std::str::from_utf8(text).is_ok();
        let fits = is_text && u32::try_from(text.len()).is_ok();
        fits.then_some(Self { text, at: 0, depth: 0, deepest: 0 })
    }

    /// Does the same where the text is known to be UTF-8.
    pub(super) fn over(text: &'a str) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        Some(Self { text: text.as_bytes(), at: 0, depth: 0, deepest: 0 })
    }

    /// Returns the deepest nesting of what was read.
    pub(super) fn deepest(&self) -> usize {
        self.deepest
    }

    /// Skips white space and returns the next byte without taking it. Fails only at the end of the text.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> Result<u8, Broken> {
        match self.text.get(self.at) {
            Some(byte) if *byte > b' ' => Ok(*byte),
            _ => self.peek_past_space(),
        }
    }

    /// Takes the object that follows. `each` gets every member's name and reads its value.
    #[inline(always)]
    pub(super) fn object(
        &mut self,
        mut each: impl FnMut(&mut Self, Quoted<'a>) -> Result<(), Broken>,
    ) -> Result<Span, Broken> {
        let start = self.enter(b'{')?;
        let mut is_open = self.peek()? != b'}';
        while is_open {
            let key = self.key()?;
            each(self, key)?;
            is_open = self.goes_on(b'}')?;
        }
        Ok(self.leave(start))
    }

    /// Takes the array that follows. `each` reads an element.
    #[inline]
    pub(super) fn array(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), Broken>,
    ) -> Result<Span, Broken> {
        let start = self.enter(b'[')?;
        let mut is_open = self.peek()? != b']';
        while is_open {
            each(self)?;
            is_open = self.goes_on(b']')?;
        }
        Ok(self.leave(start))
    }

    /// Takes any value.
    #[inline(always)]
    pub(super) fn value(&mut self) -> Result<Span, Broken> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'{' | b'[' => self.nested()?,
            _ => self.scalar(first)?,
        }
        Ok(self.since(start))
    }

    /// Takes white space up to the end of the text.
    pub(super) fn end(&mut self) -> Result<(), Broken> {
        if self.peek().is_err() { Ok(()) } else { Err(Broken) }
    }

    /// Takes the string that follows.
    #[inline(always)]
    pub(super) fn quoted(&mut self) -> Result<Quoted<'a>, Broken> {
        if self.peek()? == b'"' { self.string() } else { Err(Broken) }
    }

    #[inline(never)]
    fn peek_past_space(&mut self) -> Result<u8, Broken> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += rest.iter().position(|byte| !is_space(byte)).ok_or(Broken)?;
        Ok(self.text[self.at])
    }

    #[inline(always)]
    fn enter(&mut self, opening: u8) -> Result<usize, Broken> {
        if self.peek()? != opening {
            return Err(Broken);
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.at += 1;
        Ok(self.at - 1)
    }

    /// Takes a comma, or stops before the closing bracket and says no.
    #[inline(always)]
    fn goes_on(&mut self, closing: u8) -> Result<bool, Broken> {
        match self.peek()? {
            b',' => {
                self.at += 1;
                Ok(true)
            }
            byte if byte == closing => Ok(false),
            _ => Err(Broken),
        }
    }

    /// Takes the closing bracket that was seen.
    #[inline(always)]
    fn leave(&mut self, start: usize) -> Span {
        self.depth -= 1;
        self.at += 1;
        self.since(start)
    }

    /// Takes a name and its colon.
    #[inline(always)]
    fn key(&mut self) -> Result<Quoted<'a>, Broken> {
        let key = self.quoted()?;
        if self.peek()? != b':' {
            return Err(Broken);
        }
        self.at += 1;
        Ok(key)
    }

    /// Takes an object or an array with all that is in it.
    #[inline(never)]
    fn nested(&mut self) -> Result<(), Broken> {
        let mut open = Nesting::default();
        'values: loop {
            if open.top() == Some(true) {
                self.key()?;
            }
            let first = self.peek()?;
            if matches!(first, b'{' | b'[') {
                self.at += 1;
                open.push(first == b'{');
                self.deepest = self.deepest.max(self.depth + open.depth());
                if self.peek()? != closing(first == b'{') {
                    continue;
                }
            } else {
                self.scalar(first)?;
            }
            while let Some(is_object) = open.top() {
                if self.goes_on(closing(is_object))? {
                    continue 'values;
                }
                self.at += 1;
                open.pop();
            }
            return Ok(());
        }
    }

    /// Takes a string, a number or a word that begins with `first`.
    #[inline(always)]
    fn scalar(&mut self, first: u8) -> Result<(), Broken> {
        match first {
            b'"' => self.string().map(drop),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => Err(Broken),
        }
    }

    /// Takes the string whose quote was seen.
    #[inline(always)]
    fn string(&mut self) -> Result<Quoted<'a>, Broken> {
        let start = self.at;
        let rest = self.text.get(start + 1..).ok_or(Broken)?;
        let (length, has_escapes) = strings::length(rest).ok_or(Broken)?;
        self.at = start + 1 + length;
        Ok(Quoted { span: self.since(start), inside: &rest[..length - 1], has_escapes })
    }

    #[inline]
    fn number(&mut self) -> Result<(), Broken> {
        self.at += numbers::length(&self.text[self.at..]).ok_or(Broken)?;
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), Broken> {
        let rest = &self.text[self.at..];
        self.at += word.len();
        if rest.starts_with(word.as_bytes()) { Ok(()) } else { Err(Broken) }
    }

    #[inline]
    fn since(&self, start: usize) -> Span {
        Span { start: start as u32, end: self.at as u32 }
    }
}

/// Decodes a string with escapes.
#[cold]
fn decoded(inside: &[u8]) -> Option<Vec<u8>> {
    let raw = [b"\"", inside, b"\""].concat();
    serde_json::from_slice(&raw).ok().map(String::into_bytes)
}

fn closing(is_object: bool) -> u8 {
    if is_object { b'}' } else { b']' }
}

#[cfg(test)]
mod tests;
