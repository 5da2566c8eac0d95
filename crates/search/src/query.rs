//! What is asked for.

use crate::vector::Vector;

/// A query.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Words, as a person writes them. A word that begins with `#` is a tag to filter by.
    pub text: &'a str,
    /// What the text means; without it, words alone decide.
    pub meaning: Option<&'a Vector>,
    /// Tags that all must be there, in any case.
    pub tags: &'a [String],
    /// What to look for.
    pub kinds: Kinds,
    /// Most entries of each kind.
    pub max_results: usize,
}

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// Servers.
    pub servers: bool,
    /// Tools of servers.
    pub tools: bool,
    /// Virtual servers.
    pub virtual_servers: bool,
}

impl Kinds {
    /// Everything there is.
    pub const ALL: Self = Self { servers: true, tools: true, virtual_servers: true };
}
