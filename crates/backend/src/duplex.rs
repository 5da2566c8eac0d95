//! Conversations over two one-way channels, lines of a process or an event stream and posts: who gets which message,
//! and the answer to a request as HTTP would bring it.

pub(crate) mod answers;
pub(crate) mod board;
pub(crate) mod inbox;
pub(crate) mod messages;
pub(crate) mod switchboard;
