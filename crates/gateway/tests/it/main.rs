//! Stories told to the real program: started on a free port, with example backends behind it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod app;
mod arrays;
mod caller;
mod compose;
mod heard;

mod access;
mod audit;
mod batches;
mod bridging;
mod cli;
mod config;
mod credentials;
mod direct;
mod ended;
mod event_streams;
mod explain;
mod identity;
mod lent;
mod limits;
mod own_tokens;
mod peers;
mod resumption;
mod scope_documents;
mod search;
mod serving;
mod sessions;
mod shutdown;
mod start;
mod stdio;
mod tasks;
mod versions;
mod virtual_servers;
