//! Arguments of a tool that are repeated in headers: `x-mcp-header` in its schema makes `Mcp-Param-*` of a call.
//!
//! Source: MCP 2026-07-28, server/tools (`x-mcp-header`) and basic/transports/streamable-http (custom headers from
//! tool parameters, value encoding).

mod marks;
mod value;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::headers::decode_name;
use crate::message::{Span, members, text};

pub use marks::{MAX_MARKS, Unfit, marks};

/// Begins the names of headers that repeat arguments.
pub const PREFIX: &str = "mcp-param-";

/// An argument that a header repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The header, `mcp-param-region`.
    pub header: HeaderName,
    /// Where the argument stands: the names of members from `arguments` inwards.
    pub path: Box<[Box<str>]>,
}

/// A header does not say what the arguments say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The argument is there, its header is not.
    #[error("{0} is missing")]
    Missing(HeaderName),
    /// There are several such headers.
    #[error("{0} was sent twice")]
    Twice(HeaderName),
    /// The header's value cannot be decoded.
    #[error("{0} is malformed")]
    Malformed(HeaderName),
    /// Header and argument differ, or only the header is there.
    #[error("{0} is not what the argument is")]
    Unlike(HeaderName),
}

/// Makes the headers of a call. An argument that is absent or null has none, nor has one of a wrong type.
pub fn headers<'a>(
    marks: &'a [Mark],
    arguments: Option<&'a [u8]>,
) -> impl Iterator<Item = (&'a HeaderName, HeaderValue)> {
    marks.iter().filter_map(move |mark| match find(arguments?, &mark.path) {
        Found::Once(raw) => Some((&mark.header, value::header(raw)?)),
        Found::Nowhere | Found::Twice => None,
    })
}

/// Compares the headers of a call with its arguments. Headers that no mark names are not looked at.
///
/// An argument that is neither text, number nor truth value has no header; the backend will say what it thinks of it.
pub fn check(marks: &[Mark], arguments: Option<&[u8]>, headers: &HeaderMap) -> Result<(), Mismatch> {
    for Mark { header, path } in marks {
        let mut sent = headers.get_all(header).iter();
        let (sent, more) = (sent.next(), sent.next());
        if more.is_some() {
            return Err(Mismatch::Twice(header.clone()));
        }
        let argument = match arguments.map_or(Found::Nowhere, |arguments| find(arguments, path)) {
            Found::Once(raw) if value::is_mirrored(raw) => Some(raw),
            Found::Once(_) | Found::Nowhere => None,
            // Who reads which of the two is anybody's guess.
            Found::Twice => return Err(Mismatch::Unlike(header.clone())),
        };
        match (argument, sent) {
            (None, None) => {}
            (None, Some(_)) => return Err(Mismatch::Unlike(header.clone())),
            (Some(_), None) => return Err(Mismatch::Missing(header.clone())),
            (Some(raw), Some(sent)) => {
                let said = decode_name(sent).ok_or_else(|| Mismatch::Malformed(header.clone()))?;
                if !value::says(raw, &said) {
                    return Err(Mismatch::Unlike(header.clone()));
                }
            }
        }
    }
    Ok(())
}

enum Found<'a> {
    Nowhere,
    Once(&'a [u8]),
    Twice,
}

/// Finds the argument at a path, as raw JSON.
fn find<'a>(arguments: &'a [u8], path: &[Box<str>]) -> Found<'a> {
    let mut at = arguments;
    for name in path {
        let Some(members) = members(at) else { return Found::Nowhere };
        let is_it = |key: &Span| text(key.of(at)).is_some_and(|key| *key == **name);
        let mut values = members.iter().filter(|(key, _)| is_it(key)).map(|(_, value)| value.of(at));
        match (values.next(), values.next()) {
            (None, _) => return Found::Nowhere,
            (Some(value), None) => at = value,
            (Some(_), Some(_)) => return Found::Twice,
        }
    }
    Found::Once(at)
}

#[cfg(test)]
mod tests;
