//! Virtual servers: tools of many servers behind one endpoint and one session.

mod asking;
mod calls;
mod failures;
mod lists;
mod prompts_and_resources;
mod seeds;
mod stream;
mod unlisted_resources;
