//! Real clients with real servers, made by others, and the gateway between them: every pair, at both kinds of endpoint.
//!
//! What works is the table in `docs/compatibility.md`, and these tests compare it with what they see. The peers are
//! installed by `make test` (or `make peers`). Where they are missing these tests say so and pass, but in continuous
//! integration (`CI` is set) they fail.

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

mod clients;
mod matrix;
mod servers;
