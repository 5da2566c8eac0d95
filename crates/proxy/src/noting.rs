//! Notes of calls for the audit trail, where they are wanted: what was called by whom and how it ended, never what
//! was said.

use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::VersionKey;
use catalog::time::Timestamp;
use http::Response;
use mcp::message::text;
use mcp::method::Method;
use routing::target::{Target, VirtualTarget};

use crate::answer;
use crate::choice::Choice;
use crate::ended::{Ended, Outcome};
use crate::error::Error;
use crate::outbound::Body;
use crate::plane::Call;
use crate::shared::Shared;

/// Longest name that is noted, in bytes; URIs may be far longer.
const MAX_NAME_BYTES: usize = 256;

/// A call under way. Dropped before it has ended, it tells that nobody waited.
pub(crate) struct Noting {
    shared: Arc<Shared>,
    ended: Option<Ended>,
    began: Instant,
}

impl Noting {
    /// Begins to note a call; `None` where nobody wants to know, or it is none.
    pub(crate) fn begin(call: &Call, target: Target<'_>) -> Option<Box<Self>> {
        let shared = &call.plane.shared;
        shared.note_call.as_ref()?;
        let outline = &call.outline;
        let name = match outline.method {
            Method::ToolsCall | Method::PromptsGet => outline.name,
            Method::ResourcesRead => outline.uri,
            _ => return None,
        };
        // Without an id it is no request.
        outline.id?;
        let name = name.and_then(|span| text(span.of(&call.body))).unwrap_or_default();
        let version = match target {
            Target::Server(_) => None,
            Target::Virtual(target) => owner(target, call, &name),
        };
        let ended = Ended {
            at: Timestamp::now(),
            caller: call.principal.subject.clone(),
            endpoint: target.path().to_owned(),
            method: outline.method.as_str(),
            name: name[..name.floor_char_boundary(MAX_NAME_BYTES)].to_owned(),
            version,
            outcome: Outcome::Failed,
            took: Duration::ZERO,
        };
        Some(Box::new(Self { shared: shared.clone(), ended: Some(ended), began: Instant::now() }))
    }

    /// Notes which version of a server was chosen.
    pub(crate) fn chosen(&mut self, choice: &Choice) {
        if let Some(ended) = &mut self.ended {
            ended.version = Some(choice.version.key.clone());
        }
    }

    /// Notes how it ended, where that can be seen, or has the answer looked at on its way.
    pub(crate) fn answered(
        mut self: Box<Self>,
        outcome: Result<Response<Body>, Error>,
    ) -> Result<Response<Body>, Error> {
        match outcome {
            Ok(response) => {
                let is_events = answer::is_events(response.headers());
                Ok(response.map(|body| body.judged(is_events, Box::new(move |outcome| self.tell(outcome)))))
            }
            Err(error) => {
                let outcome = if error.is_clients_fault() { Outcome::Refused } else { Outcome::Failed };
                self.tell(outcome);
                Err(error)
            }
        }
    }

    /// Tells that it has ended, once.
    pub(crate) fn tell(&mut self, outcome: Outcome) {
        if let (Some(ended), Some(note)) = (self.ended.take(), &self.shared.note_call) {
            note(Ended { outcome, took: self.began.elapsed(), ..ended });
        }
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        self.tell(Outcome::Failed);
    }
}

fn owner(target: &VirtualTarget, call: &Call, name: &str) -> Option<VersionKey> {
    let face = target.face(call.front.era());
    let backend = match call.outline.method {
        Method::ToolsCall => face.tool(name).map(|tool| tool.backend),
        Method::PromptsGet => face.prompt_owner(name),
        _ => face.resource_owner(name),
    };
    backend.map(|index| target.backends[index].key.clone())
}
