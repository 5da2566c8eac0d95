//! The end of a number.

/// Returns the length of the number that `text` begins with; `None` where it begins with none.
///
/// Source: RFC 8259, section 6.
#[inline]
pub(super) fn length(text: &[u8]) -> Option<usize> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let whole = match text.get(sign)? {
        b'0' => sign + 1,
        _ => digits(text, sign)?,
    };
    match text.get(whole) {
        Some(b'.' | b'e' | b'E') => inexact_length(text, whole),
        _ => Some(whole),
    }
}

/// Goes on behind the whole part, which ends at `at`.
#[inline(never)]
fn inexact_length(text: &[u8], mut at: usize) -> Option<usize> {
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        at = digits(text, at + 1 + sign)?;
    }
    Some(at)
}

/// Returns the place after the digits that stand from `at` on; there must be one.
#[inline]
fn digits(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    (count > 0).then_some(at + count)
}
