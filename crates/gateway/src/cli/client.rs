//! Speaks the REST API of a running gateway.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use backend::{Backends, Outgoing, Reply};
use catalog::endpoint::{AddressRule, Endpoint, Secret};
use clap::Args;
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::BodyExt;
use serde_json::Value;
use url::Url;

use super::failure::Failure;
use super::output::{self, Output, unexpected};
use super::visible::visible;
use crate::small_file;

/// Where the gateway writes its first administrator's token by default.
const DEFAULT_TOKEN_FILE: &str = "data/admin.token";
/// Longest wait for one answer: a refresh reads a whole inventory first.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);
/// Largest answer taken in; ten thousand servers with all their fields fit.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// Which gateway to speak to, as whom, and how to print.
#[derive(Debug, Args)]
pub(super) struct Remote {
    /// Where the gateway is
    #[arg(
        long,
        global = true,
        help_heading = "Which gateway, as whom",
        env = "SWITCHYARD_URL",
        default_value = "http://127.0.0.1:8080"
    )]
    url: Url,
    /// Token to present
    #[arg(
        long,
        global = true,
        help_heading = "Which gateway, as whom",
        env = "SWITCHYARD_TOKEN",
        hide_env_values = true
    )]
    token: Option<String>,
    /// File that holds the token [default: data/admin.token, for a gateway on this machine]
    #[arg(
        long,
        global = true,
        help_heading = "Which gateway, as whom",
        env = "SWITCHYARD_TOKEN_FILE",
        value_name = "FILE"
    )]
    token_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true, help_heading = "Which gateway, as whom")]
    json: bool,
}

/// Speaks to one gateway.
pub(super) struct Speaker {
    pub(super) output: Output,
    backends: Backends,
    base: Url,
    token: Option<Secret>,
}

/// Runs a command that speaks to a gateway.
pub(super) fn run(
    remote: Remote,
    command: impl AsyncFnOnce(&Speaker) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::refused(format!("cannot start: {error}")))?;
    let speaker = Speaker::new(remote)?;
    tokio::task::LocalSet::new().block_on(&runtime, command(&speaker))
}

impl Speaker {
    fn new(remote: Remote) -> Result<Self, Failure> {
        if !matches!(remote.url.scheme(), "http" | "https") {
            return Err(Failure::usage(format!("--url: {} is neither http nor https", remote.url)));
        }
        if remote.url.query().is_some() || remote.url.fragment().is_some() {
            return Err(Failure::usage(format!("--url: {} has a query or a fragment", remote.url)));
        }
        let settings = backend::Settings::new(&[], AddressRule { allow_private: true })
            .map_err(|error| Failure::refused(format!("cannot use TLS: {error}")))?;
        let settings = backend::Settings { answer: ANSWER_WITHIN, ..settings };
        Ok(Self {
            output: Output { is_json: remote.json },
            backends: Backends::new(Arc::new(settings)),
            token: token(&remote)?,
            base: remote.url,
        })
    }

    /// Reads a document.
    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.call(Method::GET, path, None).await
    }

    /// Deletes a thing. The answer may be empty.
    pub(super) async fn delete(&self, path: &str) -> Result<Value, Failure> {
        let (status, answer) = self.exchange(Method::DELETE, path, None).await?;
        if answer.is_null() && status.is_success() { Ok(answer) } else { document(status, answer) }
    }

    /// Sends a document and reads the one that answers it. `path` may hold a query.
    ///
    /// **Errors:** what the gateway refused, in its own words; that it cannot be reached; that it answered
    /// something else than a document.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let (status, answer) = self.exchange(method, path, body).await?;
        document(status, answer)
    }

    /// Says whether something is there.
    pub(super) async fn is_there(&self, path: &str) -> Result<bool, Failure> {
        let (status, answer) = self.exchange(Method::GET, path, None).await?;
        match status.as_u16() {
            200..=299 => Ok(true),
            404 => Ok(false),
            _ => Err(Failure::refused(refusal(status, &answer))),
        }
    }

    /// Copies an answer to standard output as it comes.
    pub(super) async fn copy(&self, path: &str) -> Result<(), Failure> {
        let response = self.send(Method::GET, path, None).await?;
        if !response.status().is_success() {
            return document(response.status(), self.whole(response).await?).map(drop);
        }
        let mut reply = response.into_body();
        while let Some(frame) = reply.frame().await {
            let frame = frame.map_err(|error| self.unreachable(&error))?;
            if let Ok(data) = frame.into_data() {
                output::copy(&data)?;
            }
        }
        Ok(())
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(http::StatusCode, Value), Failure> {
        let response = self.send(method, path, body).await?;
        Ok((response.status(), self.whole(response).await?))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<http::Response<Reply>, Failure> {
        let url = self.address(path)?;
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(token) = &self.token {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.reveal()))
                .map_err(|_| Failure::usage("the token holds characters that no token has"))?;
            bearer.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, bearer);
        }
        let body = body.map(Value::to_string);
        if body.is_some() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let endpoint = Endpoint::at(url);
        let outgoing = Outgoing { method, headers, body: body.unwrap_or_default().into() };
        self.backends.send(&endpoint, outgoing).await.map_err(|error| self.unreachable(&error))
    }

    /// Reads an answer to its end; `null` where there is nothing in it, or a refusal that is no JSON.
    async fn whole(&self, response: http::Response<Reply>) -> Result<Value, Failure> {
        let (head, reply) = response.into_parts();
        let bytes = reply.collect(MAX_ANSWER_BYTES).await.map_err(|error| self.unreachable(&error))?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        match serde_json::from_slice(&bytes) {
            Ok(answer) => Ok(answer),
            Err(_) if !head.status.is_success() => Ok(Value::Null),
            Err(_) => {
                Err(Failure::refused(format!("{} answered no JSON; is it a switchyard gateway?", self.base)))
            }
        }
    }

    fn unreachable(&self, error: &backend::Error) -> Failure {
        let hint = "is the gateway running there (switchyard serve)?";
        Failure::unavailable(format!("cannot reach {}: {}; {hint}", self.base, error.reason()))
    }

    fn address(&self, path: &str) -> Result<Url, Failure> {
        let whole = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        whole.parse().map_err(|error| Failure::usage(format!("{whole} is no URL: {error}")))
    }
}

/// Writes a query of those pairs that have a value.
pub(super) fn query(pairs: &[(&str, Option<String>)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

/// Finds the token: as given, else of the file given, else the local gateway's own. The last one is for a
/// gateway on this machine only; no other gets to see it unasked.
fn token(remote: &Remote) -> Result<Option<Secret>, Failure> {
    let read = |file: &Path| small_file::secret(file).map(Secret::new);
    if let Some(token) = &remote.token {
        return Ok(Some(Secret::new(token.trim())));
    }
    if let Some(file) = &remote.token_file {
        let failed = |error| Failure::usage(format!("--token-file {}: {error}", file.display()));
        return read(file).map(Some).map_err(failed);
    }
    let is_local = match remote.url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    Ok(if is_local { read(Path::new(DEFAULT_TOKEN_FILE)).ok() } else { None })
}

/// Takes the document out of an answer.
fn document(status: http::StatusCode, answer: Value) -> Result<Value, Failure> {
    match answer {
        _ if !status.is_success() => Err(Failure::refused(refusal(status, &answer))),
        Value::Object(_) => Ok(answer),
        _ => Err(unexpected(&format!("a JSON object (it came with {status})"))),
    }
}

/// Puts a problem document into words: its detail, or each bad field on a line of its own.
fn refusal(status: http::StatusCode, answer: &Value) -> String {
    let detail = answer.get("detail").and_then(Value::as_str);
    let fields = answer.get("errors").and_then(Value::as_array).filter(|fields| fields.len() > 1);
    let said = match (fields, detail) {
        (Some(fields), _) => {
            let part =
                |field: &Value, key: &str| visible(field.get(key).and_then(Value::as_str).unwrap_or(""));
            let lines =
                fields.iter().map(|one| format!("\n  {}: {}", part(one, "field"), part(one, "reason")));
            format!("the request is not valid:{}", lines.collect::<String>())
        }
        (None, Some(detail)) => visible(detail),
        (None, None) => format!("the gateway answered {status}"),
    };
    match status.as_u16() {
        401 => format!("{said} (give a token with --token-file, --token or SWITCHYARD_TOKEN)"),
        _ => said,
    }
}

#[cfg(test)]
mod tests;
