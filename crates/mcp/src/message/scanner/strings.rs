//! The end of a string, found eight bytes at a time and, once it turns out long, thirty-two.

/// Returns the length of the string that begins before `rest`, up to and with the quote that ends it, and
/// whether it holds escapes.
///
/// `None` where the text ends first, and at a control character or an escape that JSON does not know. Half a
/// surrogate pair passes: the string is then JSON, but stands for no text.
#[inline(always)]
pub(super) fn length(rest: &[u8]) -> Option<(usize, bool)> {
    // A short string is done with one look.
    let mut plain = 0;
    if let Some(eight) = rest.first_chunk() {
        let eight = u64::from_le_bytes(*eight);
        let marks = special(eight);
        let bit = marks.trailing_zeros() & !7;
        if marks != 0 && eight >> bit & 0xff == u64::from(b'"') {
            return Some((bit as usize / 8 + 1, false));
        }
        plain = if marks == 0 { 8 } else { 0 };
    }
    long_length(rest, plain)
}

/// Does the same for a string whose first bytes were seen to be plain.
#[inline(never)]
fn long_length(rest: &[u8], plain: usize) -> Option<(usize, bool)> {
    let at = plain + plain_length(&rest[plain..]);
    if *rest.get(at)? == b'"' { Some((at + 1, false)) } else { escaped_length(rest, at) }
}

/// Does the same for a string that is plain up to the escape at `at`.
#[inline(never)]
fn escaped_length(rest: &[u8], mut at: usize) -> Option<(usize, bool)> {
    while *rest.get(at)? != b'"' {
        at += escape_length(&rest[at..])?;
        at += plain_length(&rest[at..]);
    }
    Some((at + 1, true))
}

/// Returns how many bytes stand for themselves before the first that does not.
#[inline(always)]
fn plain_length(text: &[u8]) -> usize {
    let mut rest = text;
    loop {
        // Most strings are short, and looking at a block would be wasted on them.
        for _ in 0..2 {
            let Some((eight, after)) = rest.split_first_chunk::<8>() else {
                let plain = rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
                return text.len() - rest.len() + plain;
            };
            let marks = special(u64::from_le_bytes(*eight));
            if marks != 0 {
                return text.len() - rest.len() + marks.trailing_zeros() as usize / 8;
            }
            rest = after;
        }
        while let Some((block, after)) = rest.split_first_chunk::<32>()
            && are_plain(block)
        {
            rest = after;
        }
    }
}

/// Tells whether a byte stands for itself in a string, and does not end it.
#[inline]
fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

/// Looks at every byte without leaving early, and in sums that are zero for a byte that is not plain: this the
/// compiler does for sixteen bytes at a time.
#[inline]
fn are_plain(bytes: &[u8; 32]) -> bool {
    let lowest = bytes.iter().fold(u8::MAX, |lowest, byte| {
        let above_quotes_and_controls = (byte ^ 0x02).saturating_sub(0x20);
        lowest.min(above_quotes_and_controls).min(byte ^ b'\\')
    });
    lowest != 0
}

/// Marks the first byte that is not plain by its highest bit, and perhaps bytes above it.
///
/// A subtraction borrows from the byte above only where it found something, so the lowest mark is right. With
/// bit 1 flipped the quote is 0x20 and control characters stay below it: one comparison for both.
#[inline]
pub(super) fn special(eight: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let quotes_and_controls = (eight ^ (EACH * 0x02)).wrapping_sub(EACH * 0x21);
    let backslashes = (eight ^ (EACH * b'\\' as u64)).wrapping_sub(EACH);
    (quotes_and_controls | backslashes) & !eight & (EACH * 0x80)
}

/// Returns the length of the escape that `text` begins with.
fn escape_length(text: &[u8]) -> Option<usize> {
    match text {
        [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(2),
        [b'\\', b'u', digits @ ..] => digits.get(..4)?.iter().all(u8::is_ascii_hexdigit).then_some(6),
        _ => None,
    }
}
