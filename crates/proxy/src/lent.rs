//! What a backend gives a client to be shown to it again, cursors, `requestState` and ids of tasks: sealed on its way
//! out together with the version that made it, and opened on its way back, which is to that version.
//!
//! A legacy session holds its version already, and so a cursor given in one passes as it is. A task may outlive its
//! session, and backends take all our callers for one: its id is sealed everywhere.

use std::sync::Arc;

use bytes::Bytes;
use catalog::access::Principal;
use catalog::endpoint::Era;
use mcp::headers::{NAME, encode_name};
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
    /// The id of a task.
    Task,
}

/// What the answer to a request may give, and on whose behalf.
#[derive(Clone, Copy)]
pub(crate) struct Lending<'a> {
    pub(crate) call: &'a Call,
    pub(crate) version: &'a Arc<VersionTarget>,
    pub(crate) gives: Gives,
}

/// What may be in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gives {
    /// A cursor or a state.
    pub(crate) loan: Option<Loan>,
    /// Ids of tasks besides.
    pub(crate) tasks: bool,
}

/// The same for an answer that comes later, in a stream.
pub(crate) struct Lender {
    shared: Arc<Shared>,
    principal: Arc<Principal>,
    version: Arc<VersionTarget>,
    gives: Gives,
}

/// What a request shows again.
pub(crate) struct Shown {
    /// The version that made it.
    pub(crate) version: Arc<VersionTarget>,
    /// Puts the backend's own text where the sealed one stands; `None` for the state of a parked call, which never was
    /// a backend's.
    pub(crate) edit: Option<Edit>,
}

/// Says what of an answer is sealed. `None`: nothing in it would have to find its way back.
pub(crate) fn lending<'a>(
    call: &'a Call,
    version: &'a Arc<VersionTarget>,
    back: Era,
    is_held: bool,
) -> Option<Lending<'a>> {
    let loan = if is_held { None } else { of_answer(call.front, back, call.outline.method) };
    let tasks = version.has_tasks && tells_of_tasks(call, back);
    (loan.is_some() || tasks).then_some(Lending { call, version, gives: Gives { loan, tasks } })
}

/// Says whether the answer may hold ids of tasks. They do not cross eras.
fn tells_of_tasks(call: &Call, back: Era) -> bool {
    match (call.front, back) {
        (Front::Modern, Era::Modern) => true,
        // Before 2026-07-28 only a client that asks for a task gets one.
        (Front::Legacy, Era::Legacy) => is_about_tasks(call.outline.method) || call.param("task").is_some(),
        _ => false,
    }
}

/// Says whether a method is one of tasks.
pub(crate) fn is_about_tasks(method: Method) -> bool {
    method == Method::TasksList || names_task(method)
}

/// Says whether a method is about one task, which its parameters name.
pub(crate) fn names_task(method: Method) -> bool {
    matches!(method, Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksResult)
}

/// Prepares to seal what a stream of notifications tells of tasks, where it may tell of any.
pub(crate) fn of_stream(
    shared: &Arc<Shared>,
    version: &Arc<VersionTarget>,
    principal: &Principal,
) -> Option<Box<Lender>> {
    version.has_tasks.then(|| {
        let gives = Gives { loan: None, tasks: true };
        let (shared, version) = (shared.clone(), version.clone());
        Box::new(Lender { shared, principal: Arc::new(principal.clone()), version, gives })
    })
}

fn of_answer(front: Front, back: Era, method: Method) -> Option<Loan> {
    match method {
        Method::ToolsList
        | Method::PromptsList
        | Method::ResourcesList
        | Method::TemplatesList
        | Method::TasksList => Some(Loan::Cursor(method)),
        Method::Discover | Method::Listen | Method::Complete => None,
        // A legacy backend's questions are ours to put, and so is the state that goes with them.
        _ => (front == Front::Modern && back == Era::Modern).then_some(Loan::State),
    }
}

/// Opens what a request shows. `None`: it shows nothing, or in a legacy session, which holds its version, no task.
///
/// What was changed, is another caller's or another list's, or of a version that is gone, is refused.
pub(crate) fn shown(call: &Call, server: &str, is_held: bool) -> Result<Option<Shown>, Error> {
    let Some((loan, at)) = in_request(call, is_held) else { return Ok(None) };
    let server = call.table.server(server);
    let opened = server.and_then(|server| open(call, server, loan, at));
    let is_plain = |server: &Arc<ServerTarget>| {
        let has_tasks = |label| server.version(label).is_some_and(|version| version.has_tasks);
        loan == Loan::Task && !server.labels().any(has_tasks)
    };
    match opened {
        // What never was sealed is for the backend to refuse.
        None if server.is_some_and(is_plain) => Ok(None),
        None => Err(loan.unknown()),
        shown => Ok(shown),
    }
}

/// Finds the one of these versions' servers that has the task a request names, and its version.
pub(crate) fn task_of(call: &Call, versions: &[Arc<VersionTarget>]) -> Result<Shown, Error> {
    let of = |version: &Arc<VersionTarget>| shown(call, version.key.path.as_str(), true).ok().flatten();
    versions.iter().find_map(of).ok_or_else(|| Loan::Task.unknown())
}

fn in_request(call: &Call, is_held: bool) -> Option<(Loan, Span)> {
    let (method, outline) = (call.outline.method, &call.outline);
    if names_task(method) {
        return outline.task_id.map(|at| (Loan::Task, at));
    }
    if is_held {
        return None;
    }
    match of_answer(call.front, Era::Modern, method)? {
        Loan::State | Loan::Task => outline.request_state.map(|at| (Loan::State, at)),
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
    let mut lent = Call { body, outline, ..call.clone() };
    if call.front == Front::Modern
        && names_task(call.outline.method)
        && let Some(id) = lent.outline.task_id.and_then(|at| text(at.of(&lent.body)))
    {
        lent.headers.insert(NAME, encode_name(&id));
    }
    Ok(Some(lent))
}

impl Loan {
    /// What it is sealed for.
    fn purpose(self) -> &'static str {
        match self {
            Self::Cursor(list) => list.as_str(),
            Self::State => "round",
            Self::Task => "task",
        }
    }

    pub(crate) fn unknown(self) -> Error {
        let reason = match self {
            Self::Cursor(_) => "the cursor is not of this list; begin it again",
            Self::Task => "no such task",
            Self::State => "requestState is not of a call that waits; begin the call again",
        };
        Error::InvalidParams(reason.into())
    }

    /// The key under which it stands in an answer, quotes and all.
    fn key(self) -> &'static [u8] {
        match self {
            Self::Cursor(_) => br#""nextCursor""#,
            Self::State => br#""requestState""#,
            Self::Task => br#""taskId""#,
        }
    }

    /// Finds it in an answer.
    fn find(self, answer: &[u8]) -> Option<Span> {
        // Hardly any answer holds the key, and inside a string its quotes would be escaped.
        memchr::memmem::find(answer, self.key())?;
        let at = Outline::read(answer).ok()?.result?;
        let result = at.of(answer);
        let found = match self {
            // There may be several, see `mcp::task`.
            Self::Task => return None,
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
}

impl Gives {
    /// Says by the beginning of a long answer whether all of it must be known. Lists name the next page at their end; an
    /// answer that asks or names a task is short, but for what it asks.
    fn may_be_in(self, begun: &[u8]) -> bool {
        let has = |key: &[u8]| memchr::memmem::find(begun, key).is_some();
        let has_loan = |loan| match loan {
            Loan::Cursor(_) => true,
            loan => has(loan.key()) || has(br#""input_required""#),
        };
        self.loan.is_some_and(has_loan) || (self.tasks && has(Loan::Task.key()))
    }

    fn sealed(self, answer: Bytes, shared: &Shared, version: &VersionTarget, principal: &Principal) -> Bytes {
        let seal = |loan: Loan, at: Span| {
            let sealed = shared.opaque.lend(loan.purpose(), version, at.of(&answer), principal);
            Edit { at, with: quote(&sealed).into() }
        };
        let mut edits = Vec::new();
        edits.extend(self.loan.and_then(|loan| Some(seal(loan, loan.find(&answer)?))));
        if self.tasks {
            edits.extend(mcp::task::ids(&answer).into_iter().map(|at| seal(Loan::Task, at)));
        }
        splice(&answer, &mut edits)
    }
}

impl Lending<'_> {
    /// Seals what an answer gives.
    pub(crate) fn sealed(&self, answer: Bytes) -> Bytes {
        self.gives.sealed(answer, &self.call.plane.shared, self.version, &self.call.principal)
    }

    /// Says by the beginning of a long answer whether all of it must be known.
    pub(crate) fn may_be_in(&self, begun: &[u8]) -> bool {
        self.gives.may_be_in(begun)
    }

    pub(crate) fn to_lender(self) -> Box<Lender> {
        Box::new(Lender {
            shared: self.call.plane.shared.clone(),
            principal: self.call.principal.clone(),
            version: self.version.clone(),
            gives: self.gives,
        })
    }
}

impl Lender {
    /// Seals what an answer gives.
    pub(crate) fn sealed(&self, answer: Bytes) -> Bytes {
        self.gives.sealed(answer, &self.shared, &self.version, &self.principal)
    }
}

#[cfg(test)]
mod tests;
