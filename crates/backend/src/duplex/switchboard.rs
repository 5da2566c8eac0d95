//! Who gets which message of a conversation: the request it belongs to, the session's stream of news, or nobody.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use mcp::error::{code, error_body, result_body};
use mcp::message::{Kind, Meta, Outline, Span, elements, member, text};
use mcp::method::Method;
use mcp::rewrite::{Edit, splice};

use super::inbox::Inbox;

/// Most requests that wait for answers of one process.
const MAX_REQUESTS: usize = 1024;

/// Most messages, and most bytes of them, that are kept for a stream of news which is not open yet.
const MAX_KEPT: usize = 64;
const MAX_KEPT_BYTES: usize = 256 * 1024;

/// The member of `_meta` that says which `subscriptions/listen` a notification belongs to (2026-07-28).
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Whom a process serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serves {
    /// One session of the older revisions. Its ids are its own, and what belongs to no request belongs to it.
    Session,
    /// Requests of anybody, each by itself. They get ids of ours, and what belongs to none of them is for nobody.
    Anybody,
}

/// The requests that wait for answers of one process, and where everything else goes.
pub(crate) struct Switchboard {
    serves: Serves,
    /// In the order they were asked.
    requests: Vec<Request>,
    /// The session's stream of news.
    news: Option<Arc<Inbox>>,
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    next_number: u64,
}

struct Request {
    number: u64,
    /// The raw id it has at the process.
    id: Bytes,
    /// The raw id of the client, where that is another.
    restore_id: Option<Bytes>,
    progress: Option<Progress>,
    inbox: Arc<Inbox>,
}

/// The raw token of a request's progress, at the process and where that is another the client's.
struct Progress {
    token: Bytes,
    restore: Option<Bytes>,
}

/// A request that was entered.
pub(crate) struct Entered {
    /// What names it here.
    pub(crate) number: u64,
    /// The message as the process gets it.
    pub(crate) message: Bytes,
    /// Where its messages come.
    pub(crate) inbox: Arc<Inbox>,
}

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Delivered {
    /// It found its reader, or waits for it.
    Taken,
    /// It is for nobody, or its reader is too slow.
    Dropped,
    /// It wants this answer.
    Answered(Bytes),
}

impl Switchboard {
    pub(crate) fn new(serves: Serves) -> Self {
        let (requests, kept) = (Vec::new(), VecDeque::new());
        Self { serves, requests, news: None, kept, kept_bytes: 0, next_number: 1 }
    }

    /// Says whether it serves anybody, and not one session.
    pub(crate) fn serves_anybody(&self) -> bool {
        self.serves == Serves::Anybody
    }

    /// Serves one session from now on, unless somebody waits for an answer. Returns whether it does.
    pub(crate) fn begin_session(&mut self) -> bool {
        if self.requests.is_empty() {
            self.serves = Serves::Session;
        }
        self.requests.is_empty()
    }

    /// Enters a request; `None` where too many wait already.
    pub(crate) fn enter(&mut self, message: &Bytes, outline: &Outline) -> Option<Entered> {
        let id = outline.id.filter(|_| self.requests.len() < MAX_REQUESTS)?;
        let number = self.next_number;
        self.next_number += 1;
        let clients_id = message.slice(id.range());
        let token = outline.meta.and_then(|meta| {
            let token = Meta::read(meta.of(message)).progress_token?.shifted(meta.start);
            Some((token, message.slice(token.range())))
        });
        let inbox = Arc::<Inbox>::default();
        let mut request = Request {
            number,
            id: clients_id.clone(),
            restore_id: None,
            progress: None,
            inbox: inbox.clone(),
        };
        let mut edits = Vec::new();
        if self.serves == Serves::Anybody {
            let own = Bytes::from(number.to_string());
            edits.push(Edit { at: id, with: own.clone() });
            request.restore_id = Some(clients_id);
            request.id = own.clone();
            request.progress = token.map(|(at, token)| {
                edits.push(Edit { at, with: own.clone() });
                Progress { token: own, restore: Some(token) }
            });
        } else {
            request.progress = token.map(|(_, token)| Progress { token, restore: None });
        }
        self.requests.push(request);
        Some(Entered { number, message: splice(message, &mut edits), inbox })
    }

    /// Forgets a request nobody waits for any more. Returns its raw id at the process if it was still under way.
    pub(crate) fn forget(&mut self, number: u64) -> Option<Bytes> {
        let at = self.requests.iter().position(|request| request.number == number)?;
        Some(self.requests.remove(at).id)
    }

    /// Opens the session's stream of news, with what was kept for it. One that was open ends.
    pub(crate) fn open_news(&mut self) -> Arc<Inbox> {
        let inbox = Arc::<Inbox>::default();
        for message in self.kept.drain(..) {
            inbox.push(message);
        }
        self.kept_bytes = 0;
        if let Some(before) = self.news.replace(inbox.clone()) {
            before.close();
        }
        inbox
    }

    /// Forgets the stream of news, unless it is another by now.
    pub(crate) fn close_news(&mut self, inbox: &Arc<Inbox>) {
        self.news.take_if(|open| Arc::ptr_eq(open, inbox));
    }

    /// Says whether anybody waits for anything.
    pub(crate) fn is_busy(&self) -> bool {
        !self.requests.is_empty() || self.news.is_some()
    }

    /// Says whether anybody waits for an answer.
    pub(crate) fn is_asked(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Takes everybody out who waits: those for answers, and the stream of news.
    pub(crate) fn clear(&mut self) -> (Vec<Arc<Inbox>>, Option<Arc<Inbox>>) {
        self.kept.clear();
        let requests = self.requests.drain(..).map(|request| request.inbox).collect();
        (requests, self.news.take())
    }

    /// Delivers one line: a message, or a batch of them (2025-03-26).
    pub(crate) fn deliver(&mut self, line: Bytes) -> Vec<Delivered> {
        if line.first() == Some(&b'[') {
            let parts = elements(&line).unwrap_or_default();
            return parts.iter().map(|part| self.deliver_one(line.slice(part.range()))).collect();
        }
        vec![self.deliver_one(line)]
    }

    fn deliver_one(&mut self, message: Bytes) -> Delivered {
        let Ok(outline) = Outline::read(&message) else {
            tracing::debug!(bytes = message.len(), "a backend sent what is no JSON-RPC message");
            return Delivered::Dropped;
        };
        match outline.kind {
            Kind::Response => self.answer(message, &outline),
            Kind::Notification => self.notification(message, &outline),
            Kind::Request => self.request(message, &outline),
        }
    }

    fn answer(&mut self, message: Bytes, outline: &Outline) -> Delivered {
        let id = outline.id.map(|span| message.slice(span.range()));
        let at = match id.as_deref() {
            // An error about a message that could not be read; it can be about one only.
            None | Some(b"null") => (self.requests.len() == 1).then_some(0),
            Some(id) => self.requests.iter().position(|request| is_same(&request.id, id)),
        };
        let Some(at) = at else { return Delivered::Dropped };
        let request = self.requests.remove(at);
        let answer = match outline.id {
            Some(at) => put(&message, at, request.restore_id.as_ref()),
            None => message,
        };
        request.inbox.answer(answer);
        Delivered::Taken
    }

    fn notification(&mut self, message: Bytes, outline: &Outline) -> Delivered {
        let params = outline.params.map(|span| (span.start, message.slice(span.range())));
        let named = |key: &str| {
            let (start, params) = params.as_ref()?;
            Some(member(params, key)?.shifted(*start))
        };
        match outline.method {
            Method::Progress => {
                let Some(token) = named("progressToken") else { return Delivered::Dropped };
                let owner = self.requests.iter().find_map(|request| {
                    let progress = request.progress.as_ref()?;
                    is_same(&progress.token, token.of(&message))
                        .then_some((&request.inbox, &progress.restore))
                });
                let Some((inbox, restore)) = owner else { return Delivered::Dropped };
                taken(inbox.push(put(&message, token, restore.as_ref())))
            }
            // A server ends a subscription with it, and nothing else (2026-07-28).
            Method::Cancelled if self.serves == Serves::Anybody => {
                let id = named("requestId").map(|span| message.slice(span.range()));
                let at = id.and_then(|id| self.requests.iter().position(|one| is_same(&one.id, &id)));
                let Some(at) = at else { return Delivered::Dropped };
                self.requests.remove(at).inbox.close();
                Delivered::Taken
            }
            _ => match self.subscription(&message, outline) {
                Some(delivered) => delivered,
                None if self.serves == Serves::Anybody => Delivered::Dropped,
                None => {
                    let is_news = matches!(
                        outline.method,
                        Method::ToolsListChanged
                            | Method::PromptsListChanged
                            | Method::ResourcesListChanged
                            | Method::ResourceUpdated
                    );
                    self.place(message, is_news)
                }
            },
        }
    }

    /// Delivers what belongs to a subscription.
    fn subscription(&self, message: &Bytes, outline: &Outline) -> Option<Delivered> {
        let meta = outline.meta?;
        let id = member(meta.of(message), SUBSCRIPTION)?.shifted(meta.start);
        let request = self.requests.iter().find(|one| is_same(&one.id, id.of(message)))?;
        Some(taken(request.inbox.push(put(message, id, request.restore_id.as_ref()))))
    }

    fn request(&mut self, message: Bytes, outline: &Outline) -> Delivered {
        let id = outline.id.map(|span| message.slice(span.range())).unwrap_or_default();
        if outline.method == Method::Ping {
            return Delivered::Answered(result_body(&id, b"{}"));
        }
        let placed = match self.serves {
            Serves::Session => self.place(message, false),
            Serves::Anybody => Delivered::Dropped,
        };
        if placed == Delivered::Taken {
            return placed;
        }
        let reason = "the client cannot be asked now";
        Delivered::Answered(error_body(Some(&id), code::METHOD_NOT_FOUND, reason, None))
    }

    /// Finds a stream of the session for a message that names none: that of its only request, for nobody else can
    /// have caused it; else the stream of news; else that of the latest request. News goes to its own stream first.
    fn place(&mut self, message: Bytes, is_news: bool) -> Delivered {
        let only = self.requests.first().filter(|_| self.requests.len() == 1 && !is_news);
        let streams =
            [only.map(|one| &one.inbox), self.news.as_ref(), self.requests.last().map(|one| &one.inbox)];
        if let Some(inbox) = streams.into_iter().flatten().next() {
            return taken(inbox.push(message));
        }
        if message.len() > MAX_KEPT_BYTES {
            return Delivered::Dropped;
        }
        self.kept_bytes += message.len();
        self.kept.push_back(message);
        while self.kept.len() > MAX_KEPT || self.kept_bytes > MAX_KEPT_BYTES {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.kept_bytes -= oldest.len();
        }
        Delivered::Taken
    }
}

fn taken(has_room: bool) -> Delivered {
    if has_room { Delivered::Taken } else { Delivered::Dropped }
}

/// Puts a client's own text in the place of ours.
fn put(message: &Bytes, at: Span, restore: Option<&Bytes>) -> Bytes {
    match restore {
        Some(with) => splice(message, &mut [Edit { at, with: with.clone() }]),
        None => message.clone(),
    }
}

/// Says whether two raw ids are the same, in whatever spelling.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one == other {
        return true;
    }
    match (text(one), text(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => number(one).is_some_and(|one| number(other) == Some(one)),
        _ => false,
    }
}

/// Reads a number; whole ones that are written otherwise are what some libraries make of large ids.
fn number(raw: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(raw).ok()?;
    let whole = |number: f64| (number.fract() == 0.0 && number.abs() < 1e18).then_some(number as i128);
    text.parse().ok().or_else(|| whole(text.parse().ok()?))
}

#[cfg(test)]
mod tests;
