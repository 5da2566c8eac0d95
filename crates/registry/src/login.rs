//! Browser sign-in and sign-out: `/login`, `/login/callback`, `/logout`. What they answer is for people.

mod next;
mod page;

use std::net::SocketAddr;
use std::sync::Arc;

use auth::outside::{Flow, Returned, SignInFailed};
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequestParts, Query, State};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Form, Router};
use catalog::error::Refusal;
use catalog::time::Timestamp;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Registry;
use crate::api::base::Base;
use crate::api::cookie::{self, Name};
use crate::api::error::Problem;
use crate::api::extract::{self, session};
use crate::apply;
use crate::sessions::Begun;
use crate::trail::Trail;

/// Longest form; a token is the longest that is in one.
const MAX_FORM_BYTES: usize = 64 * 1024;
/// How long a browser keeps what it needs when it comes back.
const FLOW_SECONDS: i64 = 600;

/// What may stand behind `/login?`.
#[derive(Default, Deserialize)]
struct Asked {
    /// Where to go then: a path of this host.
    next: Option<String>,
    /// The issuer to sign in at.
    provider: Option<String>,
    /// The secret of a link.
    once: Option<String>,
    /// Given where a choice is wanted though there is but one.
    choose: Option<String>,
}

/// A token that is shown to sign in.
#[derive(Deserialize)]
struct Shown {
    token: String,
    next: Option<String>,
}

/// What a page sends to sign out.
#[derive(Deserialize)]
struct Leaving {
    csrf_token: Option<String>,
}

/// The router of the pages. They are no part of the API, and not in its description.
pub(crate) fn router(registry: Arc<Registry>) -> Router {
    Router::new()
        .route("/login", get(show).post(take_token))
        .route("/login/callback", get(come_back))
        .route("/logout", post(leave))
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .with_state(registry)
}

async fn show(State(registry): State<Arc<Registry>>, parts: Parts) -> Response {
    shown(&registry, parts).await.unwrap_or_else(|problem| page::failure(&problem))
}

async fn shown(registry: &Arc<Registry>, mut parts: Parts) -> Result<Response, Problem> {
    let settings = &registry.parts.settings;
    let asked: Asked = query(&parts)?;
    let next = next::local(asked.next.as_deref(), &settings.path_prefix);
    if let Some(secret) = &asked.once {
        let begun = registry.redeem_link(secret, &trail(&parts, "session.begin")).await;
        let begun = begun.map_err(|error| match error {
            apply::Error::Refused(Refusal::NoSuch { .. }) => {
                let detail = "this link was used before, is too old, or was never given";
                Problem::new(StatusCode::FORBIDDEN, detail)
            }
            error => error.into(),
        })?;
        return Ok(signed_in(registry, &begun, &next));
    }
    let only = (registry.sign_in.choices().len() == 1).then(|| registry.sign_in.choices().next()).flatten();
    let open = session(registry, &parts);
    let chosen = match (&asked.provider, &open, &asked.choose) {
        (Some(issuer), ..) => Some(issuer.as_str()),
        (None, None, None) => only.map(|one| one.issuer),
        _ => None,
    };
    if let Some(issuer) = chosen {
        let base = Base::from_request_parts(&mut parts, registry).await?;
        let begun =
            registry.sign_in.begin(issuer, &base.endpoint("/login/callback"), &next, Timestamp::now());
        let (url, flow) = begun.map_err(|error| failed(&error))?;
        let cookie = Name::Flow.set(settings, &registry.parts.cookies.seal_flow(&flow), FLOW_SECONDS);
        return Ok(page::go(&url, [cookie]));
    }
    Ok(match open {
        Some(open) => {
            let away = registry.sign_in.sign_out_url(&open.session.issuer, "");
            page::account(&open, away.as_deref(), &settings.path_prefix)
        }
        None => page::choice(registry.sign_in.choices(), &next, &settings.path_prefix),
    })
}

/// Signs in with a token, as the API would take it.
async fn take_token(
    State(registry): State<Arc<Registry>>,
    parts: Parts,
    Form(shown): Form<Shown>,
) -> Response {
    let taken = async {
        cookie::check_origin(&parts.headers, &registry.parts.settings)?;
        let principal = extract::bearer_principal(shown.token.trim(), &registry).await?;
        extract::admit(&principal, &parts, &registry)?;
        let begun = registry.begin_session(&principal, &trail(&parts, "session.begin")).await?;
        let next = next::local(shown.next.as_deref(), &registry.parts.settings.path_prefix);
        Ok(signed_in(&registry, &begun, &next))
    };
    taken.await.unwrap_or_else(|problem: Problem| page::failure(&problem))
}

/// Takes up a sign-in where the provider sends the browser back. What the browser kept is used up either way.
async fn come_back(State(registry): State<Arc<Registry>>, parts: Parts) -> Response {
    let settings = &registry.parts.settings;
    let finished = async {
        let returned: Returned = query(&parts)?;
        let flow = flow(&registry, &parts).ok_or_else(|| failed(&SignInFailed::NotOurs))?;
        let person = registry.sign_in.finish(&flow, &returned, Timestamp::now()).await;
        let person = person.map_err(|error| failed(&error))?;
        let begun = registry.begin_session(&person, &trail(&parts, "session.begin")).await?;
        Ok(signed_in(&registry, &begun, &next::local(Some(&flow.next), &settings.path_prefix)))
    };
    let mut response = finished.await.unwrap_or_else(|problem: Problem| page::failure(&problem));
    response.headers_mut().append(header::SET_COOKIE, Name::Flow.set(settings, "", 0));
    response
}

/// Signs out here, and sends the browser on to sign out of the provider, where it has a place for that.
async fn leave(
    State(registry): State<Arc<Registry>>,
    mut parts: Parts,
    Form(form): Form<Leaving>,
) -> Response {
    let settings = registry.parts.settings.clone();
    let left = async {
        cookie::check_origin(&parts.headers, &settings)?;
        let base = Base::from_request_parts(&mut parts, &registry).await?;
        let back = base.endpoint("/login?choose=1");
        let Some(open) = session(&registry, &parts) else { return Ok(back) };
        let header = parts.headers.get(cookie::PROOF).and_then(|value| value.to_str().ok());
        cookie::check_proof(form.csrf_token.as_deref().or(header).unwrap_or_default(), &open)?;
        registry.end_session(&open, &trail(&parts, "session.end")).await?;
        Ok(registry.sign_in.sign_out_url(&open.session.issuer, &back).unwrap_or(back))
    };
    match left.await {
        Ok(to) => page::go(&to, [Name::Session.set(&settings, "", 0)]),
        Err(problem) => page::failure(&problem),
    }
}

fn signed_in(registry: &Registry, begun: &Begun, next: &str) -> Response {
    let cookie: HeaderValue = Name::Session.set(&registry.parts.settings, &begun.cookie, begun.seconds);
    page::go(next, [cookie])
}

fn flow(registry: &Registry, parts: &Parts) -> Option<Flow> {
    let mut all = Name::Flow.read(&registry.parts.settings, &parts.headers);
    all.find_map(|cookie| registry.parts.cookies.open_flow(cookie))
}

fn query<T: DeserializeOwned>(parts: &Parts) -> Result<T, Problem> {
    let Query(asked) = Query::try_from_uri(&parts.uri)
        .map_err(|rejection| Problem::new(StatusCode::BAD_REQUEST, rejection.body_text()))?;
    Ok(asked)
}

fn trail(parts: &Parts, action: &'static str) -> Trail {
    let source = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.ip().to_canonical());
    Trail::new(action, None, source)
}

fn failed(error: &SignInFailed) -> Problem {
    let status = match error {
        SignInFailed::NoProvider => StatusCode::NOT_FOUND,
        SignInFailed::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
        SignInFailed::Unbelieved(_) => StatusCode::FORBIDDEN,
        SignInFailed::NotOurs | SignInFailed::Late | SignInFailed::Declined(_) => StatusCode::BAD_REQUEST,
    };
    Problem::new(status, error.to_string())
}
