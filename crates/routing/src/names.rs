//! Names as clients see them, and where each leads; kept as bytes that are ready to be spliced.

use std::sync::Arc;

use bytes::Bytes;
use catalog::access::Scope;
use mcp::param::Mark;

/// A tool of a virtual server.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name clients see.
    pub exposed: Box<str>,
    /// The name its backend knows.
    pub original: Box<str>,
    /// The same as a JSON string, quotes and all.
    pub original_json: Bytes,
    /// Index of its backend in `VirtualTarget::backends`.
    pub backend: usize,
    /// Scopes it needs beside those of the endpoint.
    pub needs: Vec<Scope>,
    /// Its definition under the exposed name; `None` while its server was never read.
    pub json: Option<Bytes>,
    /// Arguments that headers repeat; `None` where there are none.
    pub marks: Option<Arc<[Mark]>>,
}

/// A list as clients see it.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The items, each a JSON object.
    pub items: Vec<Bytes>,
    /// All items with commas between, without brackets.
    pub all: Bytes,
    /// Of each item the index of its backend in `VirtualTarget::backends`.
    pub owners: Vec<u16>,
}

/// Owner of an exact URI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resource {
    pub(crate) backend: u16,
}

/// A resource template and its owner.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) text: Box<str>,
    pub(crate) backend: u16,
}

/// How URIs begin that belong to one backend.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    pub(crate) text: Box<str>,
    pub(crate) backend: u16,
}

impl Listing {
    /// Takes items in, each with the index of its backend.
    pub(crate) fn new(owned: Vec<(u16, Bytes)>) -> Self {
        let (owners, items): (Vec<_>, Vec<_>) = owned.into_iter().unzip();
        let all = joined(&items);
        Self { items, all, owners }
    }
}

impl Template {
    /// Says whether a URI could have been made from this template (RFC 6570): the literal parts stand in
    /// it in their order, the first at its beginning and the last at its end.
    pub(crate) fn fits(&self, uri: &str) -> bool {
        let mut rest = uri;
        let mut template = &*self.text;
        let mut is_first = true;
        loop {
            let (literal, after) = match template.split_once('{') {
                Some((literal, after)) => (literal, Some(after)),
                None => (template, None),
            };
            if is_first {
                let Some(left) = rest.strip_prefix(literal) else { return false };
                rest = left;
            } else if after.is_none() {
                return rest.ends_with(literal);
            } else {
                let Some(at) = rest.find(literal) else { return false };
                rest = &rest[at + literal.len()..];
            }
            let Some(after) = after else { return rest.is_empty() };
            let Some((_, left)) = after.split_once('}') else { return false };
            template = left;
            is_first = false;
        }
    }
}

/// Joins JSON values with commas.
fn joined(items: &[Bytes]) -> Bytes {
    let mut all = Vec::new();
    for item in items {
        if !all.is_empty() {
            all.push(b',');
        }
        all.extend_from_slice(item);
    }
    all.into()
}

#[cfg(test)]
mod tests;
