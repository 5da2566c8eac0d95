//! Names of claims, as an operator writes them, and how they are found.

use serde_json::{Map, Value};

/// Names a claim, also one inside another: `groups`, `realm_access.roles`, `https://example.com/groups`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimName(String);

/// The claims of a token, or what a provider said of one.
pub(super) type Claims = Map<String, Value>;

impl ClaimName {
    /// Takes a name in. Dots lead into objects, unless there is a claim that has the whole name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub(super) fn of<'a>(&self, claims: &'a Claims) -> Option<&'a Value> {
        within(claims, &self.0)
    }
}

/// Finds a member by its whole name, else by a part of it and the rest inside; names may hold dots themselves.
fn within<'a>(object: &'a Claims, name: &str) -> Option<&'a Value> {
    if let Some(value) = object.get(name) {
        return Some(value);
    }
    let dots = name.match_indices('.').map(|(at, _)| at);
    dots.into_iter().find_map(|at| within(object.get(&name[..at])?.as_object()?, &name[at + 1..]))
}
