//! The official MCP conformance suite, run against the real program with backends of every era behind it.
//!
//! The suite and the Node it needs are installed by `make test` (or `make peers`). Where they are missing these
//! tests say so and pass, but in continuous integration (`CI` is set) they fail.
//!
//! What cannot pass is listed in `expected/`, a file for each cell and endpoint. The suite fails when something else
//! fails, and also when something listed there passes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "../it/app.rs"]
#[allow(dead_code, reason = "shared with the other stories")]
mod app;
#[path = "../it/caller.rs"]
#[allow(dead_code, reason = "shared with the other stories")]
mod caller;
#[path = "../it/peers/program.rs"]
#[allow(dead_code, reason = "shared with the other stories")]
mod program;

mod cells;
mod clients;
mod expectations;
mod real;
mod stage;
mod suite;
