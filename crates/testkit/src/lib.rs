//! For tests: scriptable MCP backends of both eras and a client, each over plain HTTP/1.1 on loopback.
//!
//! Deliberately shares no code with the gateway, so that a fault there is not repeated here. What goes wrong
//! in a test panics with what was expected; nothing here is part of the product.
//!
//! ```no_run
//! # async fn story() {
//! use testkit::{Client, LegacyBackend};
//! let github = LegacyBackend::start("github").tool("search").tool("create_pr").await;
//! let mut client = Client::legacy(&github.url());
//! client.initialize().await;
//! client.call("search", serde_json::json!({ "query": "bug fixes" })).await;
//! assert_eq!(github.runs("search"), 1);
//! # }
//! ```

pub mod authority;
pub mod backend;
pub mod both;
mod call;
pub mod client;
pub mod conformance;
pub mod event_stream;
pub mod events;
mod inbound;
pub mod legacy;
mod listeners;
mod local;
mod methods;
mod mirrored;
pub mod modern;
mod perform;
mod play;
pub mod record;
pub mod script;
mod session;
pub mod stage;
mod state;
pub mod stdio;
pub mod steps;
pub mod stub;
mod tasks;
pub mod tool;
mod wire;

pub use authority::Authority;
pub use client::Client;
pub use tool::{Behaviour, Tool};

/// A backend of the revisions 2024-11-05 to 2025-11-25.
pub type LegacyBackend = backend::Backend<legacy::Legacy>;
/// A backend of the revision 2026-07-28.
pub type ModernBackend = backend::Backend<modern::Modern>;
/// A backend of all revisions.
pub type DualBackend = backend::Backend<both::Both>;
/// A backend of the older era over HTTP+SSE.
pub type EventBackend = backend::Backend<event_stream::EventStream>;
