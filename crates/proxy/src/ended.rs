//! What is told of a call that has ended.

use std::sync::Arc;
use std::time::Duration;

use catalog::VersionKey;
use catalog::time::Timestamp;

/// Told of each call that has ended. Must not block.
pub type NoteCall = Box<dyn Fn(Ended) + Send + Sync>;

/// A call that has ended: `tools/call`, `prompts/get` or `resources/read`.
#[derive(Clone, Debug)]
pub struct Ended {
    /// When it began.
    pub at: Timestamp,
    /// Subject of the caller.
    pub caller: Arc<str>,
    /// Short path of the endpoint.
    pub endpoint: String,
    /// The method.
    pub method: &'static str,
    /// Name of the tool or prompt, or URI of the resource, as the client gave it, shortened where it is long.
    pub name: String,
    /// The version that answered, where one was found.
    pub version: Option<VersionKey>,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took, to the last byte that matters.
    pub took: Duration,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered with a result.
    Ok,
    /// The gateway refused it: a scope is missing, there is no such tool, the caller comes too often.
    Refused,
    /// The backend, or the tool, failed, or nobody waited for the answer.
    Failed,
}
