//! Finds the parts of a JSON text without building a tree: members of an object, elements of an array,
//! the text of a string, each as a range of the bytes it came from.

use std::borrow::Cow;

use super::scanner::{Broken, Scanner};
use super::span::Span;

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
    whole(object, |scanner| picked(scanner, keys)).map(|(_, found)| found)
}

/// Lists the members of a JSON object, keys with their quotes. `None` where it is not exactly one object.
pub fn members(object: &[u8]) -> Option<Vec<(Span, Span)>> {
    let mut found = Vec::new();
    whole(object, |scanner| {
        scanner.object(|scanner, key| {
            found.push((key.span, scanner.value()?));
            Ok(())
        })
    })?;
    Some(found)
}

/// Lists the elements of a JSON array. `None` where it is not exactly one array.
pub fn elements(array: &[u8]) -> Option<Vec<Span>> {
    let mut found = Vec::new();
    whole(array, |scanner| {
        scanner.array(|scanner| {
            found.push(scanner.value()?);
            Ok(())
        })
    })?;
    Some(found)
}

/// Lists the elements of a JSON array like `elements`, each with the members that `pick` would find in it.
pub(crate) fn rows<const N: usize>(array: &[u8], keys: [&str; N]) -> Option<Vec<(Span, [Option<Span>; N])>> {
    let mut found = Vec::new();
    whole(array, |scanner| {
        scanner.array(|scanner| {
            let row =
                if scanner.peek()? == b'{' { picked(scanner, keys)? } else { (scanner.value()?, [None; N]) };
            found.push(row);
            Ok(())
        })
    })?;
    Some(found)
}

/// Decodes a JSON string; borrowed where it holds no escapes.
///
/// `None` where it is not a string, or holds half a surrogate pair and so stands for no text.
pub fn text(raw: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(raw).ok()?;
    let mut scanner = Scanner::over(text)?;
    let string = scanner.quoted().ok()?;
    scanner.end().ok()?;
    match string.said()? {
        Cow::Borrowed(_) => {
            text.get(string.span.start as usize + 1..string.span.end as usize - 1).map(Cow::Borrowed)
        }
        Cow::Owned(said) => String::from_utf8(said).ok().map(Cow::Owned),
    }
}

/// Encodes text as a JSON string, with its quotes.
pub fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("text always has a JSON spelling")
}

/// Reads a text that is one value and nothing else.
fn whole<'a, T>(text: &'a [u8], read: impl FnOnce(&mut Scanner<'a>) -> Result<T, Broken>) -> Option<T> {
    let mut scanner = Scanner::new(text)?;
    let found = read(&mut scanner).ok()?;
    scanner.end().ok()?;
    Some(found)
}

/// Takes the object that follows and finds some of its members, none of those that stand there twice.
fn picked<const N: usize>(
    scanner: &mut Scanner<'_>,
    keys: [&str; N],
) -> Result<(Span, [Option<Span>; N]), Broken> {
    let mut found = [None; N];
    let mut seen = [false; N];
    let object = scanner.object(|scanner, key| {
        let name = key.said();
        let value = scanner.value()?;
        let is_name = |wanted: &&str| name.as_deref() == Some(wanted.as_bytes());
        if let Some(index) = keys.iter().position(is_name) {
            found[index] = (!seen[index]).then_some(value);
            seen[index] = true;
        }
        Ok(())
    })?;
    Ok((object, found))
}

#[cfg(test)]
mod tests;
