//! Where a user's browser allows the gateway to act for them at a backend: a page that has them prove who they are, the way
//! to the authorization server, and the way back.
//!
//! What is connected is bound to the user who proved to be it in this very browser, with a token, and nobody else. A link to
//! the page names no user, so sending it to somebody makes them connect themselves and nothing more; and whoever
//! comes back from the authorization server must be the browser that went there.

mod page;
mod passage;

use std::sync::Arc;

use auth::Issuer;
use axum::extract::{RawForm, RawQuery, State};
use axum::response::{IntoResponse, Response};
use backend::tokens::{Answer, Asking, Tokens};
use catalog::Catalog;
use catalog::access::{Grants, Principal};
use catalog::authorization::Flow;
use catalog::connection::{Connection, ConnectionKey, MAX_CONNECTIONS, User};
use catalog::error::{Invalid, Refusal};
use catalog::name::ServerPath;
use catalog::server::Version;
use catalog::time::Timestamp;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use store::audit::{Entry, Outcome};
use store::change::{Change, Edit};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::base::Base;
use super::error::Problem;
use super::extract::{below_us, require_server};
use crate::Registry;
use passage::{Form, Passage};

/// Path of the page below the gateway's base.
const PAGE: &str = "/api/connect";
/// Where the browser comes back to. To be registered at authorization servers.
const CALLBACK: &str = "/api/connect/callback";

/// Makes the routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(show, begin)).routes(routes!(come_back))
}

/// What a query or a form says.
struct Said(Vec<(String, String)>);

impl Said {
    fn read(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).map(|(name, value)| (name.into(), value.into())).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Finds the version that is meant: the one named, else the active one; it must be one that users allow.
    fn version<'a>(&self, catalog: &'a Catalog) -> Result<(ServerPath, &'a Version), Refusal> {
        let path = ServerPath::parse("server", self.get("server").unwrap_or_default());
        let path = path.map_err(|fault| Refusal::Invalid(vec![fault]))?;
        let server = require_server(catalog, &path)?;
        let version = match self.get("version").filter(|label| !label.is_empty()) {
            Some(label) => server.require(label)?,
            None => server.active(),
        };
        let wants_users = version.endpoint.authorization.as_ref().is_some_and(|one| one.flow == Flow::User);
        if !wants_users {
            return Err(Refusal::Invalid(vec![Invalid::new("server", "asks its users for nothing")]));
        }
        Ok((path, version))
    }
}

/// Shows the page on which a user connects themselves with a server
#[utoipa::path(get, path = "/api/connect", operation_id = "show_connect", tag = "connections", security(()),
    params(("server" = String, Query, description = "Path of the server"),
        ("version" = Option<String>, Query, description = "A version other than the active one")),
    responses((status = 200, description = "The page", body = String, content_type = "text/html")))]
async fn show(
    State(registry): State<Arc<Registry>>,
    base: Base,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let said = Said::read(query.unwrap_or_default().as_bytes());
    let (path, _) = said.version(&registry.catalog())?;
    let form = Form::begin();
    let sealed = form.seal(&registry.parts.seal);
    let body = page::ask(&path, said.get("version").unwrap_or_default(), &sealed, &base.endpoint(PAGE));
    Ok(page::answer(body, &[form.cookie(&base)]))
}

/// Sends a user who proved who they are to the authorization server
#[utoipa::path(post, path = "/api/connect", operation_id = "begin_connect", tag = "connections", security(()),
    request_body(description = "server, version, token, and what the page put beside them", content = String,
        content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "To the authorization server"), (status = 403, description = "Not from the page")))]
async fn begin(
    State(registry): State<Arc<Registry>>,
    base: Base,
    headers: HeaderMap,
    RawForm(body): RawForm,
) -> Result<Response, Problem> {
    let said = Said::read(&body);
    // A page of somebody else must not connect a visitor in that somebody's name.
    let from_page = Form::came_with(&headers, said.get("form").unwrap_or_default(), &registry.parts.seal);
    if !from_page || !is_ours(&headers, &base) {
        return Err(Problem::new(StatusCode::FORBIDDEN, "this did not come from the page; open it again"));
    }
    let catalog = registry.catalog();
    let (path, version) = said.version(&catalog)?;
    let token = said.get("token").unwrap_or_default().trim();
    let principal = proven(&registry, &headers, token, &path).await?;
    let tokens = tokens(&registry)?;
    let passage = Passage::begin(&path, version.label.as_str(), User::of(&principal));
    let asking = Asking {
        redirect_uri: &base.endpoint(CALLBACK),
        state: &passage.seal(&registry.parts.seal),
        verifier: &passage.verifier,
    };
    let url = tokens.question(&version.endpoint, &asking).await.map_err(|error| failed(&error))?;
    let mut response = StatusCode::SEE_OTHER.into_response();
    let location = HeaderValue::from_str(url.as_str()).expect("a URL is printable ASCII");
    response.headers_mut().insert(header::LOCATION, location);
    page::dress(&mut response, &[passage.cookie(&base)]);
    Ok(response)
}

/// Takes up a user's browser that comes back from the authorization server
#[utoipa::path(get, path = "/api/connect/callback", tag = "connections", security(()),
    params(("code" = Option<String>, Query, description = "What tokens are had for"),
        ("state" = Option<String>, Query, description = "What was given along"),
        ("iss" = Option<String>, Query, description = "Which authorization server it is"),
        ("error" = Option<String>, Query, description = "Why the user is not connected")),
    responses((status = 200, description = "A page that says so", body = String, content_type = "text/html"),
        (status = 403, description = "Another browser went there")))]
async fn come_back(
    State(registry): State<Arc<Registry>>,
    base: Base,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let said = Said::read(query.unwrap_or_default().as_bytes());
    let passage = Passage::open(&headers, said.get("state").unwrap_or_default(), &registry.parts.seal);
    let Some(passage) = passage else {
        let detail = "this browser did not ask for it, or too long ago; open the page again";
        return Err(Problem::new(StatusCode::FORBIDDEN, detail));
    };
    let catalog = registry.catalog();
    let asked =
        Said(vec![("server".into(), passage.server.clone()), ("version".into(), passage.version.clone())]);
    let (path, version) = asked.version(&catalog)?;
    let Some(code) = said.get("code").filter(|_| said.get("error").is_none()) else {
        return Ok(page::answer(page::refused(&path), &[Passage::no_cookie(&base)]));
    };
    let tokens = tokens(&registry)?;
    let answer = Answer {
        redirect_uri: &base.endpoint(CALLBACK),
        code,
        verifier: &passage.verifier,
        issuer: said.get("iss"),
    };
    let allowed = tokens.redeem(&version.endpoint, &answer).await.map_err(|error| failed(&error))?;
    let now = Timestamp::now();
    let key = ConnectionKey { server: path.clone(), user: passage.user.clone() };
    let seconds = i64::try_from(allowed.life.as_secs()).unwrap_or_default();
    let connection = Connection {
        key: key.clone(),
        id: Issuer::new_id().to_string().into(),
        place: allowed.place,
        token_url: allowed.token_url,
        scope: allowed.scope,
        access_token: allowed.access_token,
        expires_at: now.plus_seconds(seconds),
        refresh_token: allowed.refresh_token,
        created_at: now,
        updated_at: now,
    };
    registry
        .apply(|catalog| {
            let old = catalog.connections.get(&key);
            if old.is_none() && catalog.connections.len() >= MAX_CONNECTIONS {
                return Err(Refusal::Invalid(vec![Invalid::new("server", "too many users are connected")]));
            }
            require_server(catalog, &path)?;
            let entry = Entry {
                at: now,
                actor: passage.user.subject.clone(),
                action: "connection.create".into(),
                object: Some(path.to_string()),
                outcome: Outcome::Ok,
                detail: String::new(),
                data: None,
                source: None,
            };
            let put = Edit::PutConnection(Arc::new(connection));
            Ok((Change::new(vec![put]).with_entry(entry), ()))
        })
        .await?;
    tracing::info!(server.path = %path, user = &*passage.user.subject, "a user is connected");
    // What it offers, and which revisions it speaks, may only be readable since now; the user's next call needs that.
    let version = catalog::VersionKey::new(&path, &version.label);
    if !registry.catalog().inventories.contains_key(&version)
        && let Err(error) = registry.refresh(&version).await
    {
        tracing::warn!(%error, server.path = %path, "a server could not be read although a user is connected");
    }
    Ok(page::answer(page::connected(&path, &passage.user.subject), &[Passage::no_cookie(&base)]))
}

/// Says whether a request of a browser was made by a page of ours.
fn is_ours(headers: &HeaderMap, base: &Base) -> bool {
    let same = headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin");
    let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes);
    same && origin.is_none_or(|origin| origin == base.origin().as_bytes())
}

/// Returns whom a token stands for, who must be allowed to use the server.
async fn proven(
    registry: &Registry,
    headers: &HeaderMap,
    token: &str,
    path: &ServerPath,
) -> Result<Arc<Principal>, Problem> {
    let refused = |detail: &str| Problem::new(StatusCode::UNAUTHORIZED, detail);
    let principal = registry.parts.authenticator.identify(token, Timestamp::now()).await;
    let principal = principal.map_err(|_| refused("the token is not valid, or no longer"))?;
    let catalog = registry.catalog();
    let issued = principal.token.as_ref().and_then(|id| catalog.tokens.get(id));
    if issued.is_some_and(|issued| issued.revoked_at.is_some()) {
        return Err(refused("the token was revoked"));
    }
    // Whoever was given a token for something else must not act here with it.
    let is_ours = |audience: &str| below_us(audience, headers.get(header::HOST), registry).is_some();
    let is_for_others =
        principal.audiences.as_ref().is_some_and(|audiences| !audiences.iter().any(|one| is_ours(one)));
    if is_for_others || principal.resource.as_deref().is_some_and(|bound| bound != path.as_str()) {
        return Err(refused("the token is for something else"));
    }
    let server = require_server(&catalog, path)?;
    let grants = Grants::of(&principal, &catalog.groups);
    match grants.missing(&server.required_scopes) {
        None => Ok(principal),
        Some(missing) => {
            Err(Problem::new(StatusCode::FORBIDDEN, format!("Missing required scope: {missing}")))
        }
    }
}

fn tokens(registry: &Registry) -> Result<Arc<Tokens>, Problem> {
    let tokens = registry.parts.backends.settings().tokens.clone();
    tokens.ok_or_else(|| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no tokens are had here"))
}

fn failed(error: &backend::Error) -> Problem {
    Problem::new(StatusCode::BAD_GATEWAY, format!("not connected: {}", error.reason()))
}
