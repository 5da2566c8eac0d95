//! Tasks: one, whose id says whose it is, and all that a caller has at the backends.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use catalog::access::Scope;
use catalog::endpoint::Era;
use futures_util::StreamExt;
use http::Response;
use http_body_util::{BodyExt, Limited};
use mcp::headers::Accepts;
use mcp::message::{Outline, text};
use mcp::task::Page;
use routing::target::VirtualTarget;
use routing::version::VersionTarget;
use tokio::time::{Duration, timeout};

use crate::admit;
use crate::error::Error;
use crate::exchange::{self, Exchange};
use crate::lent::{self, Loan};
use crate::opaque::{Place, Resting};
use crate::outbound::Body;
use crate::plane::{Call, Front};
use crate::reply;
use crate::sessions::ClientSession;

/// How long a backend has for its page. One that takes longer costs its own tasks, and the client no patience.
const PAGE_TIME: Duration = Duration::from_secs(10);

/// How many backends are asked at once.
const AT_ONCE: usize = 8;

/// Longest page of a backend, and of ours. A backend whose page has no room is asked for it with our next one.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Longest cursor of ours; it holds those of the backends.
const MAX_CURSOR_BYTES: usize = 64 * 1024;

/// `tasks/…`: the id says whose the task is. What its tool needs is needed for the task, too.
pub(super) async fn one(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Option<Arc<ClientSession>>,
) -> Result<Response<Body>, Error> {
    let front = call.front.era();
    if !target.has_tasks(front) {
        return Err(call.unknown_method());
    }
    let (shown, task) = lent::task_of(call, &target.binding)?;
    if !is_behind(target, &task.server) {
        return Err(Loan::Task.unknown());
    }
    let is_theirs =
        |tool: &&routing::names::Tool| target.backends[tool.backend].key.path.as_str() == &*task.server;
    match target.face(front).tool(&task.tool).filter(is_theirs) {
        Some(tool) => admit::call_tool(call, target, tool)?,
        None => {
            let needs = needs(target, front, &task.server, &task.tool);
            admit::may(&call.table, &call.principal, &target.required_scopes, &needs)?;
        }
    }
    let version = shown.version.clone();
    if version.era_toward(front) != front {
        return Err(call.unknown_method());
    }
    // What a modern client shows is opened on its way out.
    let opened = match call.front {
        Front::Legacy => lent::as_lent(call, &shown, &[])?,
        Front::Modern => None,
    };
    let call = opened.as_ref().unwrap_or(call);
    let place = Place { endpoint: Some(&target.binding), tool: &task.tool };
    exchange::run(Exchange { call, version, session, renamed: None, place }).await
}

fn is_behind(target: &VirtualTarget, server: &str) -> bool {
    target.backends.iter().any(|backend| backend.key.path.as_str() == server)
}

/// Returns the scopes for a task that a tool of a server began. Where the tool is not known, or not mapped any more, it
/// may have been any, and so they are those of all.
fn needs(target: &VirtualTarget, front: Era, server: &str, tool: &str) -> Vec<Scope> {
    let face = target.face(front);
    let is_theirs = |tool: &&routing::names::Tool| target.backends[tool.backend].key.path.as_str() == server;
    if let Some(tool) = face.tool(tool).filter(is_theirs) {
        return tool.needs.clone();
    }
    let mut needs: Vec<Scope> = Vec::new();
    for scope in face.tools.iter().filter(is_theirs).flat_map(|tool| &tool.needs) {
        if !needs.contains(scope) {
            needs.push(scope.clone());
        }
    }
    needs
}

/// `tasks/list` (2025-11-25): a page of each backend that lists tasks, side by side, and of it what the caller may see.
///
/// The cursor holds those of the backends that have more.
pub(super) async fn list(
    call: &Call,
    target: &Arc<VirtualTarget>,
    session: Option<Arc<ClientSession>>,
) -> Result<Response<Body>, Error> {
    let Some(session) = session.filter(|_| target.lists_tasks()) else { return Err(call.unknown_method()) };
    let places = match call.outline.cursor {
        Some(at) => going_on(call, target, &text(at.of(&call.body)).unwrap_or_default())?,
        None => from_the_start(call, target, &session),
    };
    let asked: Vec<_> =
        places.iter().map(|(version, resting)| page(call, target, &session, version, resting)).collect();
    let mut pages = futures_util::stream::iter(asked).buffered(AT_ONCE);
    let (mut tasks, mut more) = (BytesMut::new(), Vec::new());
    let mut at = places.iter();
    while let Some((version, resting)) = at.next() {
        let Some((answer, page)) = pages.next().await.flatten() else { continue };
        if !tasks.is_empty() && tasks.len() + page.all.range().len() > MAX_PAGE_BYTES {
            let left =
                std::iter::once((version, resting)).chain(at.map(|(version, resting)| (version, resting)));
            more.extend(left.map(|(_, resting)| resting.clone()));
            break;
        }
        for (task, id) in &page.tasks {
            if may_see(call, target, id.of(&answer)) {
                tasks.extend_from_slice(if tasks.is_empty() { b"" } else { b"," });
                tasks.extend_from_slice(task.of(&answer));
            }
        }
        let next = page.next_cursor.map(|next| answer.slice(next.range()));
        more.extend(next.map(|next| Resting { cursor: Some(next), ..Resting::before(version) }));
    }
    Ok(reply::result(call, &result(call, target, &tasks, more)))
}

/// Names all that list tasks, also versions that were switched away from, where tasks of the session may still run.
fn from_the_start(
    call: &Call,
    target: &VirtualTarget,
    session: &ClientSession,
) -> Vec<(Arc<VersionTarget>, Resting)> {
    let open = session.open_backends();
    let switched = open.iter().filter(|(key, _)| target.backends.iter().all(|backend| backend.key != *key));
    let switched = switched.filter(|(key, _)| is_behind(target, key.path.as_str()));
    let switched =
        switched.filter_map(|(key, _)| call.table.server(key.path.as_str())?.version(key.label.as_str()));
    let all = target.backends.iter().chain(switched).filter(|version| version.lists_tasks());
    all.map(|version| (version.clone(), Resting::before(version))).collect()
}

/// Reads where the list goes on. Versions that are gone have nothing more.
fn going_on(
    call: &Call,
    target: &VirtualTarget,
    cursor: &str,
) -> Result<Vec<(Arc<VersionTarget>, Resting)>, Error> {
    let resting = call.plane.shared.opaque.open_pages(cursor, &target.binding, &call.principal);
    let resting = resting.ok_or_else(|| Loan::Cursor(call.outline.method).unknown())?;
    let there = resting.into_iter().filter_map(|resting| {
        let version = call.table.server(&resting.server)?.version(&resting.label)?;
        let is_there = version.identity == resting.identity && is_behind(target, &resting.server);
        (is_there && version.lists_tasks()).then(|| (version.clone(), resting))
    });
    Ok(there.collect())
}

/// Asks a backend for a page. `None`: it costs its own tasks.
async fn page(
    call: &Call,
    target: &VirtualTarget,
    session: &Arc<ClientSession>,
    version: &Arc<VersionTarget>,
    resting: &Resting,
) -> Option<(Bytes, Page)> {
    let asked = asked(call, resting)?;
    let place = Place { endpoint: Some(&target.binding), tool: "" };
    let (session, version) = (Some(session.clone()), version.clone());
    let whole = async {
        let exchange = Exchange { call: &asked, version, session, renamed: None, place };
        let answer = exchange::run(exchange).await.ok()?;
        Some(Limited::new(answer.into_body(), MAX_PAGE_BYTES).collect().await.ok()?.to_bytes())
    };
    let answer = timeout(PAGE_TIME, whole).await.ok().flatten();
    let page = answer.and_then(|answer| Some((mcp::task::page(&answer)?, answer)));
    if page.is_none() {
        tracing::info!(server.path = resting.server, "a backend lists no tasks; its own are left out");
    }
    page.map(|(page, answer)| (answer, page))
}

/// A request of ours for a page, under the client's id.
fn asked(call: &Call, resting: &Resting) -> Option<Call> {
    let id = std::str::from_utf8(call.id()?).ok()?;
    let cursor = resting.cursor.as_ref().map(|cursor| String::from_utf8_lossy(cursor));
    let params = cursor.map_or(String::new(), |cursor| format!(r#","params":{{"cursor":{cursor}}}"#));
    let body = Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/list"{params}}}"#));
    let accepts = Accepts { json: true, events: false };
    Some(Call { outline: Outline::read(&body).ok()?, body, accepts, ..call.clone() })
}

/// Says whether the caller may use the tool that began a task, now.
fn may_see(call: &Call, target: &VirtualTarget, id: &[u8]) -> bool {
    let opaque = &call.plane.shared.opaque;
    let task = text(id).and_then(|id| opaque.shown_task(&id, &target.binding, &call.principal));
    task.is_some_and(|task| {
        let needs = needs(target, call.front.era(), &task.server, &task.tool);
        call.table.missing(&call.principal, &needs).is_none()
    })
}

/// Writes `{"tasks":[…],"nextCursor":…}`.
fn result(call: &Call, target: &VirtualTarget, tasks: &[u8], mut more: Vec<Resting>) -> BytesMut {
    let mut room = MAX_CURSOR_BYTES;
    more.retain(|resting| {
        let needed = resting.cursor.as_ref().map_or(0, Bytes::len) + 256;
        let fits = needed <= room;
        room -= if fits { needed } else { 0 };
        fits
    });
    let mut result = BytesMut::with_capacity(tasks.len() + 256);
    result.put_slice(br#"{"tasks":["#);
    result.put_slice(tasks);
    result.put_u8(b']');
    if !more.is_empty() {
        let cursor = call.plane.shared.opaque.seal_pages(&more, &target.binding, &call.principal);
        result.put_slice(format!(r#","nextCursor":"{cursor}""#).as_bytes());
    }
    result.put_u8(b'}');
    result
}
