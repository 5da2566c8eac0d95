//! A request to a backend over HTTP+SSE as one over streamable HTTP would be, and its answer likewise.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::endpoint::Endpoint;
use http::{HeaderMap, HeaderValue, Method as Verb, Response, StatusCode};
use mcp::error::{code, error_body};
use mcp::headers::{LAST_EVENT_ID, SESSION_ID};
use mcp::message::{Kind, Outline, member};
use mcp::method::Method;
use tokio::time::Instant;

use super::channel::Channel;
use crate::duplex::answers;
use crate::duplex::messages::{Belongs, Messages};
use crate::error::Error;
use crate::outgoing::Outgoing;
use crate::pool::Backends;
use crate::reply::Reply;

/// How long a post may take to end whose answer is there already, before its connection is given up.
const END_PATIENCE: Duration = Duration::from_millis(50);

impl Backends {
    /// Sends a request to a backend over HTTP+SSE and waits for the beginning of its answer. Nothing is sent twice.
    ///
    /// Cancel: the request may run, its answer is thrown away. A session that was being opened is ended.
    pub(crate) async fn send_over_events(
        &self,
        endpoint: &Endpoint,
        outgoing: Outgoing,
        now: Instant,
        deadline: Instant,
    ) -> Result<Response<Reply>, Error> {
        let Outgoing { method: verb, mut headers, body } = outgoing;
        let (settings, streams) = (&*self.settings, &self.settings.event_streams);
        let session = headers.remove(SESSION_ID);
        headers.remove(LAST_EVENT_ID);
        let url = endpoint.url.as_str();
        let session = session.as_ref().map(|id| id.to_str().unwrap_or_default());
        match (&verb, session) {
            (&Verb::POST, _) => {}
            (&Verb::GET, Some(id)) => {
                let Some(channel) = streams.find(id, url) else {
                    return Ok(answers::empty(StatusCode::NOT_FOUND, settings));
                };
                let inbox = channel.board.open_news();
                return Ok(answers::of_messages(Messages::new(channel, inbox, Belongs::News), settings));
            }
            (&Verb::DELETE, Some(id)) => {
                let left = streams.leave(id, url);
                let status = if left.is_some() { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND };
                if let Some(channel) = left {
                    channel.close();
                }
                return Ok(answers::empty(status, settings));
            }
            _ => return Ok(answers::empty(StatusCode::METHOD_NOT_ALLOWED, settings)),
        }
        let outline = match Outline::read(&body) {
            Ok(outline) => outline,
            Err(malformed) => return Ok(answers::malformed(&malformed, settings)),
        };
        let post = Post { headers, message: body, outline, deadline };
        match session {
            Some(id) => match streams.find(id, url) {
                Some(channel) => post.in_session(&channel, self).await,
                None => Ok(answers::empty(StatusCode::NOT_FOUND, settings)),
            },
            None if post.outline.kind == Kind::Request && post.outline.method == Method::Initialize => {
                self.begin_event_session(endpoint, post, now).await
            }
            None => {
                let id = post.outline.id.map(|id| id.of(&post.message));
                let reason = "a session is needed: begin with initialize";
                Ok(answers::refused(error_body(id, code::INVALID_REQUEST, reason, None), settings))
            }
        }
    }

    /// Opens a stream, and gives it to a session if `initialize` is answered with a result.
    async fn begin_event_session(
        &self,
        endpoint: &Endpoint,
        post: Post,
        now: Instant,
    ) -> Result<Response<Reply>, Error> {
        let settings = &*self.settings;
        if !settings.event_streams.has_room() {
            return Err(Error::unreachable("too many event streams are open already"));
        }
        let opened_by = post.deadline.min(now + settings.probe);
        let opened = self.open_events(endpoint, &post.headers, now, opened_by).await?;
        let channel = Channel::start(endpoint, opened, self);
        let beginning = Beginning(Some(channel.clone()));
        let asked = match post.ask(&channel, self).await? {
            Asked::Begun(messages) => messages,
            Asked::Refused(status) => return Ok(answers::empty(status, settings)),
        };
        if asked.answer().is_some_and(|answer| member(answer, "error").is_some()) {
            // No session: the stream ends with `beginning`.
            return Ok(answers::of_messages(asked, settings));
        }
        let id = answers::new_id(settings)?;
        let mut response = answers::of_messages(asked, settings);
        let value = HeaderValue::from_str(&id).expect("hexadecimal digits are printable");
        response.headers_mut().insert(SESSION_ID, value);
        settings.event_streams.enter(id, channel);
        beginning.succeed();
        Ok(response)
    }
}

/// A message on its way.
struct Post {
    headers: HeaderMap,
    message: Bytes,
    outline: Outline,
    deadline: Instant,
}

/// What became of a request.
enum Asked {
    /// Its answer has begun.
    Begun(Messages),
    /// The backend did not take it.
    Refused(StatusCode),
}

impl Post {
    async fn in_session(self, channel: &Arc<Channel>, backends: &Backends) -> Result<Response<Reply>, Error> {
        let settings = &backends.settings;
        if self.outline.kind == Kind::Request {
            return Ok(match self.ask(channel, backends).await? {
                Asked::Begun(messages) => answers::of_messages(messages, settings),
                Asked::Refused(status) => answers::empty(status, settings),
            });
        }
        let status = channel.post(backends, self.headers, self.message, self.deadline).await?;
        let status = if status.is_success() { StatusCode::ACCEPTED } else { status };
        Ok(answers::empty(status, settings))
    }

    /// Posts a request and waits for its first message, which may be there before the post is answered.
    async fn ask(self, channel: &Arc<Channel>, backends: &Backends) -> Result<Asked, Error> {
        let entered = channel.board.enter(&self.message, &self.outline)?;
        let belongs = Belongs::Request { number: entered.number, is_cancelled_by_leaving: false };
        let mut messages = Messages::new(channel.clone(), entered.inbox, belongs);
        let post = channel.post(backends, self.headers, entered.message, self.deadline);
        let mut post = std::pin::pin!(post);
        let status = tokio::select! {
            biased;
            begun = messages.begin(self.deadline) => {
                begun?;
                let _ = tokio::time::timeout(END_PATIENCE, post).await;
                return Ok(Asked::Begun(messages));
            }
            status = &mut post => status?,
        };
        if !status.is_success() {
            return Ok(Asked::Refused(status));
        }
        messages.begin(self.deadline).await?;
        Ok(Asked::Begun(messages))
    }
}

/// A stream whose session is being opened; it ends with this unless it got one.
struct Beginning(Option<Arc<Channel>>);

impl Beginning {
    fn succeed(mut self) {
        self.0 = None;
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        if let Some(channel) = self.0.take() {
            channel.close();
        }
    }
}
