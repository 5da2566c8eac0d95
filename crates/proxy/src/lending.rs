//! What a backend gives a client to be shown to it again, on its way out: cursors, `requestState` and ids of tasks are
//! sealed together with the version that made them. [`crate::lent`] is their way back.
//!
//! A legacy session holds its version already, and so a cursor given in one passes as it is. A task may outlive its
//! session, and backends take all our callers for one: its id is sealed everywhere.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use catalog::access::Principal;
use catalog::endpoint::Era;
use mcp::message::{Outline, Span, pick, quote, text};
use mcp::method::Method;
use mcp::rewrite::{Edit, splice};
use mcp::sift::{Found, Sift};
use mcp::task::Page;
use routing::version::VersionTarget;

use crate::lent::{Loan, names_task, of_answer};
use crate::opaque::Place;
use crate::plane::{Call, Front};
use crate::shared::Shared;

/// What the answer to a request may give, and on whose behalf.
#[derive(Clone, Copy)]
pub(crate) struct Lending<'a> {
    pub(crate) call: &'a Call,
    pub(crate) version: &'a Arc<VersionTarget>,
    pub(crate) place: Place<'a>,
    pub(crate) gives: Gives,
}

/// What may be in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gives {
    /// A cursor or a state.
    pub(crate) loan: Option<Loan>,
    /// Ids of tasks besides.
    pub(crate) tasks: Option<Tasks>,
}

/// What is told of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tasks {
    /// One that begins with the call.
    Begun,
    /// Those the caller knows.
    Told,
    /// Those the backend has for all who come through us, of whom the caller is one.
    Listed,
}

/// The same for an answer that comes later, in a stream.
pub(crate) struct Lender {
    shared: Arc<Shared>,
    principal: Arc<Principal>,
    version: Arc<VersionTarget>,
    endpoint: Option<Box<str>>,
    tool: Box<str>,
    gives: Gives,
}

/// Says what of an answer is sealed. `None`: nothing in it would have to find its way back.
pub(crate) fn lending<'a>(
    call: &'a Call,
    version: &'a Arc<VersionTarget>,
    back: Era,
    is_held: bool,
    place: Place<'a>,
) -> Option<Lending<'a>> {
    let loan = if is_held { None } else { of_answer(call.front, back, call.outline.method) };
    let tasks = (version.has_tasks && tells_of_tasks(call, back)).then(|| match call.outline.method {
        Method::TasksList => Tasks::Listed,
        Method::Listen => Tasks::Told,
        method if names_task(method) => Tasks::Told,
        _ => Tasks::Begun,
    });
    (loan.is_some() || tasks.is_some()).then_some(Lending {
        call,
        version,
        place,
        gives: Gives { loan, tasks },
    })
}

/// Says whether the answer may hold ids of tasks. They do not cross eras.
fn tells_of_tasks(call: &Call, back: Era) -> bool {
    let method = call.outline.method;
    match (call.front, back) {
        (Front::Modern, Era::Modern) => true,
        // Before 2026-07-28 only a client that asks for a task gets one.
        (Front::Legacy, Era::Legacy) => {
            method == Method::TasksList || names_task(method) || call.param("task").is_some()
        }
        _ => false,
    }
}

/// Prepares to seal what a stream of notifications tells of tasks, where it may tell of any.
pub(crate) fn of_stream(
    shared: &Arc<Shared>,
    version: &Arc<VersionTarget>,
    principal: &Principal,
    endpoint: Option<&str>,
) -> Option<Box<Lender>> {
    version.has_tasks.then(|| {
        let (shared, version) = (shared.clone(), version.clone());
        let gives = Gives { loan: None, tasks: Some(Tasks::Told) };
        let principal = Arc::new(principal.clone());
        Box::new(Lender {
            shared,
            principal,
            version,
            endpoint: endpoint.map(Into::into),
            tool: "".into(),
            gives,
        })
    })
}

impl Lending<'_> {
    /// Says whether an answer must be known whole, however long it is.
    pub(crate) fn wants_whole(&self) -> bool {
        self.gives.tasks == Some(Tasks::Listed)
    }

    /// Seals what an answer gives.
    pub(crate) fn sealed(&self, answer: Bytes) -> Bytes {
        let Self { call, version, place, gives } = self;
        Sealing {
            shared: &call.plane.shared,
            principal: &call.principal,
            version,
            place: *place,
            gives: *gives,
        }
        .all(answer)
    }

    pub(crate) fn to_lender(self) -> Box<Lender> {
        Box::new(Lender {
            shared: self.call.plane.shared.clone(),
            principal: self.call.principal.clone(),
            version: self.version.clone(),
            endpoint: self.place.endpoint.map(Into::into),
            tool: self.place.tool.into(),
            gives: self.gives,
        })
    }
}

impl Lender {
    /// Seals what an answer gives.
    pub(crate) fn sealed(&self, answer: Bytes) -> Bytes {
        self.sealing().all(answer)
    }

    /// Makes what finds that in an answer which passes piece by piece.
    pub(crate) fn sift(&self) -> Sift {
        let loan = self.gives.loan.map(|loan| match loan {
            Loan::Cursor(_) => Found::Cursor,
            Loan::State => Found::State,
            Loan::Task => Found::Task,
        });
        let tasks = self.gives.tasks.map(|_| Found::Task);
        Sift::new(&loan.into_iter().chain(tasks).collect::<Vec<_>>())
    }

    /// Seals a text that was found so.
    pub(crate) fn sealed_text(&self, found: Found, raw: &[u8]) -> Bytes {
        match (found, self.gives.loan) {
            (Found::Cursor | Found::State, Some(loan)) => self.sealing().loan(loan, raw),
            _ => self.sealing().task(raw),
        }
    }

    fn sealing(&self) -> Sealing<'_> {
        let Self { shared, principal, version, endpoint, tool, gives } = self;
        Sealing {
            shared,
            principal,
            version,
            place: Place { endpoint: endpoint.as_deref(), tool },
            gives: *gives,
        }
    }
}

/// What is sealed, and for whom.
struct Sealing<'a> {
    shared: &'a Shared,
    principal: &'a Principal,
    version: &'a VersionTarget,
    place: Place<'a>,
    gives: Gives,
}

impl Sealing<'_> {
    fn all(&self, answer: Bytes) -> Bytes {
        let mut edits = Vec::new();
        let found = self.gives.loan.and_then(|loan| Some((loan, find(loan, &answer)?)));
        edits.extend(found.map(|(loan, at)| Edit { at, with: self.loan(loan, at.of(&answer)) }));
        if self.gives.tasks == Some(Tasks::Listed)
            && let Some(page) = mcp::task::page(&answer)
        {
            edits.push(Edit { at: page.all, with: self.theirs(&answer, &page) });
        } else if self.gives.tasks.is_some() {
            let ids = mcp::task::ids(&answer);
            edits.extend(ids.into_iter().map(|at| Edit { at, with: self.task(at.of(&answer)) }));
        }
        splice(&answer, &mut edits)
    }

    fn loan(&self, loan: Loan, raw: &[u8]) -> Bytes {
        quote(&self.shared.opaque.lend(loan.purpose(), self.version, raw, self.principal)).into()
    }

    fn task(&self, raw: &[u8]) -> Bytes {
        let (opaque, place, version) = (&self.shared.opaque, self.place, self.version);
        let id = match self.gives.tasks {
            Some(Tasks::Begun) => opaque.begun_task(place, version, raw, self.principal),
            _ => opaque.told_task(place, version, raw, self.principal),
        };
        quote(&id).into()
    }

    /// Makes the list of those tasks that are the caller's: a backend takes all our callers for one, and may well list
    /// the tasks of all.
    fn theirs(&self, answer: &[u8], page: &Page) -> Bytes {
        let opaque = &self.shared.opaque;
        let mut list = BytesMut::from(&b"["[..]);
        for (task, id) in &page.tasks {
            let known = opaque.known_task(self.place, self.version, id.of(answer), self.principal);
            let Some(known) = known else { continue };
            if list.len() > 1 {
                list.extend_from_slice(b",");
            }
            list.extend_from_slice(&answer[task.range().start..id.range().start]);
            list.extend_from_slice(quote(&known).as_bytes());
            list.extend_from_slice(&answer[id.range().end..task.range().end]);
        }
        list.extend_from_slice(b"]");
        list.freeze()
    }
}

/// Finds a loan in an answer.
fn find(loan: Loan, answer: &[u8]) -> Option<Span> {
    let key: &[u8] = match loan {
        Loan::Cursor(_) => br#""nextCursor""#,
        Loan::State => br#""requestState""#,
        // There may be several, see `mcp::task`.
        Loan::Task => return None,
    };
    // Hardly any answer holds the key, and inside a string its quotes would be escaped.
    memchr::memmem::find(answer, key)?;
    let at = Outline::read(answer).ok()?.result?;
    let result = at.of(answer);
    let found = match loan {
        Loan::Cursor(_) => pick(result, ["nextCursor"])?[0]?,
        Loan::State | Loan::Task => {
            let [kind, state] = pick(result, ["resultType", "requestState"])?;
            let asks =
                kind.and_then(|kind| text(kind.of(result))).is_some_and(|kind| kind == "input_required");
            state.filter(|_| asks)?
        }
    };
    found.of(result).starts_with(b"\"").then(|| found.shifted(at.start))
}

#[cfg(test)]
mod tests;
