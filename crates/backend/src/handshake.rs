//! Opening and closing sessions, and learning which era a backend speaks.

use bytes::Bytes;
use catalog::endpoint::{Endpoint, Era, Eras};
use http::{Method as Verb, StatusCode};
use mcp::era::Revision;
use mcp::error::code;
use mcp::message::{elements, member, pick, text};
use mcp::method::Method;
use tokio::time::Instant;

use crate::answer::{self, Answer, Said};
use crate::ask::{CLIENT_INFO, Dress};
use crate::error::Error;
use crate::pool::Backends;
use crate::send::Outgoing;

/// The notification that ends a handshake.
const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Longest session id of a backend: it is sent with every request, and clients get it sealed in a header.
const MAX_SESSION_ID_BYTES: usize = 4 * 1024;

/// What a handshake says of the client.
#[derive(Clone, Copy, Debug)]
pub struct Hello<'a> {
    /// The revision asked for, one that has sessions.
    pub revision: Revision,
    /// The client's capabilities, a raw JSON object.
    pub capabilities: &'a str,
    /// The client's name and version, a raw JSON object.
    pub client_info: &'a str,
}

/// What a backend said when a session was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The revision it answered.
    pub revision: Revision,
    /// The session's id; some backends give none.
    pub session: Option<String>,
    /// `capabilities`, a raw JSON object.
    pub capabilities: Box<str>,
    /// `serverInfo`, a raw JSON object; `{}` where it gave none.
    pub server_info: Box<str>,
    /// Its instructions, decoded.
    pub instructions: Option<String>,
    /// `serverInfo.version`, decoded.
    pub reported_version: Option<String>,
    /// Whether it was greeted over HTTP+SSE.
    pub has_event_stream: bool,
}

/// What a backend answered to `server/discover`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// The revision both speak.
    pub revision: Revision,
    /// `capabilities`, a raw JSON object.
    pub capabilities: Box<str>,
    /// `serverInfo`, a raw JSON object; `{}` where it gave none.
    pub server_info: Box<str>,
    /// Its instructions, decoded.
    pub instructions: Option<String>,
    /// `serverInfo.version`, decoded.
    pub reported_version: Option<String>,
}

/// What was learnt of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Learnt {
    /// It speaks the revision without sessions only.
    Modern(Discovery),
    /// It speaks the older revisions only. A session is open, for the caller to use and to end.
    Legacy(Greeting),
    /// It speaks both. A session is open, as of a legacy one.
    Both(Discovery, Greeting),
}

impl Learnt {
    /// Returns the eras the backend speaks.
    pub fn eras(&self) -> Eras {
        match self {
            Self::Modern(_) => Eras::Modern,
            Self::Legacy(_) => Eras::Legacy,
            Self::Both(..) => Eras::Both,
        }
    }
}

impl Greeting {
    /// Returns the endpoint as the session is spoken to, given the one that was greeted.
    pub fn met_at(&self, endpoint: &Endpoint) -> Endpoint {
        if self.has_event_stream { endpoint.over_event_stream() } else { endpoint.clone() }
    }
}

impl Default for Hello<'_> {
    fn default() -> Self {
        Self { revision: Revision::LATEST_LEGACY, capabilities: "{}", client_info: CLIENT_INFO }
    }
}

impl Backends {
    /// Opens a session: `initialize`, then `notifications/initialized`.
    ///
    /// Cancel: a session may be left at the backend, which will time it out.
    pub async fn greet(&self, endpoint: &Endpoint, hello: &Hello<'_>) -> Result<Greeting, Error> {
        let params = format!(
            "\"protocolVersion\":\"{}\",\"capabilities\":{},\"clientInfo\":{}",
            hello.revision.as_str(),
            hello.capabilities,
            hello.client_info
        );
        let answer = self.ask(endpoint, Dress::Bare, 1, Method::Initialize, &params).await?;
        if answer.status == StatusCode::METHOD_NOT_ALLOWED {
            // About the verb, whatever the body says.
            return Err(Error::Refused(answer.status));
        }
        let session = answer::session(&answer.headers);
        if session.as_ref().is_some_and(|id| id.len() > MAX_SESSION_ID_BYTES) {
            return Err(Error::not_mcp(format!(
                "its session id is longer than {MAX_SESSION_ID_BYTES} bytes"
            )));
        }
        let result = answer.into_result()?;
        let greeting = read_greeting(endpoint, &result, session)?;
        let dress = Dress::Session { revision: greeting.revision, id: greeting.session.as_deref() };
        self.tell(endpoint, dress, Bytes::from_static(INITIALIZED)).await?;
        Ok(greeting)
    }

    /// Ends a session. A backend that knows it no more, or ends none, is fine too.
    pub async fn end_session(
        &self,
        endpoint: &Endpoint,
        session: &str,
        revision: Revision,
    ) -> Result<(), Error> {
        let dress = Dress::Session { revision, id: Some(session) };
        let headers = dress.headers(Method::Other)?;
        let outgoing = Outgoing { method: Verb::DELETE, headers, body: Bytes::new() };
        let now = Instant::now();
        let response = self.send_by(endpoint, outgoing, now, now + self.settings.probe).await?;
        let status = response.status();
        answer::finish(response.into_body()).await;
        match status {
            _ if status.is_success() => Ok(()),
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::GONE => Ok(()),
            _ => Err(Error::Refused(status)),
        }
    }

    /// Learns which eras a backend speaks, and greets it in each.
    ///
    /// A pinned era is taken as it is, and no other is tried. Fails without a verdict where the backend is unreachable,
    /// slow, refuses the credentials (401, 403) or fails (5xx). `known` is what was learnt before: one that answers
    /// `server/discover` and gives no verdict on `initialize` is taken for modern only if it never was anything else.
    pub async fn learn(&self, endpoint: &Endpoint, known: Option<Eras>) -> Result<Learnt, Error> {
        match endpoint.pinned_era {
            Some(Era::Legacy) => {
                return match self.greet(endpoint, &Hello::default()).await {
                    Err(Error::Refused(status)) if matches!(status.as_u16(), 400 | 404 | 405) => {
                        self.greet_over_events(endpoint, status).await.map(Learnt::Legacy)
                    }
                    outcome => outcome.map(Learnt::Legacy),
                };
            }
            Some(Era::Modern) => {
                return self.discover(endpoint).await?.map(Learnt::Modern).ok_or_else(not_modern);
            }
            None => {}
        }
        let Some(modern) = self.discover(endpoint).await? else {
            return self.learn_legacy(endpoint).await;
        };
        // The list of revisions in a discovery does not tell: some name only those that discovery is part of.
        match self.greet(endpoint, &Hello::default()).await {
            Ok(greeting) => Ok(Learnt::Both(modern, greeting)),
            Err(error) if says_nothing(&error) && known.is_some_and(|eras| eras.hold(Era::Legacy)) => {
                Err(error)
            }
            Err(_) => Ok(Learnt::Modern(modern)),
        }
    }

    /// Greets a backend that did not answer `server/discover` as a modern one does.
    async fn learn_legacy(&self, endpoint: &Endpoint) -> Result<Learnt, Error> {
        match self.greet(endpoint, &Hello::default()).await {
            Ok(greeting) => Ok(Learnt::Legacy(greeting)),
            Err(Error::Rpc { code, message }) if code == i64::from(code::UNSUPPORTED_VERSION) => {
                let modern = self.discover(endpoint).await?.ok_or(Error::Rpc { code, message })?;
                Ok(Learnt::Modern(modern))
            }
            Err(Error::Refused(status)) if matches!(status.as_u16(), 400 | 404 | 405) => {
                self.greet_over_events(endpoint, status).await.map(Learnt::Legacy)
            }
            Err(error) => Err(error),
        }
    }

    /// Greets a backend that refuses posts where it is: it may be one of 2024-11-05, with an event stream there.
    async fn greet_over_events(&self, endpoint: &Endpoint, refused: StatusCode) -> Result<Greeting, Error> {
        match self.greet(&endpoint.over_event_stream(), &Hello::default()).await {
            Err(Error::Refused(_)) => Err(Error::not_mcp(format!(
                "it answers neither server/discover nor initialize (HTTP {}), and opens no event stream",
                refused.as_u16()
            ))),
            outcome => outcome,
        }
    }

    /// Asks for what a backend without sessions offers; `None` where it seems to be of the other era.
    async fn discover(&self, endpoint: &Endpoint) -> Result<Option<Discovery>, Error> {
        for is_last in [false, true] {
            let answer = self.ask(endpoint, Dress::Modern, 1, Method::Discover, "").await?;
            match verdict(answer) {
                Verdict::Modern(discovery) => return Ok(Some(discovery)),
                Verdict::Legacy => return Ok(None),
                Verdict::AskAgain(_) if !is_last => {}
                Verdict::AskAgain(error) | Verdict::Failed(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// What an answer to `server/discover` means.
enum Verdict {
    Modern(Discovery),
    Legacy,
    /// It is modern and speaks our revision, but would not say so this time.
    AskAgain(Error),
    Failed(Error),
}

fn verdict(answer: Answer) -> Verdict {
    let status = answer.status;
    match answer.said {
        Said::Result(result) => {
            let listed = member(&result, "supportedVersions").map(|list| revisions(list.of(&result)));
            match listed {
                Some(listed) if listed.contains(&Revision::MODERN) => {
                    Verdict::Modern(read_discovery(&result))
                }
                _ => Verdict::Legacy,
            }
        }
        Said::Error { code: said, message, data } if is_modern_error(said) => {
            let error = Error::Rpc { code: said, message };
            let supported =
                data.as_ref().and_then(|data| member(data, "supported").map(|list| list.of(data)));
            let supported = supported.map(revisions).unwrap_or_default();
            match supported {
                _ if supported.contains(&Revision::MODERN) => Verdict::AskAgain(error),
                _ if said == i64::from(code::UNSUPPORTED_VERSION) && !supported.is_empty() => Verdict::Legacy,
                _ => Verdict::Failed(error),
            }
        }
        _ if says_nothing(&Error::Refused(status)) => Verdict::Failed(Error::Refused(status)),
        _ => Verdict::Legacy,
    }
}

/// Says whether an error tells nothing about the backend's era.
pub(crate) fn says_nothing(error: &Error) -> bool {
    match error {
        Error::Refused(status) => status.is_server_error() || matches!(status.as_u16(), 401 | 403),
        Error::NotMcp { .. } | Error::Rpc { .. } | Error::TooLarge { .. } => false,
        Error::Unreachable { .. }
        | Error::ForbiddenAddress { .. }
        | Error::TimedOut { .. }
        | Error::Broken { .. }
        | Error::Overloaded
        | Error::NoToken { .. }
        | Error::NoConsent => true,
    }
}

fn is_modern_error(said: i64) -> bool {
    [code::HEADER_MISMATCH, code::MISSING_CAPABILITY, code::UNSUPPORTED_VERSION]
        .into_iter()
        .any(|one| said == i64::from(one))
}

fn not_modern() -> Error {
    Error::not_mcp(format!("it does not speak revision {}", Revision::MODERN.as_str()))
}

/// Returns the revisions of a raw list that we know.
fn revisions(list: &[u8]) -> Vec<Revision> {
    let listed = elements(list).unwrap_or_default();
    listed.iter().filter_map(|one| Revision::parse(&text(one.of(list))?)).collect()
}

fn read_discovery(result: &[u8]) -> Discovery {
    let [capabilities, server_info, instructions, meta] =
        pick(result, ["capabilities", "serverInfo", "instructions", "_meta"]).unwrap_or_default();
    let in_meta = meta
        .map(|meta| meta.of(result))
        .and_then(|meta| member(meta, "io.modelcontextprotocol/serverInfo").map(|info| info.of(meta)));
    let server_info = object(server_info.map(|info| info.of(result)).or(in_meta));
    Discovery {
        revision: Revision::MODERN,
        capabilities: object(capabilities.map(|raw| raw.of(result))),
        instructions: instructions.and_then(|raw| text(raw.of(result))).map(Into::into),
        reported_version: reported_version(&server_info),
        server_info,
    }
}

fn read_greeting(endpoint: &Endpoint, result: &[u8], session: Option<String>) -> Result<Greeting, Error> {
    let [version, capabilities, server_info, instructions] =
        pick(result, ["protocolVersion", "capabilities", "serverInfo", "instructions"])
            .ok_or_else(|| Error::not_mcp("initialize was answered with something else than an object"))?;
    let version = version.and_then(|raw| text(raw.of(result))).unwrap_or_default();
    let revision = Revision::parse(&version).filter(|revision| !revision.is_modern()).ok_or_else(|| {
        Error::not_mcp(format!(
            "initialize was answered with the unknown revision {:?}",
            answer::shortened(&version)
        ))
    })?;
    let server_info = object(server_info.map(|raw| raw.of(result)));
    Ok(Greeting {
        revision,
        session,
        capabilities: object(capabilities.map(|raw| raw.of(result))),
        instructions: instructions.and_then(|raw| text(raw.of(result))).map(Into::into),
        reported_version: reported_version(&server_info),
        server_info,
        has_event_stream: endpoint.has_event_stream(),
    })
}

/// Returns a raw object as text, `{}` for anything else.
fn object(raw: Option<&[u8]>) -> Box<str> {
    let text = raw.and_then(|raw| std::str::from_utf8(raw).ok()).filter(|raw| raw.starts_with('{'));
    text.unwrap_or("{}").into()
}

fn reported_version(server_info: &str) -> Option<String> {
    let raw = member(server_info.as_bytes(), "version")?;
    text(raw.of(server_info.as_bytes())).map(Into::into)
}

#[cfg(test)]
mod tests;
