//! What handlers take from a request: the caller, the server and version its path names, paging, the revision
//! it was based on, its body.

use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::Bytes;
use catalog::Catalog;
use catalog::error::Refusal;
use catalog::name::ServerPath;
use catalog::server::Server;
use http::request::Parts;
use http::{StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::Problem;
use super::{place, unique};

mod caller;

pub(crate) use caller::{Admin, Caller, admit, bearer_principal, below_us, session};

/// Most entries of one page.
pub(crate) const MAX_LIMIT: usize = 1000;
/// Longest wait for a body. A body of the largest size passes at half a megabit a second.
const BODY_DEADLINE: Duration = Duration::from_secs(60);
/// Entries of a page that asks for no number.
const DEFAULT_LIMIT: usize = 100;

/// The server that the path of the request names.
pub(crate) struct AtServer(pub(crate) ServerPath);

/// The version that the path of the request names; its label is checked against the server by the handler.
pub(crate) struct AtVersion {
    /// The server.
    pub(crate) path: ServerPath,
    /// The label, as it was sent.
    pub(crate) label: String,
}

/// The one thing that the path of the request names: an id, a name, a slug.
pub(crate) struct Named(pub(crate) String);

/// Query parameters. Fails with 422 where one has the wrong type.
pub(crate) struct Params<T>(pub(crate) T);

/// A JSON body. Fails with 400 where it is no JSON or has a member twice, 415 where it does not say so, 422 where a member is missing
/// or has the wrong type.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// Which part of a list is wanted: `limit` (100, at most 1000) and `offset` (0).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paging {
    /// Most entries to return.
    pub(crate) limit: usize,
    /// Entries to skip.
    pub(crate) offset: usize,
}

/// The revision that `If-Match` names: `"12"`. `None` without the header or with `*`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IfMatch(pub(crate) Option<u64>);

/// Finds a server.
pub(crate) fn require_server<'a>(
    catalog: &'a Catalog,
    path: &ServerPath,
) -> Result<&'a Arc<Server>, Refusal> {
    catalog.servers.get(path).ok_or_else(|| no_such_server(path))
}

fn no_such_server(path: &ServerPath) -> Refusal {
    Refusal::NoSuch { kind: "server", name: path.to_string(), known: Vec::new() }
}

impl IfMatch {
    /// Refuses an edit that is based on another revision than the current one.
    pub(crate) fn check(self, name: &str, current: u64) -> Result<(), Refusal> {
        match self.0 {
            Some(expected) if expected != current => {
                Err(Refusal::Moved { name: name.into(), current, expected })
            }
            _ => Ok(()),
        }
    }
}

impl Paging {
    /// Cuts a page out of a list. Returns it, the number of all entries, and whether more follow.
    pub(crate) fn cut<T>(self, all: Vec<T>) -> (Vec<T>, usize, bool) {
        let total = all.len();
        let page: Vec<T> = all.into_iter().skip(self.offset).take(self.limit).collect();
        let has_next = self.offset.saturating_add(page.len()) < total && !page.is_empty();
        (page, total, has_next)
    }
}

/// Returns a parameter of the route, decoded.
pub(crate) async fn part<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    name: &str,
) -> Result<String, Problem> {
    let all = all_parts(parts, state).await?;
    all.into_iter().find(|(key, _)| key == name).map(|(_, value)| value).ok_or_else(nothing_here)
}

async fn all_parts<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Vec<(String, String)>, Problem> {
    Path::from_request_parts(parts, state).await.map(|Path(all)| all).map_err(|_| nothing_here())
}

fn nothing_here() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "there is nothing at this path")
}

async fn server_path<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<ServerPath, Problem> {
    let text = part(parts, state, "path").await?;
    // A path that cannot be registered is not there, which says more than the rule it breaks.
    ServerPath::parse("path", &text)
        .map_err(|_| Refusal::NoSuch { kind: "server", name: text, known: Vec::new() }.into())
}

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let only = all_parts(parts, state).await?.pop().ok_or_else(nothing_here)?;
        Ok(Self(only.1))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for AtServer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        server_path(parts, state).await.map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for AtVersion {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = server_path(parts, state).await?;
        Ok(Self { path, label: part(parts, state, "label").await? })
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => {
                let detail = format!("query parameters: {}", rejection.body_text());
                Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail))
            }
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Paging {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Given {
            limit: Option<usize>,
            offset: Option<usize>,
        }
        let Params(given): Params<Given> = Params::from_request_parts(parts, state).await?;
        let limit = given.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Problem::bad_field("limit", format!("must be 1 to {MAX_LIMIT}")));
        }
        Ok(Self { limit, offset: given.offset.unwrap_or(0) })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut values = parts.headers.get_all(header::IF_MATCH).iter();
        let Some(value) = values.next() else { return Ok(Self(None)) };
        let text = value.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Ok(Self(None));
        }
        let inner = text.strip_prefix("W/").unwrap_or(text).trim_matches('"');
        match inner.parse() {
            Ok(revision) if values.next().is_none() => Ok(Self(Some(revision))),
            _ => Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "If-Match must be one revision in quotes, as ETag gives it: \"12\"",
            )),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let is_json = mcp::headers::is_json(request.headers());
        let body = body(request, state).await?;
        if !is_json {
            let detail = "the body must be JSON: Content-Type: application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        read_json(&body).map(Self)
    }
}

/// Reads a body up to the limit, in size and in time.
pub(crate) async fn body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    body_within(BODY_DEADLINE, request, state).await
}

/// Reads a body that has to arrive within a time.
pub(crate) async fn body_within<S: Send + Sync>(
    deadline: Duration,
    request: Request,
    state: &S,
) -> Result<Bytes, Problem> {
    let too_long = || {
        let detail = format!("the body is longer than {} bytes", super::MAX_BODY_BYTES);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    // Whoever says how much will come is not let send it first.
    if request.body().size_hint().lower() > super::MAX_BODY_BYTES as u64 {
        return Err(too_long());
    }
    let Ok(read) = tokio::time::timeout(deadline, Bytes::from_request(request, state)).await else {
        let detail = format!("the body did not arrive within {} s", deadline.as_secs());
        // What is left of the body will not be read, so the connection is of no more use.
        return Err(
            Problem::new(StatusCode::REQUEST_TIMEOUT, detail).with_header(header::CONNECTION, "close")
        );
    };
    read.map_err(|rejection| match rejection {
        BytesRejection::FailedToBufferBody(inner) if inner.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            too_long()
        }
        _ => Problem::new(StatusCode::BAD_REQUEST, "the body could not be read to its end"),
    })
}

/// Reads JSON; says where it is broken, or which member does not fit.
pub(crate) fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(body) {
        return Err(Problem::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {error}")));
    }
    unique::check(body)?;
    place::read(body).map_err(|(field, reason)| match field {
        Some(field) => Problem::bad_field(&field, reason),
        None => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, format!("the body does not fit: {reason}")),
    })
}
