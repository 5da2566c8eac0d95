//! A message of one era in the dress of the other, for when a client and a backend differ.
//!
//! Objects that change are written anew from the members they had, in their order, each value byte for byte;
//! everything around them is spliced through.

mod answer;
mod input;
pub(crate) mod object;
mod request;
mod tool;

pub use answer::{Caching, answer_to_legacy, answer_to_modern};
pub use input::{
    InputRequest, InputRequired, UnknownQuestion, asking, input_required, input_responses, with_responses,
};
pub use request::{Dress, to_legacy, to_modern};
pub use tool::{for_legacy as tool_for_legacy, for_modern as tool_for_modern};

/// Begins the keys of `_meta` that belong to revision 2026-07-28.
pub const RESERVED_PREFIX: &str = "io.modelcontextprotocol/";

#[cfg(test)]
mod tests;
