//! A request of our own to a backend: how it is dressed in each era, and the wait for its answer.

use bytes::Bytes;
use catalog::endpoint::Endpoint;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method as Verb};
use mcp::era::Revision;
use mcp::headers;
use mcp::method::Method;
use tokio::time::Instant;

use crate::answer::{self, Answer, Heard};
use crate::error::Error;
use crate::pool::Backends;
use crate::send::Outgoing;

/// What we call ourselves where no client stands behind a request.
pub(crate) const CLIENT_INFO: &str =
    concat!("{\"name\":\"switchyard\",\"version\":\"", env!("CARGO_PKG_VERSION"), "\"}");

/// How a request is dressed.
#[derive(Clone, Copy)]
pub(crate) enum Dress<'a> {
    /// Before a handshake.
    Bare,
    /// Inside a session of the older revisions; some backends give it no id.
    Session {
        /// The revision agreed on.
        revision: Revision,
        /// The session's id.
        id: Option<&'a str>,
    },
    /// By itself, in the revision without sessions.
    Modern,
}

impl Dress<'_> {
    /// Returns the headers of a POST of this method.
    pub(crate) fn headers(self, method: Method) -> Result<HeaderMap, Error> {
        let mut map = HeaderMap::with_capacity(8);
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        map.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        match self {
            Self::Bare => {}
            Self::Session { revision, id } => {
                map.insert(headers::PROTOCOL_VERSION, HeaderValue::from_static(revision.as_str()));
                if let Some(id) = id {
                    let id =
                        HeaderValue::from_str(id).map_err(|_| Error::not_mcp("an unusable session id"))?;
                    map.insert(headers::SESSION_ID, id);
                }
            }
            Self::Modern => {
                map.insert(headers::PROTOCOL_VERSION, HeaderValue::from_static(Revision::MODERN.as_str()));
                map.insert(headers::METHOD, HeaderValue::from_static(method.as_str()));
            }
        }
        Ok(map)
    }

    /// Writes a request. `members` are the members of its params, without braces.
    pub(crate) fn body(self, id: u32, method: Method, members: &str) -> Bytes {
        let method = method.as_str();
        let params = match self {
            Self::Bare | Self::Session { .. } => format!("{{{members}}}"),
            Self::Modern => {
                let comma = if members.is_empty() { "" } else { "," };
                let version = Revision::MODERN.as_str();
                format!(
                    "{{{members}{comma}\"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"{version}\",\
                     \"io.modelcontextprotocol/clientInfo\":{CLIENT_INFO},\
                     \"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}"
                )
            }
        };
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}").into()
    }
}

impl Backends {
    /// Sends a request of our own and reads its answer, all within the probe's deadline.
    pub(crate) async fn ask(
        &self,
        endpoint: &Endpoint,
        dress: Dress<'_>,
        id: u32,
        method: Method,
        members: &str,
    ) -> Result<Answer, Error> {
        let now = Instant::now();
        let deadline = now + self.settings.probe_of(endpoint);
        let body = dress.body(id, method, members);
        let outgoing = Outgoing { method: Verb::POST, headers: dress.headers(method)?, body };
        let response = self.send_by(endpoint, outgoing, now, deadline).await?;
        let read = async {
            let (head, reply) = response.into_parts();
            let mut heard = Heard::new(&head, reply);
            loop {
                match heard.next(id).await? {
                    answer::Step::Said(said) => {
                        return Ok(Answer { status: head.status, headers: head.headers, said });
                    }
                    answer::Step::Ping(ping) => {
                        let session = answer::session(&head.headers);
                        self.pong(endpoint, dress, session.as_deref(), &ping).await;
                    }
                }
            }
        };
        let what = "the answer did not end";
        tokio::time::timeout_at(deadline, read)
            .await
            .unwrap_or(Err(Error::TimedOut { what, may_have_run: true }))
    }

    /// Posts a message that has no answer, and checks that it was taken.
    pub(crate) async fn tell(&self, endpoint: &Endpoint, dress: Dress<'_>, body: Bytes) -> Result<(), Error> {
        let headers = dress.headers(Method::Other)?;
        let outgoing = Outgoing { method: Verb::POST, headers, body };
        let now = Instant::now();
        let response = self.send_by(endpoint, outgoing, now, now + self.settings.probe).await?;
        let status = response.status();
        answer::finish(response.into_body()).await;
        if status.is_success() { Ok(()) } else { Err(Error::Refused(status)) }
    }

    /// Answers a ping that a backend sent before its answer.
    async fn pong(&self, endpoint: &Endpoint, dress: Dress<'_>, fresh: Option<&str>, id: &[u8]) {
        let dress = match dress {
            Dress::Bare if fresh.is_some() => Dress::Session { revision: Revision::LATEST_LEGACY, id: fresh },
            same => same,
        };
        if let Err(error) = self.tell(endpoint, dress, mcp::error::result_body(id, b"{}")).await {
            tracing::debug!(%error, "a backend did not take the answer to its ping");
        }
    }
}
