//! A body with a few ranges replaced and every other byte as it was.

use bytes::Bytes;

use crate::message::Span;

/// One replacement.
#[derive(Clone, Debug)]
pub struct Edit {
    /// What to replace; an empty span inserts.
    pub at: Span,
    /// What to put there.
    pub with: Bytes,
}

/// Makes a body with the edits applied, copied once into a buffer of its final size.
///
/// Sorts `edits` by position; inserts at one place keep their order and stand before a replacement that
/// begins there. Edits that overlap or reach beyond the body are a programming error: of two that overlap the
/// later one is left out.
pub fn splice(body: &Bytes, edits: &mut [Edit]) -> Bytes {
    if edits.is_empty() {
        return body.clone();
    }
    edits.sort_by_key(|edit| (edit.at.start, edit.at.end));
    let added: usize = edits.iter().map(|edit| edit.with.len()).sum();
    let removed: usize = edits.iter().map(|edit| edit.at.range().len()).sum();
    let mut out = Vec::with_capacity((body.len() + added).saturating_sub(removed));
    let mut done = 0;
    for edit in edits {
        let range = edit.at.range();
        let fits = range.start >= done && range.start <= range.end && range.end <= body.len();
        debug_assert!(fits, "edit {range:?} overlaps another or leaves the body");
        if fits {
            out.extend_from_slice(&body[done..range.start]);
            out.extend_from_slice(&edit.with);
            done = range.end;
        }
    }
    out.extend_from_slice(&body[done..]);
    out.into()
}

#[cfg(test)]
mod tests;
