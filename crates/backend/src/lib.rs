//! Speaking MCP to one backend: a pooled client that forwards messages, opens and closes sessions, learns a
//! backend's era and reads its inventory.
//!
//! It does not know what a client asked, which server a backend belongs to, or who may call it.

pub mod error;
pub mod event_stream;
pub mod events;
pub mod fetch;
pub mod handshake;
pub mod inventory;
pub mod reply;
pub mod send;
pub mod settings;
pub mod stdio;
pub mod tokens;

mod answer;
mod ask;
mod budget;
mod connect;
mod duplex;
mod host;
mod line;
mod outgoing;
mod pool;
mod route;
mod stream;
#[cfg(test)]
mod stub;
mod tls;

pub use budget::{Budget, Held, Share};
pub use error::Error;
pub use fetch::Fetcher;
pub use handshake::{Discovery, Greeting, Hello, Learnt};
pub use pool::Backends;
pub use reply::Reply;
pub use send::Outgoing;
pub use settings::Settings;
pub use stdio::Stdio;
pub use tokens::{Caller, Tokens};
