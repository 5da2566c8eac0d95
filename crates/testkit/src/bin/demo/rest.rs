//! The gateway's REST API, as far as the demonstration needs it; and token files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, header};
use serde_json::Value;
use testkit::client::{Connection, split_url};

/// Pause between two looks whether the gateway is ready.
const READY_PAUSE: Duration = Duration::from_millis(100);

/// A gateway and the token it is spoken to with.
pub(crate) struct Gateway {
    url: String,
    token: String,
}

/// Why the demonstration cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the gateway at {url} is not ready: {reason}")]
    NotReady { url: String, reason: String },
    #[error("no answer to {call}")]
    Connection { call: String, source: io::Error },
    #[error("{call} was refused with status {status}: {detail}")]
    Refused { call: String, status: u16, detail: String },
    #[error("{call} was answered by something else than expected")]
    NotJson { call: String },
    #[error("token file {}", .file.display())]
    TokenFile { file: PathBuf, source: io::Error },
    #[error("signals cannot be awaited")]
    Signal(#[source] io::Error),
}

impl Gateway {
    pub(crate) fn new(url: &str, token: String) -> Self {
        Self { url: url.into(), token }
    }

    /// The same gateway with another token.
    pub(crate) fn acting_as(&self, token: &str) -> Self {
        Self::new(&self.url, token.into())
    }

    /// Waits until `/readyz` answers 200.
    pub(crate) async fn wait_ready(url: &str, time: Duration) -> Result<(), Error> {
        let (gateway, start) = (Self::new(url, String::new()), Instant::now());
        loop {
            let reason = match gateway.call(Method::GET, "/readyz", Bytes::new()).await {
                Ok(_) => return Ok(()),
                Err(error) => error.to_string(),
            };
            if start.elapsed() > time {
                return Err(Error::NotReady { url: url.into(), reason });
            }
            tokio::time::sleep(READY_PAUSE).await;
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Error> {
        self.json(Method::GET, path, Bytes::new()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.json(Method::POST, path, body.to_string().into()).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.json(Method::PUT, path, body.to_string().into()).await
    }

    async fn json(&self, method: Method, path: &str, body: Bytes) -> Result<Value, Error> {
        let call = format!("{method} {path}");
        let answer = self.call(method, path, body).await?;
        serde_json::from_slice(&answer).map_err(|_| Error::NotJson { call })
    }

    /// Sends a request and returns the body of its answer, where the status is one of success.
    async fn call(&self, method: Method, path: &str, body: Bytes) -> Result<Bytes, Error> {
        let call = format!("{method} {path}");
        let lost = |source| Error::Connection { call: call.clone(), source };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(|error| lost(io::Error::other(error)))?;
        let mut connection = Connection::open(split_url(&self.url).0).await.map_err(lost)?;
        let answer = connection.send(request).await.map_err(lost)?;
        let status = answer.status;
        let body = answer.try_bytes().await.ok_or_else(|| lost(io::ErrorKind::UnexpectedEof.into()))?;
        if status.is_success() {
            return Ok(body);
        }
        let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
        let detail = problem["detail"].as_str().map(String::from);
        let detail = detail.unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned());
        Err(Error::Refused { call, status: status.as_u16(), detail })
    }
}

/// Reads a token from a file of its own.
pub(crate) fn read_token(file: &Path) -> Result<String, Error> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(source) => Err(Error::TokenFile { file: file.into(), source }),
    }
}

/// Keeps a token in a file that only its owner reads.
pub(crate) fn keep_token(file: &Path, token: &str) -> Result<(), Error> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(file).and_then(|mut file| writeln!(file, "{token}"));
    written.map_err(|source| Error::TokenFile { file: file.into(), source })
}
