//! HTTP/1 on the wire: heads and bodies of answers as a backend sends them, and connections with clients.
//!
//! It knows HTTP and nothing of MCP, of paths, or of who may call.

pub mod answer;
pub mod body;
mod date;
mod feed;
mod fields;
pub mod framing;
#[cfg(fuzzing)]
pub mod fuzzing;
mod outgoing;
mod request;
pub mod server;
pub mod wire;
