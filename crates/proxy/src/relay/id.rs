//! The id of an answer, found in its first bytes, and whether two ids are the same.

use mcp::message::{Span, text};

/// Finds the value of the top-level `id` in an answer or the beginning of one. `None` where it is not in there, or
/// where its key is spelt with escapes.
pub(crate) fn find(begun: &[u8]) -> Option<Span> {
    let mut at = skip_blanks(begun, 0);
    if *begun.get(at)? != b'{' {
        return None;
    }
    at += 1;
    loop {
        at = skip_blanks(begun, at);
        if *begun.get(at)? == b',' {
            at = skip_blanks(begun, at + 1);
        }
        let key = at;
        at = string_end(begun, key)?;
        let is_id = &begun[key..at] == b"\"id\"";
        at = skip_blanks(begun, at);
        if *begun.get(at)? != b':' {
            return None;
        }
        let value = skip_blanks(begun, at + 1);
        at = value_end(begun, value)?;
        if is_id {
            return Some(Span { start: u32::try_from(value).ok()?, end: u32::try_from(at).ok()? });
        }
    }
}

/// Says whether two raw ids are the same, however they are spelt.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one == other {
        return true;
    }
    match (text(one), text(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => {
            let number = |raw| std::str::from_utf8(raw).ok()?.parse::<f64>().ok();
            number(one).is_some_and(|one| number(other) == Some(one))
        }
        _ => false,
    }
}

fn skip_blanks(text: &[u8], from: usize) -> usize {
    let blanks = text[from.min(text.len())..].iter().take_while(|byte| byte.is_ascii_whitespace());
    from + blanks.count()
}

/// Returns where a string that begins here ends, its quotes included.
fn string_end(text: &[u8], from: usize) -> Option<usize> {
    if *text.get(from)? != b'"' {
        return None;
    }
    let mut at = from + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns where a value that begins here ends; `None` where what follows it is not there yet.
fn value_end(text: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut depth) = (from, 0_usize);
    loop {
        match *text.get(at)? {
            b'"' => {
                at = string_end(text, at)?;
                if depth == 0 {
                    return Some(at);
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return (at > from).then_some(at),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b',' if depth == 0 => return (at > from).then_some(at),
            byte if depth == 0 && byte.is_ascii_whitespace() => return (at > from).then_some(at),
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests;
