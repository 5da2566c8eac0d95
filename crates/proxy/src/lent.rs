//! What a backend gives a client to be shown to it again, cursors and `requestState`: sealed on its way out together with
//! the version that made it, and opened on its way back, which is to that version.
//!
//! A legacy session holds its version already, and so what is given in one passes as it is.

use std::sync::Arc;

use bytes::Bytes;
use catalog::access::Principal;
use catalog::endpoint::Era;
use mcp::message::{Outline, Span, pick, quote, text};
use mcp::method::Method;
use mcp::rewrite::{Edit, splice};
use routing::target::ServerTarget;
use routing::version::VersionTarget;

use crate::error::Error;
use crate::plane::{Call, Front};
use crate::shared::Shared;

/// What is shown again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loan {
    /// The cursor of a list, which is good for no other list.
    Cursor(Method),
    /// The state of a call that asked for input.
    State,
}

/// What the answer to a request may give, and on whose behalf.
#[derive(Clone, Copy)]
pub(crate) struct Lending<'a> {
    pub(crate) call: &'a Call,
    pub(crate) version: &'a Arc<VersionTarget>,
    pub(crate) loan: Loan,
}

/// The same for an answer that comes later, in a stream.
pub(crate) struct Lender {
    shared: Arc<Shared>,
    principal: Arc<Principal>,
    version: Arc<VersionTarget>,
    loan: Loan,
}

/// What a request shows again.
pub(crate) struct Shown {
    /// The version that made it.
    pub(crate) version: Arc<VersionTarget>,
    /// Puts the backend's own text where the sealed one stands; `None` for the state of a parked call, which never was
    /// a backend's.
    pub(crate) edit: Option<Edit>,
}

/// Says what an answer may give. `None`: nothing that would have to find its way back.
pub(crate) fn of_answer(front: Front, back: Era, method: Method) -> Option<Loan> {
    match method {
        Method::ToolsList | Method::PromptsList | Method::ResourcesList | Method::TemplatesList => {
            Some(Loan::Cursor(method))
        }
        Method::Discover | Method::Listen | Method::Complete => None,
        // A legacy backend's questions are ours to put, and so is the state that goes with them.
        _ => (front == Front::Modern && back == Era::Modern).then_some(Loan::State),
    }
}

/// Opens what a request shows. `None`: it shows nothing.
///
/// What was changed, is another caller's or another list's, or of a version that is gone, is refused.
pub(crate) fn shown(call: &Call, server: &str) -> Result<Option<Shown>, Error> {
    let Some((loan, at)) = in_request(call) else { return Ok(None) };
    let server = call.table.server(server);
    let opened = server.and_then(|server| open(call, server, loan, at));
    opened.map(Some).ok_or_else(|| loan.unknown())
}

fn in_request(call: &Call) -> Option<(Loan, Span)> {
    let (method, outline) = (call.outline.method, &call.outline);
    match of_answer(call.front, Era::Modern, method)? {
        Loan::State => outline.request_state.map(|at| (Loan::State, at)),
        cursor @ Loan::Cursor(_) => outline.cursor.map(|at| (cursor, at)),
    }
}

fn open(call: &Call, server: &ServerTarget, loan: Loan, at: Span) -> Option<Shown> {
    let shown = text(at.of(&call.body))?;
    let (opaque, principal) = (&call.plane.shared.opaque, &call.principal);
    if let Some(lent) = opaque.returned(loan.purpose(), &shown, server.path.as_str(), principal) {
        let version = server.version(&lent.label).filter(|version| version.identity == lent.identity)?;
        return Some(Shown { version: version.clone(), edit: Some(Edit { at, with: lent.raw }) });
    }
    if loan != Loan::State {
        return None;
    }
    let waits =
        |version: &&Arc<VersionTarget>| opaque.unwrap_state(&shown, &version.key, principal).is_some();
    let version = server.labels().filter_map(|label| server.version(label)).find(waits)?;
    Some(Shown { version: version.clone(), edit: None })
}

/// Makes the call as its backend is to get it, with `edits` besides. `None` where nothing is to be changed.
pub(crate) fn as_lent(call: &Call, shown: &Shown, edits: &[Edit]) -> Result<Option<Call>, Error> {
    let Some(edit) = &shown.edit else { return Ok(None) };
    let mut edits: Vec<Edit> = edits.iter().chain([edit]).cloned().collect();
    let body = splice(&call.body, &mut edits);
    let outline = Outline::read(&body)?;
    Ok(Some(Call { body, outline, ..call.clone() }))
}

impl Loan {
    /// What it is sealed for.
    fn purpose(self) -> &'static str {
        match self {
            Self::Cursor(list) => list.as_str(),
            Self::State => "round",
        }
    }

    fn unknown(self) -> Error {
        let reason = match self {
            Self::Cursor(_) => "the cursor is not of this list; begin it again",
            Self::State => "requestState is not of a call that waits; begin the call again",
        };
        Error::InvalidParams(reason.into())
    }

    /// The key under which it stands in an answer, quotes and all.
    fn key(self) -> &'static [u8] {
        match self {
            Self::Cursor(_) => br#""nextCursor""#,
            Self::State => br#""requestState""#,
        }
    }

    /// Says by the beginning of a long answer whether all of it must be known. Lists name the next page at their end; an
    /// answer that asks is short, but for what it asks.
    pub(crate) fn may_be_in(self, begun: &[u8]) -> bool {
        let has = |key: &[u8]| memchr::memmem::find(begun, key).is_some();
        matches!(self, Self::Cursor(_)) || has(self.key()) || has(br#""input_required""#)
    }

    /// Finds it in an answer.
    fn find(self, answer: &[u8]) -> Option<Span> {
        // Hardly any answer holds the key, and inside a string its quotes would be escaped.
        memchr::memmem::find(answer, self.key())?;
        let at = Outline::read(answer).ok()?.result?;
        let result = at.of(answer);
        let found = match self {
            Self::Cursor(_) => pick(result, ["nextCursor"])?[0]?,
            Self::State => {
                let [kind, state] = pick(result, ["resultType", "requestState"])?;
                let asks =
                    kind.and_then(|kind| text(kind.of(result))).is_some_and(|kind| kind == "input_required");
                state.filter(|_| asks)?
            }
        };
        found.of(result).starts_with(b"\"").then(|| found.shifted(at.start))
    }

    fn sealed(self, answer: Bytes, shared: &Shared, version: &VersionTarget, principal: &Principal) -> Bytes {
        let Some(at) = self.find(&answer) else { return answer };
        let sealed = shared.opaque.lend(self.purpose(), version, at.of(&answer), principal);
        splice(&answer, &mut [Edit { at, with: quote(&sealed).into() }])
    }
}

impl Lending<'_> {
    /// Seals what an answer gives.
    pub(crate) fn sealed(&self, answer: Bytes) -> Bytes {
        self.loan.sealed(answer, &self.call.plane.shared, self.version, &self.call.principal)
    }

    pub(crate) fn to_lender(self) -> Box<Lender> {
        Box::new(Lender {
            shared: self.call.plane.shared.clone(),
            principal: self.call.principal.clone(),
            version: self.version.clone(),
            loan: self.loan,
        })
    }
}

impl Lender {
    /// Seals what an answer gives.
    pub(crate) fn sealed(&self, answer: Bytes) -> Bytes {
        self.loan.sealed(answer, &self.shared, &self.version, &self.principal)
    }
}

#[cfg(test)]
mod tests;
