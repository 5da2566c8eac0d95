//! What handlers take from a request: the caller, the server and version its path names, paging, the revision
//! it was based on, its body.

use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::Refused;
use auth::cookie::Session;
use axum::body::HttpBody;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::Bytes;
use catalog::Catalog;
use catalog::access::{Grants, Principal, Scope};
use catalog::error::Refusal;
use catalog::name::ServerPath;
use catalog::server::{Server, Visibility};
use catalog::time::Timestamp;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use routing::Table;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::cookie::{self, Name};
use super::error::Problem;
use super::{place, unique};
use crate::Registry;
use crate::sessions::Open;
use crate::trail::Trail;

/// Most entries of one page.
pub(crate) const MAX_LIMIT: usize = 1000;
/// What a scope document calls the right to find a server.
const LIST_SERVICE: &str = "list_service";
/// Longest wait for a body. A body of the largest size passes at half a megabit a second.
const BODY_DEADLINE: Duration = Duration::from_secs(60);
/// Entries of a page that asks for no number.
const DEFAULT_LIMIT: usize = 100;

/// Whoever holds a valid token that is not revoked, or is signed in. Fails with 401, and with 403 where a cookie writes from
/// elsewhere than our own pages.
pub(crate) struct Caller {
    /// Who it is.
    pub(crate) principal: Arc<Principal>,
    /// What they may do.
    pub(crate) grants: Grants,
    /// Notes of the request for the audit trail.
    pub(crate) trail: Trail,
    /// The browser's session that calls, where it is one.
    pub(crate) session: Option<Session>,
    /// The table by which the caller is judged.
    table: Arc<Table>,
}

/// A caller who is an administrator. Fails with 403.
pub(crate) struct Admin(pub(crate) Caller);

/// The server that the path of the request names.
pub(crate) struct AtServer(pub(crate) ServerPath);

/// The version that the path of the request names; its label is checked against the server by the handler.
pub(crate) struct AtVersion {
    /// The server.
    pub(crate) path: ServerPath,
    /// The label, as it was sent.
    pub(crate) label: String,
}

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

impl Caller {
    /// Says whether this caller may find a server.
    pub(crate) fn may_find(&self, server: &Server) -> bool {
        if self.grants.is_everything() {
            return true;
        }
        let is_shown = match &server.visibility {
            Visibility::Public => true,
            Visibility::Groups(groups) => groups.iter().any(|one| self.principal.groups.contains(one)),
            Visibility::Private => server.owner.as_deref() == Some(&*self.principal.subject),
        };
        is_shown && self.is_let_in(server.path.as_str())
    }

    /// Says whether a scope allows this caller an action on a server.
    pub(crate) fn is_permitted(&self, action: &str, path: &ServerPath) -> bool {
        self.table.permits(&self.principal, action, path.as_str())
    }

    /// Says whether scope documents leave an endpoint open to this caller, or let them list it.
    fn is_let_in(&self, path: &str) -> bool {
        let holds = |scope: &Scope| self.table.holds(&self.principal, scope);
        let Some(guard) = self.table.guard(path) else { return true };
        guard.admits(holds) || self.table.permits(&self.principal, LIST_SERVICE, path)
    }

    /// Finds a server this caller may find.
    pub(crate) fn server<'a>(
        &self,
        catalog: &'a Catalog,
        path: &ServerPath,
    ) -> Result<&'a Arc<Server>, Refusal> {
        require_server(catalog, path)
            .and_then(|server| if self.may_find(server) { Ok(server) } else { Err(no_such_server(path)) })
    }
}

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

impl FromRequestParts<Arc<Registry>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, registry: &Arc<Registry>) -> Result<Self, Problem> {
        let (principal, session) = match session(registry, parts) {
            Some(open) => {
                cookie::check(&parts.method, &parts.headers, &open, &registry.parts.settings)?;
                (open.principal, Some(open.session))
            }
            None => (presented(parts, registry).await?, None),
        };
        let catalog = registry.catalog();
        admit(&principal, parts, registry)?;
        if let Some(limiter) = &registry.parts.limiter {
            limiter.elsewhere(&principal, Instant::now()).map_err(Problem::too_early)?;
        }
        let grants = Grants::of(&principal, &catalog.groups);
        let trail = parts.extensions.get::<Trail>().cloned().unwrap_or_default();
        trail.actor(&principal.subject);
        Ok(Self { principal, grants, trail, session, table: registry.parts.live.full() })
    }
}

/// Returns the browser's session that a request shows. Whoever sends a token means that.
pub(crate) fn session(registry: &Registry, parts: &Parts) -> Option<Open> {
    if parts.headers.contains_key(header::AUTHORIZATION) {
        return None;
    }
    let now = Timestamp::now();
    Name::Session.read(&registry.parts.settings, &parts.headers).find_map(|one| registry.session(one, now))
}

/// Returns whom the token of a request stands for.
async fn presented(parts: &Parts, registry: &Registry) -> Result<Arc<Principal>, Problem> {
    let mut values = parts.headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(Problem::unauthorized("a token is needed: Authorization: Bearer <token>", false));
    };
    let token = value.to_str().ok().and_then(bearer).filter(|_| values.next().is_none());
    let token = token.ok_or_else(|| Problem::unauthorized("Authorization must be one Bearer token", true))?;
    bearer_principal(token, registry).await
}

/// Returns whom a token stands for.
pub(crate) async fn bearer_principal(token: &str, registry: &Registry) -> Result<Arc<Principal>, Problem> {
    let principal = registry.parts.authenticator.identify(token, Timestamp::now()).await;
    principal.map_err(|reason| match reason {
        Refused::Unreachable => Problem::new(StatusCode::SERVICE_UNAVAILABLE, reason.to_string()),
        _ => Problem::unauthorized(&format!("the token is refused: {reason}"), true),
    })
}

/// Checks that what a caller showed was not revoked, and is good for this API.
pub(crate) fn admit(principal: &Principal, parts: &Parts, registry: &Registry) -> Result<(), Problem> {
    let refused = |detail: &str| Err(Problem::unauthorized(detail, true));
    let catalog = registry.catalog();
    let issued = principal.token.as_ref().and_then(|id| catalog.tokens.get(id));
    if issued.is_some_and(|token| token.revoked_at.is_some()) {
        return refused("the token is revoked");
    }
    if let Some(resource) = &principal.resource {
        return refused(&format!("the token is good for {resource} alone"));
    }
    let is_ours = |audience: &str| is_api(audience, parts.headers.get(header::HOST), registry);
    if principal.audiences.as_ref().is_some_and(|audiences| !audiences.iter().any(|one| is_ours(one))) {
        return refused("the token is meant for another audience than this API");
    }
    Ok(())
}

/// Says whether a URL is that of this API, as the audience of a token: the gateway's own, with or without `/api`.
fn is_api(url: &str, host: Option<&HeaderValue>, registry: &Registry) -> bool {
    matches!(below_us(url, host, registry), Some("" | "/" | "/api"))
}

/// Returns what of a URL stands below the gateway's own, `None` where it is no URL of ours.
///
/// Without a public URL only loopback names are known to be ours; any other `Host` is the client's word alone.
pub(crate) fn below_us<'a>(url: &'a str, host: Option<&HeaderValue>, registry: &Registry) -> Option<&'a str> {
    let settings = &registry.parts.settings;
    let rest = match &settings.public_url {
        Some(base) => url.strip_prefix(base.as_str()),
        None => host.and_then(|host| host.to_str().ok()).and_then(|host| {
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            let is_loopback = ["127.0.0.1", "localhost", "[::1]"].contains(&name);
            let rest = url.strip_prefix("http://")?.strip_prefix(host)?;
            rest.strip_prefix(settings.path_prefix.as_str()).filter(|_| is_loopback)
        }),
    };
    rest.filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl FromRequestParts<Arc<Registry>> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, registry: &Arc<Registry>) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, registry).await?;
        if !caller.principal.is_admin {
            let detail =
                format!("{} is not an administrator and may only read here", caller.principal.subject);
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        Ok(Self(caller))
    }
}

/// Returns a parameter of the route, decoded.
pub(crate) async fn part<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    name: &str,
) -> Result<String, Problem> {
    let missing = || Problem::new(StatusCode::NOT_FOUND, "there is nothing at this path");
    let Path(all): Path<Vec<(String, String)>> =
        Path::from_request_parts(parts, state).await.map_err(|_| missing())?;
    all.into_iter().find(|(key, _)| key == name).map(|(_, value)| value).ok_or_else(missing)
}

async fn server_path<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<ServerPath, Problem> {
    let text = part(parts, state, "path").await?;
    // A path that cannot be registered is not there, which says more than the rule it breaks.
    ServerPath::parse("path", &text)
        .map_err(|_| Refusal::NoSuch { kind: "server", name: text, known: Vec::new() }.into())
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
