//! The protocol's words and bytes: what an MCP message is, where in a body the parts we may touch lie, and
//! how to write the few bodies we make ourselves.
//!
//! Pure functions over bytes. This crate knows no sockets, no clock, no catalog, and never turns a message
//! into a tree: what it does not route by stays the bytes it was.
#![warn(missing_docs)]

pub mod bridge;
pub mod era;
pub mod error;
pub mod headers;
pub mod list;
pub mod message;
pub mod method;
pub mod param;
pub mod rewrite;
pub mod sift;
pub mod sse;
pub mod subscription;
pub mod task;
pub mod uris;
