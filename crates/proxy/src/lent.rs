//! What a backend gave a client, shown to us again: opened on its way back, which is to the version that made it.
//! [`crate::lending`] seals it.

use std::sync::Arc;

use catalog::access::Principal;
use catalog::endpoint::Era;
use mcp::headers::{NAME, encode_name};
use mcp::message::{Outline, Span, text};
use mcp::method::Method;
use mcp::rewrite::{Edit, splice};
use routing::target::ServerTarget;
use routing::version::VersionTarget;

use crate::error::Error;
use crate::opaque::{Opaque, Task};
use crate::plane::{Call, Front};

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

/// What a request shows again.
pub(crate) struct Shown {
    /// The version that made it.
    pub(crate) version: Arc<VersionTarget>,
    /// Puts the backend's own text where the sealed one stands; `None` for the state of a parked call, which never was
    /// a backend's.
    pub(crate) edit: Option<Edit>,
}

/// Says whether a method is one of tasks.
pub(crate) fn is_about_tasks(method: Method) -> bool {
    method == Method::TasksList || names_task(method)
}

/// Says whether a method is about one task, which its parameters name.
pub(crate) fn names_task(method: Method) -> bool {
    matches!(method, Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksResult)
}

/// Returns what the answer to a method may give, except ids of tasks.
pub(crate) fn of_answer(front: Front, back: Era, method: Method) -> Option<Loan> {
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

/// Opens what a request shows at an endpoint. `None`: it shows nothing, or in a legacy session, which holds its version,
/// no task.
///
/// What was changed, is another caller's or another list's, or of a version that is gone, is refused.
pub(crate) fn shown(
    call: &Call,
    server: &str,
    endpoint: &str,
    is_held: bool,
) -> Result<Option<Shown>, Error> {
    let Some((loan, at)) = in_request(call, is_held) else { return Ok(None) };
    let server = call.table.server(server);
    let opened = match loan {
        Loan::Task => task_at(call, at, endpoint).map(|(shown, _)| shown),
        loan => server.and_then(|server| open(call, server, loan, at)),
    };
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

/// Opens the id of the task that a request names at an endpoint.
pub(crate) fn task_of(call: &Call, endpoint: &str) -> Result<(Shown, Task), Error> {
    let found = call.outline.task_id.and_then(|at| task_at(call, at, endpoint));
    found.ok_or_else(|| Loan::Task.unknown())
}

/// Makes the call name the task it belongs to as its backend does. `None`: it belongs to none that this endpoint knows;
/// it may be one of the client's own.
pub(crate) fn as_related(call: &Call, endpoint: &str) -> Option<Call> {
    let at = mcp::task::related(&call.body, &call.outline)?;
    let (shown, _) = task_at(call, at, endpoint)?;
    as_lent(call, &shown, &[]).ok()?
}

fn task_at(call: &Call, at: Span, endpoint: &str) -> Option<(Shown, Task)> {
    let shown = text(at.of(&call.body))?;
    let (opaque, principal) = opaque(call);
    let task = opaque.shown_task(&shown, endpoint, principal)?;
    let server = call.table.server(&task.server)?;
    let version = server.version(&task.label).filter(|version| version.identity == task.identity)?;
    let edit = Some(Edit { at, with: task.raw.clone() });
    Some((Shown { version: version.clone(), edit }, task))
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
    let (opaque, principal) = opaque(call);
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

fn opaque(call: &Call) -> (&Opaque, &Principal) {
    (&call.plane.shared.opaque, &call.principal)
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
    pub(crate) fn purpose(self) -> &'static str {
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
}
