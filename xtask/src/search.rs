//! How well and how fast the search is: `search-eval` over judged queries, `search-bench` over a large catalog.

pub(crate) mod bench;
mod catalogue;
pub(crate) mod eval;
mod meaning;
