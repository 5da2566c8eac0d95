//! Who calls, from where, and whether they may enter.

use std::sync::Arc;

use auth::Refused;
use catalog::access::{Principal, Scope};
use catalog::rights::Guard;
use catalog::time::Timestamp;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Uri};
use mcp::message::{Kind, Span, text};
use mcp::method::Method;
use routing::Table;
use routing::names::Tool;
use routing::target::{Target, VirtualTarget};
use routing::version::VersionTarget;

use crate::error::Error;
use crate::inbound;
use crate::lent;
use crate::plane::Call;
use crate::shared::{Settings, Shared};

/// Stands in the configuration for every host name: for a gateway that is reached under names it does not know.
const ANY: &str = "*";

/// What the methods of notifications begin with.
const NOTIFICATIONS: &str = "notifications/";

/// Refuses names that are not ours: a page of another site that had its name point here (DNS rebinding).
pub(crate) fn check_host(
    host: Option<&HeaderValue>,
    headers: &HeaderMap,
    settings: &Settings,
) -> Result<(), Error> {
    let host = host.and_then(inbound::ascii).ok_or(Error::ForeignHost)?;
    let name = host_name(host).ok_or(Error::ForeignHost)?;
    let is_any = settings.allowed_hosts.iter().any(|allowed| allowed == ANY);
    if !is_any && !is_ours(name, settings) {
        return Err(Error::ForeignHost);
    }
    let is_allowed =
        |origin: &HeaderValue| is_known_origin(origin.to_str().ok()?, host, settings).then_some(());
    headers.get_all(ORIGIN).iter().try_for_each(is_allowed).ok_or(Error::ForeignHost)
}

/// Says whether a page of this origin may call: one that is listed, one of ours, or one that came from the
/// host the request names.
fn is_known_origin(origin: &str, host: &str, settings: &Settings) -> bool {
    if settings.allowed_origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) {
        return true;
    }
    // An opaque origin ("null") has no authority and is refused.
    let Some((_, authority)) = origin.split_once("://") else { return false };
    authority == host || host_name(authority).is_some_and(|name| is_ours(name, settings))
}

/// Returns the host a request names, port and all.
pub(crate) fn host(uri: &Uri, headers: &HeaderMap) -> Option<HeaderValue> {
    match uri.authority() {
        Some(authority) => HeaderValue::from_str(authority.as_str()).ok(),
        None => {
            let mut values = headers.get_all(HOST).iter();
            let first = values.next().cloned();
            // Of two, nobody can tell which one a proxy in front looked at.
            first.filter(|_| values.next().is_none())
        }
    }
}

/// Takes the name out of `name`, `name:port`, `[address]` or `[address]:port`; `None` for anything else, such as
/// a user before an `@`. What passes holds no quotes and may be repeated in a header.
fn host_name(authority: &str) -> Option<&str> {
    let (name, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let end = inner.find(']')?;
            let is_address = inner[..end].bytes().all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'));
            is_address.then(|| authority.split_at(end + 2))?
        }
        None => {
            let colon = authority.bytes().position(|byte| byte == b':');
            authority.split_at(colon.unwrap_or(authority.len()))
        }
    };
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'[' | b']' | b':');
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| {
            (1..=5).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit())
        });
    (!name.is_empty() && name.bytes().all(fits) && is_port).then_some(name)
}

fn is_ours(name: &str, settings: &Settings) -> bool {
    let loopback = ["127.0.0.1", "localhost", "[::1]"];
    loopback.iter().any(|known| known.eq_ignore_ascii_case(name))
        || settings.allowed_hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns who calls. `path` is the endpoint's short path, `host` what the client calls us; a token bound to another
/// endpoint is refused.
///
/// Waits only for a token that was never seen and whose provider has to be asked for its keys, or about it.
pub(crate) async fn caller(
    headers: &HeaderMap,
    host: Option<&HeaderValue>,
    path: &str,
    table: &Table,
    shared: &Shared,
) -> Result<Arc<Principal>, Error> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        if shared.settings.anonymous.iter().any(|open| open == path) {
            return Ok(Arc::new(Principal::anonymous()));
        }
        return Err(Error::Unauthorized("a bearer token is needed: Authorization: Bearer <token>"));
    };
    if values.next().is_some() {
        return Err(Error::Unauthorized("Authorization was sent twice"));
    }
    let bearer = inbound::ascii(value).and_then(bearer);
    let bearer = bearer.ok_or(Error::Unauthorized("Authorization is not of the form: Bearer <token>"))?;
    let now = Timestamp::now();
    let principal = match shared.authenticator.recall(bearer, now) {
        Some(known) => known,
        None => Box::pin(shared.authenticator.find_out(bearer, now)).await,
    };
    let principal = principal.map_err(|refused| match refused {
        Refused::Unreachable => Error::ProviderAway,
        _ => Error::Unauthorized("the token is not valid, or no longer"),
    })?;
    if principal.token.as_deref().is_some_and(|token| table.is_revoked(token)) {
        return Err(Error::Unauthorized("the token was revoked"));
    }
    if principal.resource.as_deref().is_some_and(|bound| bound != path) {
        return Err(Error::Unauthorized("the token is for another endpoint"));
    }
    if let Some(audiences) = &principal.audiences
        && !audiences.iter().any(|audience| is_endpoint(audience, host, path, &shared.settings))
    {
        return Err(Error::Unauthorized("the token is for another audience"));
    }
    Ok(principal)
}

/// Returns the token that a caller was admitted with; anonymous callers have none.
pub(crate) fn presented(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION).and_then(inbound::ascii).and_then(bearer)
}

/// Says whether a URL is that of the endpoint at a path, as its metadata tells it.
///
/// Without a public URL the client's own word for us is in it, which says nothing unless the name is known to be ours:
/// whoever was shown a token for another host could name that host.
fn is_endpoint(url: &str, host: Option<&HeaderValue>, path: &str, settings: &Settings) -> bool {
    let rest = match &settings.public_url {
        Some(base) => url.strip_prefix(base.as_str()),
        None => host.and_then(inbound::ascii).and_then(|host| {
            let is_known = host_name(host).is_some_and(|name| is_ours(name, settings));
            let rest = url.strip_prefix("http://")?.strip_prefix(host)?;
            rest.strip_prefix(settings.path_prefix.as_str()).filter(|_| is_known)
        }),
    };
    rest == Some(path)
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Checks that a caller holds every scope an endpoint requires, and one that opens it where it is guarded.
pub(crate) fn enter(table: &Table, principal: &Principal, target: Target<'_>) -> Result<(), Error> {
    let (path, required) = (target.path(), target.required_scopes());
    let Some(guard) = table.guard(path) else { return may(table, principal, required, &[]) };
    if principal.is_admin {
        return Ok(());
    }
    if guard.admits(|scope| table.holds(principal, scope)) {
        return may(table, principal, required, &[]);
    }
    may(table, principal, required, std::slice::from_ref(guard.entry_scope().ok_or_else(|| closed(path))?))
}

/// Checks that the scopes of a caller who was let in allow what the message asks. Tools of a virtual server are checked
/// where they are found.
pub(crate) fn operate(call: &Call, target: Target<'_>) -> Result<(), Error> {
    let Some(guard) = call.table.guard(target.path()) else { return Ok(()) };
    let (kind, method) = (call.outline.kind, call.outline.method);
    let is_tool = method == Method::ToolsCall;
    if kind == Kind::Response || is_free(method) || (is_tool && matches!(target, Target::Virtual(_))) {
        return Ok(());
    }
    let text = |span: Option<Span>| span.and_then(|span| text(span.of(&call.body)));
    let name = text(call.outline.method_name).unwrap_or_default();
    // A call without an id is no request, and a backend may run it all the same.
    if kind == Kind::Notification && name.starts_with(NOTIFICATIONS) {
        return Ok(());
    }
    let tool = if is_tool { Some(text(call.outline.name).unwrap_or_default()) } else { None };
    allow(call, guard, target.path(), target.required_scopes(), &name, tool.as_deref())
}

/// Checks a tool of a virtual server: the scopes of the endpoint and of the tool; and where the endpoint is guarded, or
/// else the server behind it, that a scope allows to call it.
pub(crate) fn call_tool(call: &Call, target: &VirtualTarget, tool: &Tool) -> Result<(), Error> {
    let Some((guard, path, name)) = guard_of(&call.table, target, tool) else {
        return may(&call.table, &call.principal, &target.required_scopes, &tool.needs);
    };
    let mut needed = target.required_scopes.clone();
    needed.extend(tool.needs.iter().filter(|scope| !target.required_scopes.contains(scope)).cloned());
    allow(call, guard, path, &needed, "tools/call", Some(name))
}

/// Says whether a caller sees a tool of a virtual server.
pub(crate) fn sees_tool(call: &Call, target: &VirtualTarget, tool: &Tool) -> bool {
    let (table, principal) = (&call.table, &call.principal);
    if principal.is_admin {
        return true;
    }
    if table.missing(principal, &tool.needs).is_some() {
        return false;
    }
    guard_of(table, target, tool)
        .is_none_or(|(guard, _, name)| guard.shows(|scope| table.holds(principal, scope), name))
}

/// Finds what guards a tool of a virtual server, the path that is guarded and the tool's name there: the endpoint where
/// it is guarded itself, or else the server behind it.
fn guard_of<'a>(
    table: &'a Table,
    target: &'a VirtualTarget,
    tool: &'a Tool,
) -> Option<(&'a Guard, &'a str, &'a str)> {
    if let Some(guard) = table.guard(&target.path) {
        return Some((guard, &target.path, &tool.exposed));
    }
    let version = &target.backends[tool.backend];
    guard_behind(table, target, version).map(|guard| (guard, version.key.path.as_str(), &*tool.original))
}

/// Finds what guards a server behind a virtual server that is not guarded itself.
fn guard_behind<'a>(table: &'a Table, target: &VirtualTarget, version: &VersionTarget) -> Option<&'a Guard> {
    table.guard(version.key.path.as_str()).filter(|_| table.guard(&target.path).is_none())
}

/// Says whether a caller may use a method at a server behind a virtual server that is not guarded itself.
pub(crate) fn reaches(call: &Call, target: &VirtualTarget, version: &VersionTarget, method: &str) -> bool {
    let (table, principal) = (&call.table, &call.principal);
    let guard = guard_behind(table, target, version);
    let allows = |guard: &Guard| guard.allows(|scope| table.holds(principal, scope), method, None);
    principal.is_admin || guard.is_none_or(allows)
}

/// Refuses a method at a server behind a virtual server that the caller's scopes do not allow.
pub(crate) fn reach(
    call: &Call,
    target: &VirtualTarget,
    version: &VersionTarget,
    method: &str,
) -> Result<(), Error> {
    match guard_behind(&call.table, target, version) {
        Some(guard) => allow(call, guard, version.key.path.as_str(), &target.required_scopes, method, None),
        None => Ok(()),
    }
}

/// Asks a guard; beside what it allows, the caller needs all of `required`.
fn allow(
    call: &Call,
    guard: &Guard,
    path: &str,
    required: &[Scope],
    method: &str,
    tool: Option<&str>,
) -> Result<(), Error> {
    let (table, principal) = (&call.table, &call.principal);
    let holds = |scope: &Scope| table.holds(principal, scope);
    if principal.is_admin || guard.allows(holds, method, tool) {
        return may(table, principal, required, &[]);
    }
    let asked = guard.scope_for(method, tool).ok_or_else(|| match tool {
        Some(tool) => Error::Forbidden(format!("no scope allows {tool} at {path}")),
        None => Error::Forbidden(format!("no scope allows {method} at {path}")),
    })?;
    may(table, principal, required, std::slice::from_ref(asked))
}

fn closed(path: &str) -> Error {
    Error::Forbidden(format!("no scope opens {path}"))
}

/// Says whether a method is part of being in: beginning, staying, ending, and what goes on from a call that was allowed.
fn is_free(method: Method) -> bool {
    let is_lasting = matches!(method, Method::Listen | Method::Unsubscribe | Method::SetLevel);
    matches!(method, Method::Initialize | Method::Discover | Method::Ping)
        || is_lasting
        || lent::is_about_tasks(method)
}

/// Checks the scopes of an endpoint and those of one tool of it, all of them.
pub(crate) fn may(
    table: &Table,
    principal: &Principal,
    endpoint: &[Scope],
    tool: &[Scope],
) -> Result<(), Error> {
    let missing = table.missing(principal, endpoint).or_else(|| table.missing(principal, tool));
    let Some(missing) = missing else { return Ok(()) };
    let mut needed = endpoint.to_vec();
    needed.extend(tool.iter().filter(|scope| !endpoint.contains(scope)).cloned());
    Err(Error::MissingScope { missing: missing.clone(), needed })
}

#[cfg(test)]
mod tests;
