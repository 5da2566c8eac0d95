//! Tasks: where their ids stand in the messages of a backend.

use crate::message::{Kind, Outline, Span, member, pick, rows};

/// The name of tasks among the extensions of 2026-07-28.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The member of `_meta` that names the task a message belongs to (2025-11-25, tasks).
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Finds the ids of the backend's tasks in one of its messages, as JSON strings with their quotes.
///
/// They stand in a result or in the `params` of a notification: `taskId` itself, in `task`, in each of `tasks`, and in
/// what `_meta` says of the task a message belongs to; in a request only the last, since any other is the client's.
///
/// Source: MCP 2025-11-25, basic/utilities/tasks; the extension `io.modelcontextprotocol/tasks` of 2026-07-28.
pub fn ids(message: &[u8]) -> Vec<Span> {
    // Hardly any message holds the key, and inside a string its quotes would be escaped.
    if memchr::memmem::find(message, br#""taskId""#).is_none() {
        return Vec::new();
    }
    let Ok(outline) = Outline::read(message) else { return Vec::new() };
    let Some(at) = outline.result.or(outline.params) else { return Vec::new() };
    let holder = at.of(message);
    let Some([own, task, tasks, meta]) = pick(holder, ["taskId", "task", "tasks", "_meta"]) else {
        return Vec::new();
    };
    let inside =
        |object: Span, key: &str| member(object.of(holder), key).map(|found| found.shifted(object.start));
    let related = meta.and_then(|meta| inside(meta, RELATED)).and_then(|related| inside(related, "taskId"));
    let mut found: Vec<Span> = related.into_iter().collect();
    if outline.kind != Kind::Request {
        found.extend(own);
        found.extend(task.and_then(|task| inside(task, "taskId")));
        if let Some(tasks) = tasks {
            let rows = rows(tasks.of(holder), ["taskId"]).unwrap_or_default();
            found.extend(rows.into_iter().filter_map(|(_, [id])| Some(id?.shifted(tasks.start))));
        }
    }
    found.retain(|id| id.of(holder).starts_with(b"\""));
    found.iter().map(|id| id.shifted(at.start)).collect()
}

/// A page of a list of tasks. Spans index into the whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The array of tasks.
    pub all: Span,
    /// Each task, and its id with the quotes; those without one are left out.
    pub tasks: Vec<(Span, Span)>,
    /// The raw string `nextCursor`, where there is a next page.
    pub next_cursor: Option<Span>,
}

/// Takes the answer to `tasks/list` apart; `None` where it is none.
pub fn page(answer: &[u8]) -> Option<Page> {
    let at = Outline::read(answer).ok()?.result?;
    let result = at.of(answer);
    let [tasks, next_cursor] = pick(result, ["tasks", "nextCursor"])?;
    let all = tasks?.shifted(at.start);
    let is_string = |span: &Span| span.of(answer).starts_with(b"\"");
    let task =
        |(task, [id]): (Span, [Option<Span>; 1])| Some((task.shifted(all.start), id?.shifted(all.start)));
    let tasks =
        rows(all.of(answer), ["taskId"])?.into_iter().filter_map(task).filter(|(_, id)| is_string(id));
    let next_cursor = next_cursor.map(|cursor| cursor.shifted(at.start)).filter(is_string);
    Some(Page { all, tasks: tasks.collect(), next_cursor })
}

/// Finds the id of the task that a client's message belongs to, a string with its quotes.
pub fn related(message: &[u8], outline: &Outline) -> Option<Span> {
    let meta = match outline.kind {
        Kind::Request | Kind::Notification => outline.meta?,
        Kind::Response => {
            let result = outline.result?;
            member(result.of(message), "_meta")?.shifted(result.start)
        }
    };
    // Shorter ones are the rule and hold no such key.
    if meta.range().len() <= RELATED.len() {
        return None;
    }
    let related = member(meta.of(message), RELATED)?.shifted(meta.start);
    let id = member(related.of(message), "taskId")?.shifted(related.start);
    id.of(message).starts_with(b"\"").then_some(id)
}

#[cfg(test)]
mod tests;
