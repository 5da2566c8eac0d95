//! What messages have in common that do not come one a request, but several in a batch or to one stream of
//! 2024-11-05; each is answered as if it had come alone.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use catalog::access::Principal;
use http::{HeaderMap, HeaderValue, Response};
use mcp::headers::Accepts;
use mcp::message::Outline;
use mcp::method::Method;
use routing::Table;
use routing::target::Target;

use crate::choice::Choice;
use crate::error::Error;
use crate::noting::Noting;
use crate::outbound::Body;
use crate::plane::{Call, Front, Plane};
use crate::refusal::{self, Place};
use crate::{admit, consent, direct, inbound, metrics, pace, virtual_server};

/// A caller at an endpoint, let in.
pub(crate) struct Standing {
    pub(crate) plane: Plane,
    pub(crate) principal: Arc<Principal>,
    pub(crate) headers: HeaderMap,
    pub(crate) accepts: Accepts,
    /// The snapshot it lives by.
    pub(crate) table: Arc<Table>,
    /// The endpoint's short path.
    pub(crate) path: String,
    /// The host the client named.
    pub(crate) host: Option<HeaderValue>,
}

impl Standing {
    /// Answers one message. An error is told and logged as that of a request of its own.
    pub(crate) async fn answer(&self, body: Bytes) -> Response<Body> {
        let started = Instant::now();
        let (id, outcome) = match Outline::read(&body) {
            Ok(outline) => {
                let id = outline.id.map(|id| body.slice(id.range()));
                (id, self.run(body, outline).await)
            }
            Err(malformed) => {
                let id = malformed.id().map(|id| Bytes::copy_from_slice(id.as_bytes()));
                (id, Err(malformed.into()))
            }
        };
        outcome.unwrap_or_else(|error| {
            let refusal = self.refuse(&error, id.as_deref());
            metrics::log(&self.path, "POST", refusal.status(), Some(&error), started.elapsed());
            refusal
        })
    }

    async fn run(&self, body: Bytes, outline: Outline) -> Result<Response<Body>, Error> {
        if inbound::classify(&self.headers, &body, &outline)? != Front::Legacy {
            return Err(Error::InvalidRequest("a message of revision 2026-07-28 is posted by itself".into()));
        }
        let Self { plane, principal, headers, accepts, table, .. } = self;
        let call = Call {
            plane: plane.clone(),
            table: table.clone(),
            principal: principal.clone(),
            headers: headers.clone(),
            body,
            outline,
            front: Front::Legacy,
            accepts: *accepts,
        };
        let target = self.target()?;
        let noting = Noting::begin(&call, target);
        let mut choice = None;
        let outcome = self.ask(&call, target, &mut choice).await;
        let Some(mut noting) = noting else { return outcome };
        if let Some(choice) = &choice {
            noting.chosen(choice);
        }
        noting.answered(outcome)
    }

    async fn ask(
        &self,
        call: &Call,
        target: Target<'_>,
        choice: &mut Option<Choice>,
    ) -> Result<Response<Body>, Error> {
        pace::message(&call.plane.shared, &call.principal, &self.path, &call.outline)?;
        admit::operate(call, target)?;
        let answered = match target {
            Target::Server(server) => {
                let is_session = call.outline.method != Method::Initialize;
                let Call { plane, headers, principal, .. } = call;
                let chosen = direct::choose_version(plane, server, headers, principal, is_session)?;
                direct::post(call, choice.insert(chosen)).await
            }
            Target::Virtual(target) => virtual_server::legacy(call, target).await,
        };
        match answered {
            Err(error @ Error::NoConsent { .. }) => {
                consent::or_ask(error, call, self.host.as_ref(), &self.path)
            }
            answered => answered,
        }
    }

    /// Returns what the path leads to.
    pub(crate) fn target(&self) -> Result<Target<'_>, Error> {
        self.table.target(&self.path).ok_or_else(|| Error::NoSuchPath(self.path.clone()))
    }

    /// Turns an error into the answer to the message of this raw id.
    pub(crate) fn refuse(&self, error: &Error, id: Option<&[u8]>) -> Response<Body> {
        let Self { host, path, table, .. } = self;
        let place = Place { host: host.as_ref(), path, table: Some(table) };
        refusal::answer(error, id, false, &place, &self.plane.shared.settings)
    }
}
