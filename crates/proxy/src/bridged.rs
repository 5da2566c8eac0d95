//! A server path whose client and backend are of different eras.
//!
//! A legacy client gets a session of ours, since a modern backend has none; a modern client is answered from
//! what the legacy backend said of itself when it was last read.

use std::sync::Arc;

use catalog::access::Principal;
use catalog::endpoint::Era;
use catalog::inventory::Side;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use mcp::era::Revision;
use mcp::headers::SESSION_ID;
use mcp::message::{Kind, members, quote, text};
use mcp::method::Method;
use routing::version::VersionTarget;

use crate::choice::Choice;
use crate::error::Error;
use crate::exchange::{self, Exchange};
use crate::follow::{self, Ready};
use crate::get_stream::{self, Owner};
use crate::inbound;
use crate::lent;
use crate::opaque::DirectSession;
use crate::outbound::Body;
use crate::params;
use crate::plane::{Call, Plane};
use crate::reply;
use crate::sessions::ClientSession;
use crate::virtual_server::aside;
use crate::{subscribe, subscriptions};

/// How long a modern client may keep what a legacy backend said of itself.
const DISCOVER_TTL_MS: u32 = 60_000;

/// Answers a modern client's request to a legacy backend.
pub(crate) async fn modern(call: &Call, version: &Arc<VersionTarget>) -> Result<Response<Body>, Error> {
    match call.outline.method {
        Method::Discover => {
            let side = side(version, Era::Legacy)?;
            Ok(reply::result(call, discovered(&side).as_bytes()))
        }
        method if method.is_removed() => Err(call.unknown_method()),
        Method::Listen => subscriptions::of_version(call, version).await,
        // Tasks of one era are not those of another.
        method if lent::is_about_tasks(method) => Err(call.unknown_method()),
        _ => {
            params::check_for(call, version)?;
            exchange::run(Exchange::at_server(call, version.clone())).await
        }
    }
}

/// Answers a legacy client's message to a modern backend.
pub(crate) async fn legacy(call: &Call, choice: &Choice) -> Result<Response<Body>, Error> {
    if call.outline.kind == Kind::Request && call.outline.method == Method::Initialize {
        return initialize(call, choice);
    }
    let session = session(&call.plane, &call.headers, choice, &call.principal).await?;
    match (call.outline.kind, call.outline.method) {
        (Kind::Response, _) => Ok(aside::answered(call, &session)),
        (Kind::Notification, _) => Ok(aside::notified(call, &session)),
        (Kind::Request, Method::Ping) => Ok(reply::result(call, b"{}")),
        (Kind::Request, Method::SetLevel) => aside::set_level(call, &session).await,
        (Kind::Request, Method::Subscribe | Method::Unsubscribe) => {
            subscribe::edit(call, &session, &choice.version).await
        }
        (Kind::Request, method) if lent::is_about_tasks(method) => Err(call.unknown_method()),
        (Kind::Request, _) => {
            let version = choice.version.clone();
            // Of a backend of both eras, the session was begun when it spoke the newer one only.
            let exchange = Exchange::at_server(call, version);
            exchange::legacy_to_modern(exchange, session).await
        }
    }
}

/// Opens the GET stream of a session of ours, fed from a listen stream of the backend, or goes on with a stream.
pub(crate) async fn listen(
    plane: &Plane,
    headers: &HeaderMap,
    choice: &Choice,
    principal: &Principal,
) -> Result<Response<Body>, Error> {
    let session = session(plane, headers, choice, principal).await?;
    let version = &choice.version;
    let owner = Owner { session, principal, path: version.key.path.as_str(), version: Some(version) };
    get_stream::open(plane, headers, owner, |listener| {
        follow::version(listener, version.clone(), Era::Modern, Ready::default())
    })
}

/// Ends a session of ours.
pub(crate) async fn end(
    plane: &Plane,
    headers: &HeaderMap,
    choice: &Choice,
    principal: &Principal,
) -> Result<Response<Body>, Error> {
    let session = session(plane, headers, choice, principal).await?;
    let token = inbound::session_id(headers)?.ok_or(Error::SessionMissing)?;
    plane.shared.sessions.end(token, &session);
    session.state().stream = None;
    Ok(reply::empty(StatusCode::NO_CONTENT))
}

fn initialize(call: &Call, choice: &Choice) -> Result<Response<Body>, Error> {
    let version = &choice.version;
    let (sealed, path) = (call.client_session()?, version.key.path.as_str());
    let revision = sealed.revision;
    let side = side(version, Era::Modern)?;
    let session = DirectSession::ours(version.key.label.as_str(), version.identity, &sealed);
    let token = call.plane.shared.opaque.wrap_session(&session, path, &call.principal);
    call.plane.shared.sessions.enter(&token, sealed, path, &call.principal);
    let instructions = instructions(&side);
    let result = format!(
        r#"{{"protocolVersion":"{}","capabilities":{},"serverInfo":{}{instructions}}}"#,
        revision.as_str(),
        capabilities(&side, &["extensions", "tasks"]),
        server_info(&side, version),
    );
    let mut response = reply::result(call, result.as_bytes());
    let token = HeaderValue::from_str(&token).expect("base64url is printable");
    response.headers_mut().insert(SESSION_ID, token);
    Ok(response)
}

async fn session(
    plane: &Plane,
    headers: &HeaderMap,
    choice: &Choice,
    principal: &Principal,
) -> Result<Arc<ClientSession>, Error> {
    let token = inbound::session_id(headers)?.ok_or(Error::SessionMissing)?;
    let sealed = choice
        .session
        .as_ref()
        .and_then(|unwrapped| unwrapped.session.read_ours())
        .ok_or(Error::SessionUnknown)?;
    let (sessions, path) = (&plane.shared.sessions, choice.version.key.path.as_str());
    if let Some(session) = sessions.find(token, path, principal) {
        return Ok(session);
    }
    sessions.restore(token, sealed, path, principal).await.ok_or(Error::SessionUnknown)
}

/// Returns what the backend says in the era it is spoken to.
fn side(version: &VersionTarget, back: Era) -> Result<Side<'_>, Error> {
    let server = || version.key.path.to_string();
    let reason = "it was never reached, so nothing is known of it";
    version.side(back).ok_or_else(|| Error::Unreachable { server: server(), reason: reason.into() })
}

fn discovered(side: &Side<'_>) -> String {
    format!(
        r#"{{"resultType":"complete","supportedVersions":["{}"],"capabilities":{}{},"ttlMs":{DISCOVER_TTL_MS},"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{}}}}}"#,
        Revision::MODERN.as_str(),
        capabilities(side, &["tasks", "experimental"]),
        instructions(side),
        side.server_info,
    )
}

/// The backend's capabilities without those that do not cross eras.
fn capabilities(side: &Side<'_>, without: &[&str]) -> String {
    let raw = side.capabilities.as_bytes();
    let Some(members) = members(raw) else { return "{}".into() };
    let kept =
        members.iter().filter(|(key, _)| !text(key.of(raw)).is_some_and(|name| without.contains(&&*name)));
    let kept: Vec<String> = kept
        .map(|(key, value)| {
            format!("{}:{}", String::from_utf8_lossy(key.of(raw)), String::from_utf8_lossy(value.of(raw)))
        })
        .collect();
    format!("{{{}}}", kept.join(","))
}

fn server_info(side: &Side<'_>, version: &VersionTarget) -> String {
    let has_name = mcp::message::member(side.server_info.as_bytes(), "name").is_some();
    match has_name {
        true => side.server_info.to_string(),
        false => format!(
            r#"{{"name":{},"version":{}}}"#,
            quote(version.key.path.group()),
            quote(version.key.label.as_str())
        ),
    }
}

fn instructions(side: &Side<'_>) -> String {
    side.instructions.map_or(String::new(), |text| format!(r#","instructions":{}"#, quote(text)))
}
