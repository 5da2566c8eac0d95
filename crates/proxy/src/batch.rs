//! Batches: taken apart, each message handled as if it had come alone, the answers put together again, or told one by
//! one on the one stream of an older client. No backend sees one.

mod answers;
mod member;
mod run;

use bytes::Bytes;
use catalog::endpoint::Era;
use http::{HeaderMap, Response};
use mcp::era::Revision;
use mcp::headers::PROTOCOL_VERSION;
use mcp::message::{Malformed, elements};
use routing::target::Target;

use crate::answered::Listener;
use crate::choice::Choice;
use crate::error::Error;
use crate::outbound::Body;
use crate::standing::Standing;
use crate::virtual_server;
use member::Member;

/// Most messages in one batch, eight rounds of as many as run at once: each may be a call, and a body of the
/// usual limit would hold ten thousands of them for one token that was looked at once.
const MAX_MEMBERS: usize = 64;

/// Answers a batch. `choice` is the version of a server that was chosen by the headers, which all messages share.
pub(crate) async fn post(
    standing: Standing,
    choice: Option<&Choice>,
    body: &Bytes,
) -> Result<Response<Body>, Error> {
    if !may_batch(&standing, choice).await? {
        return Err(Malformed::Batch.into());
    }
    run::all(standing, Batch::read(body)?.0).await
}

/// The messages of a batch that is not refused as a whole.
pub(crate) struct Batch(Vec<Member>);

impl Batch {
    /// Takes a batch apart.
    pub(crate) fn read(body: &Bytes) -> Result<Self, Error> {
        let members = members(body)?;
        member::check(&members)?;
        Ok(Self(members))
    }

    /// Says whether nothing of it asks for an answer.
    pub(crate) fn is_one_way(&self) -> bool {
        self.0.iter().all(Member::is_one_way)
    }

    /// Has the messages answered, and each answer told by itself.
    ///
    /// Cancel: as if each message's own connection had closed.
    pub(crate) async fn tell(self, standing: Standing, listener: &impl Listener) {
        run::each(standing, self.0, listener).await;
    }
}

/// Says whether the client speaks the one revision that has batches. The session says so where it is ours; the
/// revision agreed with a backend itself is named in a header by later ones only.
async fn may_batch(standing: &Standing, choice: Option<&Choice>) -> Result<bool, Error> {
    let Standing { plane, headers, principal, .. } = standing;
    if let (Target::Virtual(target), _) = (standing.target()?, choice) {
        let session = virtual_server::session(plane, headers, target, principal).await?;
        return Ok(session.sealed.revision == Revision::V2025_03_26);
    }
    let Some(choice) = choice else { return Ok(false) };
    match choice.session.as_ref().map(|unwrapped| &unwrapped.session) {
        Some(session) if session.is_ours() => {
            Ok(session.read_ours().is_some_and(|session| session.revision == Revision::V2025_03_26))
        }
        None if choice.version.era_toward(Era::Legacy) == Era::Modern => Err(Error::SessionMissing),
        _ => Ok(names_no_other_revision(headers)),
    }
}

fn names_no_other_revision(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(PROTOCOL_VERSION).iter();
    values.all(|value| value == Revision::V2025_03_26.as_str())
}

fn members(body: &Bytes) -> Result<Vec<Member>, Error> {
    let spans = elements(body).ok_or(Malformed::Batch)?;
    if spans.is_empty() {
        return Err(Error::InvalidRequest("the batch is empty".into()));
    }
    if spans.len() > MAX_MEMBERS {
        return Err(Error::InvalidRequest(format!("a batch holds at most {MAX_MEMBERS} messages")));
    }
    Ok(spans.into_iter().map(|span| Member::read(body.slice(span.range()))).collect())
}

#[cfg(test)]
mod tests;
