//! Where something lies in a body.

use std::ops::Range;

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
}
