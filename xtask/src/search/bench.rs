//! `search-bench`.
