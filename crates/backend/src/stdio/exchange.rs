//! A request to a command as one over HTTP would be, and the answer as HTTP would bring it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method as Verb, Response, StatusCode};
use mcp::era::Revision;
use mcp::error::{code, error_body};
use mcp::headers::{PROTOCOL_VERSION, SESSION_ID};
use mcp::message::{Kind, Outline, member};
use mcp::method::Method;
use tokio::time::Instant;

use super::Stdio;
use super::process::{Process, Start};
use crate::duplex::answers;
use crate::duplex::messages::{Belongs, Messages};
use crate::duplex::switchboard::Serves;
use crate::error::Error;
use crate::outgoing::Outgoing;
use crate::reply::Reply;
use crate::settings::Settings;

impl Stdio {
    /// Sends a request to a command and waits for the beginning of its answer.
    ///
    /// Nothing is ever sent twice, and a process that ended is started again for a new session only.
    ///
    /// Cancel: a request of a session goes on, its answer is thrown away; one without a session is cancelled. A
    /// session that was being opened is ended.
    pub(crate) async fn send(
        &self,
        name: &str,
        outgoing: Outgoing,
        settings: &Settings,
        deadline: Instant,
    ) -> Result<Response<Reply>, Error> {
        if !self.has(name) {
            return Err(Error::unreachable(format!("the configuration has no command {name}")));
        }
        let session = outgoing.headers.get(SESSION_ID).map(|id| id.to_str().unwrap_or_default());
        match (&outgoing.method, session) {
            (&Verb::POST, _) => {}
            (&Verb::GET, Some(id)) => return Ok(self.listen(name, id, settings)),
            (&Verb::DELETE, Some(id)) => {
                let was_there = self.running.leave(id, name);
                let status = if was_there { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND };
                return Ok(answers::empty(status, settings));
            }
            _ => return Ok(answers::empty(StatusCode::METHOD_NOT_ALLOWED, settings)),
        }
        let outline = match Outline::read(&outgoing.body) {
            Ok(outline) => outline,
            Err(malformed) => return Ok(answers::malformed(&malformed, settings)),
        };
        let post = Post { name, message: outgoing.body, outline, settings, deadline };
        match session {
            Some(id) => self.in_session(post, id).await,
            None if post.outline.kind == Kind::Request && post.outline.method == Method::Initialize => {
                self.begin_session(post).await
            }
            None if is_modern(&outgoing.headers) => self.by_itself(post).await,
            None => {
                let id = post.outline.id.map(|id| id.of(&post.message));
                let reason = "a session is needed: begin with initialize";
                Ok(answers::refused(error_body(id, code::INVALID_REQUEST, reason, None), settings))
            }
        }
    }

    fn listen(&self, name: &str, id: &str, settings: &Settings) -> Response<Reply> {
        let Some(process) = self.running.session(id, name) else {
            return answers::empty(StatusCode::NOT_FOUND, settings);
        };
        let inbox = process.board.open_news();
        answers::of_messages(Messages::new(process, inbox, Belongs::News), settings)
    }

    async fn in_session(&self, post: Post<'_>, id: &str) -> Result<Response<Reply>, Error> {
        let Some(process) = self.running.session(id, post.name) else {
            return Ok(answers::empty(StatusCode::NOT_FOUND, post.settings));
        };
        if post.outline.kind == Kind::Request {
            return post
                .ask(&process, Serves::Session)
                .await
                .map(|asked| answers::of_messages(asked, post.settings));
        }
        process.write(post.message, post.deadline).await?;
        Ok(answers::empty(StatusCode::ACCEPTED, post.settings))
    }

    /// Starts a process and gives it to a session if it answers `initialize` with a result.
    async fn begin_session(&self, mut post: Post<'_>) -> Result<Response<Reply>, Error> {
        post.deadline = post.deadline.min(Instant::now() + self.limits.start);
        let process = match self.running.take_spared(post.name) {
            Some(process) => process,
            None => {
                let start = self.start(&post, Serves::Session).await?;
                self.running.begin(|| start.now())?
            }
        };
        let beginning = Beginning(Some(process.clone()));
        let asked = post.ask(&process, Serves::Session).await?;
        if asked.answer().is_some_and(|answer| member(answer, "error").is_some()) {
            // No session: the process ends with `beginning`.
            return Ok(answers::of_messages(asked, post.settings));
        }
        let id = answers::new_id(post.settings)?;
        let mut response = answers::of_messages(asked, post.settings);
        let value = HeaderValue::from_str(&id).expect("hexadecimal digits are printable");
        response.headers_mut().insert(SESSION_ID, value);
        self.running.enter(id, process);
        beginning.succeed();
        Ok(response)
    }

    /// Sends a message that belongs to no session.
    async fn by_itself(&self, mut post: Post<'_>) -> Result<Response<Reply>, Error> {
        if post.outline.kind != Kind::Request {
            // Over HTTP there is nothing a client could tell (2026-07-28).
            return Ok(answers::empty(StatusCode::ACCEPTED, post.settings));
        }
        let is_discovery = post.outline.method == Method::Discover;
        if is_discovery {
            post.deadline = post.deadline.min(Instant::now() + self.limits.start);
        }
        let process = match self.running.shared(post.name) {
            Some(process) => process,
            None => {
                let start = self.start(&post, Serves::Anybody).await?;
                self.running.share(post.name, || start.now())?
            }
        };
        let asked = post.ask(&process, Serves::Anybody).await;
        if !is_discovery {
            return asked.map(|asked| answers::of_messages(asked, post.settings));
        }
        match asked {
            Ok(asked) if asked.answer().is_none_or(|answer| is_of_our_era(answer)) => {
                Ok(answers::of_messages(asked, post.settings))
            }
            Ok(asked) => {
                let response = Ok(answers::of_messages(asked, post.settings));
                self.running.spare(&process);
                response
            }
            Err(error) if error.may_have_run() => {
                // Some older servers do not answer what they do not know, or end over it. What is wrong with others
                // shows at `initialize`.
                process.end();
                tracing::debug!(command = post.name, %error, "a command did not answer server/discover");
                let id = post.outline.id.map(|id| id.of(&post.message));
                let body = error_body(id, code::METHOD_NOT_FOUND, "server/discover was not answered", None);
                Ok(answers::json(StatusCode::OK, body, post.settings))
            }
            Err(error) => Err(error),
        }
    }

    async fn start<'a>(&'a self, post: &Post<'_>, serves: Serves) -> Result<Starting<'a>, Error> {
        let command = self.commands.get(post.name).expect("looked at before").clone();
        let runtime =
            self.runtime.as_ref().ok_or_else(|| Error::unreachable("nothing can be started here"))?;
        let deadline = post.deadline.min(Instant::now() + self.limits.start);
        let room = self.running.room(deadline).await?;
        let budget = post.settings.budget.clone();
        let tally = self.tallies.get(post.name).expect("one for each command").clone();
        let start = Start { command, serves, budget, grace: self.limits.grace, room, tally };
        Ok(Starting { name: post.name.into(), start, runtime })
    }
}

/// A process that can be started.
struct Starting<'a> {
    name: Box<str>,
    start: Start,
    runtime: &'a tokio::runtime::Handle,
}

impl Starting<'_> {
    fn now(self) -> Arc<Process> {
        Process::start(&self.name, self.start, self.runtime)
    }
}

/// A message on its way.
struct Post<'a> {
    name: &'a str,
    message: Bytes,
    outline: Outline,
    settings: &'a Settings,
    deadline: Instant,
}

impl Post<'_> {
    /// Writes a request and waits for its first message.
    async fn ask(&self, process: &Arc<Process>, serves: Serves) -> Result<Messages, Error> {
        let entered = match serves {
            Serves::Session => process.board.enter(&self.message, &self.outline)?,
            Serves::Anybody => process.board.enter_by_itself(&self.message, &self.outline)?,
        };
        let belongs =
            |is_cancelled_by_leaving| Belongs::Request { number: entered.number, is_cancelled_by_leaving };
        let mut messages = Messages::new(process.clone(), entered.inbox, belongs(false));
        process.write(entered.message, self.deadline).await?;
        messages.belongs = belongs(serves == Serves::Anybody);
        messages.begin(self.deadline).await?;
        Ok(messages)
    }
}

/// A process whose session is being opened; it ends with this unless it got one.
struct Beginning(Option<Arc<Process>>);

impl Beginning {
    fn succeed(mut self) {
        self.0 = None;
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        if let Some(process) = self.0.take() {
            process.end();
        }
    }
}

fn is_modern(headers: &HeaderMap) -> bool {
    let named = headers.get(PROTOCOL_VERSION).and_then(|version| Revision::parse(version.to_str().ok()?));
    named.is_some_and(Revision::is_modern)
}

/// Says whether an answer to `server/discover` is one of software that knows it.
fn is_of_our_era(answer: &[u8]) -> bool {
    let Some(error) = member(answer, "error") else { return true };
    let error = error.of(answer);
    let said = member(error, "code").and_then(|code| std::str::from_utf8(code.of(error)).ok()?.parse().ok());
    let modern = [code::HEADER_MISMATCH, code::MISSING_CAPABILITY, code::UNSUPPORTED_VERSION];
    said.is_some_and(|said: i32| modern.contains(&said))
}
