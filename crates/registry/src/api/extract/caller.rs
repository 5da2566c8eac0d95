//! Who calls the API: whoever's token, or session of a browser, is good here.

use std::sync::Arc;
use std::time::Instant;

use auth::Refused;
use auth::cookie::Session;
use axum::extract::FromRequestParts;
use catalog::Catalog;
use catalog::access::{Grants, Principal, Scope};
use catalog::error::Refusal;
use catalog::name::ServerPath;
use catalog::server::{Server, Visibility};
use catalog::time::Timestamp;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use routing::Table;

use super::{no_such_server, require_server};
use crate::Registry;
use crate::api::cookie::{self, Name};
use crate::api::error::Problem;
use crate::sessions::Open;
use crate::trail::Trail;

/// What a scope document calls the right to find a server.
const LIST_SERVICE: &str = "list_service";

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
