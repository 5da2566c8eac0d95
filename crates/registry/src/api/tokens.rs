//! Tokens of our own: issued to anybody by an administrator and to themselves by others, shown once, revoked at once.

pub(crate) mod own;

use std::sync::Arc;

use auth::Issuer;
use auth::bearer::MAX_TOKEN_BYTES;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use catalog::Catalog;
use catalog::error::{Invalid, Refusal};
use catalog::name::{ServerPath, Slug};
use catalog::prose::check_prose;
use catalog::time::Timestamp;
use catalog::token::{IssuedToken, MAX_LIFE_SECONDS};
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use store::change::{Change, Edit};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::document::rfc3339;
use super::error::Problem;
use super::extract::{Caller, JsonBody, Named, Paging, Params};
use super::groups::{MAX_LISTED, read_names, read_scopes};
use crate::Registry;

/// Life of a token whose request names none: thirty days.
const DEFAULT_LIFE_SECONDS: i64 = 30 * 24 * 3600;
/// Longest subject, in bytes.
const MAX_SUBJECT_BYTES: usize = 256;

/// Makes the routes of this file.
pub(crate) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(issue_token, list_tokens)).routes(routes!(show_token, revoke_token))
}

/// What a token is to allow.
#[derive(Deserialize, ToSchema)]
#[schema(as = TokenBody)]
#[schema(example = json!({"subject": "alice", "groups": ["developers"], "expires_in": 86400}))]
struct Body {
    /// Who will present it. Required of an administrator; others make tokens for themselves alone.
    subject: Option<String>,
    /// Another word for `subject`.
    username: Option<String>,
    /// Another word for `subject`.
    name: Option<String>,
    /// What it is for.
    #[serde(default)]
    description: String,
    /// Groups it names; it may do what they grant, now and later.
    #[serde(default)]
    groups: Vec<String>,
    /// Scopes it carries itself.
    #[serde(default)]
    scopes: Vec<String>,
    /// Its life in seconds; thirty days where absent, ten years at most, and not beyond that of the token it is made
    /// with, unless that is an administrator's.
    #[serde(alias = "expires_in_seconds")]
    expires_in: Option<i64>,
    /// Path of the one endpoint it is good for, for example `/virtual/dev-tools`; any where absent.
    resource: Option<String>,
    /// Whether it is an administrator's, who may do everything.
    #[serde(default, alias = "is_admin")]
    admin: bool,
}

/// A token as it is kept: without the text that is presented.
#[derive(Serialize, ToSchema)]
#[schema(as = Token)]
struct Document {
    /// Its id, to revoke it by.
    id: String,
    /// Who presents it.
    subject: String,
    /// What it is for.
    description: String,
    /// Groups it names.
    groups: Vec<String>,
    /// Scopes it carries itself.
    scopes: Vec<String>,
    /// Whether it is an administrator's.
    admin: bool,
    /// The one endpoint it is good for.
    resource: Option<String>,
    /// Who vouches for the subject, where it is a caller of an identity provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_issuer: Option<String>,
    /// Who had it made.
    created_by: String,
    /// Id of the token it was made with, by a caller who is no administrator; it is revoked with that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    made_with: Option<String>,
    /// When it was last presented, late by a minute at most.
    last_used_at: Option<String>,
    /// When it was made.
    created_at: String,
    /// When it ends.
    expires_at: String,
    /// When it was revoked.
    revoked_at: Option<String>,
    /// Whether it is still let in.
    is_live: bool,
}

/// A token that was just issued.
#[derive(Serialize, ToSchema)]
#[schema(as = IssuedToken)]
struct Issued {
    /// The text to present: `Authorization: Bearer <token>`. Shown this once and kept nowhere.
    token: String,
    /// Always `Bearer`.
    token_type: &'static str,
    /// Its life in seconds.
    expires_in: i64,
    /// What it allows.
    #[serde(flatten)]
    document: Document,
    /// What is allowed and may still be a mistake.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// What narrows the list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// Only those of this subject.
    subject: Option<String>,
    /// Whether revoked and expired ones are listed too.
    #[serde(default)]
    include_revoked: bool,
}

/// A page of tokens.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenPage)]
struct Page {
    /// The entries, newest first.
    tokens: Vec<Document>,
    /// Entries on all pages.
    total_count: usize,
    /// Most entries of this page.
    limit: usize,
    /// Entries before this page.
    offset: usize,
    /// Whether there are entries behind this page.
    has_next: bool,
}

/// Issues a token
///
/// The answer shows it once; it is kept nowhere. An administrator may issue any token. Others may issue tokens for
/// themselves: with groups they are in and scopes they hold, and no longer good than the token they call with.
#[utoipa::path(post, path = "/api/tokens", tag = "tokens", request_body = Body,
    responses((status = 201, description = "It is issued", body = Issued),
        (status = 403, description = "It would allow more than the caller may", body = super::error::ProblemDocument,
            content_type = "application/problem+json")))]
async fn issue_token(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    JsonBody(mut body): JsonBody<Body>,
) -> Result<Response, Problem> {
    let (now, is_admin) = (Timestamp::now(), caller.principal.is_admin);
    if !is_admin {
        own::narrow(&mut body, &caller, now)?;
    }
    let mut record = body.read(&caller.principal.subject, now)?;
    if !is_admin {
        own::check(&mut record, &caller)?;
    }
    let token = registry.parts.issuer.sign(&record);
    check_length(&record, &token)?;
    let kind = if record.is_admin { ", administrator" } else { "" };
    caller.trail.detail(format!("for {}{kind}", record.subject));
    let issued = registry.apply_for(&caller.trail, |catalog| {
        if !is_admin {
            own::count(catalog, &caller.principal, now)?;
        }
        let warnings = warnings(catalog, &record);
        Ok((Change::new(vec![Edit::PutToken(Arc::new(record.clone()))]), warnings))
    });
    let warnings = issued.await?;
    let document = Issued {
        token,
        token_type: "Bearer",
        expires_in: record.expires_at.as_seconds() - now.as_seconds(),
        document: Document::of(&record, None, now),
        warnings,
    };
    tracing::info!(token.id = %record.id, token.subject = record.subject, by = record.created_by, "token issued");
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(document)).into_response())
}

/// Lists tokens
///
/// All of them for an administrator, those that stand for the caller for others.
#[utoipa::path(get, path = "/api/tokens", tag = "tokens",
    params(Filter, ("limit" = Option<usize>, Query, description = "Most entries, 1 to 1000; 100 by default"),
        ("offset" = Option<usize>, Query, description = "Entries to skip")),
    responses((status = 200, description = "A page of them, newest first", body = Page)))]
async fn list_tokens(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    paging: Paging,
    Params(filter): Params<Filter>,
) -> Json<Page> {
    let (catalog, now) = (registry.catalog(), Timestamp::now());
    let wanted = |token: &&Arc<IssuedToken>| {
        (filter.include_revoked || token.is_live(now))
            && filter.subject.as_ref().is_none_or(|subject| token.subject == *subject)
            && own::may_see(token, &caller)
    };
    let mut all: Vec<_> = catalog.tokens.values().filter(wanted).collect();
    all.sort_by_key(|token| std::cmp::Reverse(token.created_at));
    let (page, total_count, has_next) = paging.cut(all);
    let uses = registry.last_uses(page.iter().map(|token| &token.id), now).await;
    let tokens =
        page.into_iter().map(|token| Document::of(token, uses.get(&token.id).copied(), now)).collect();
    Json(Page { tokens, total_count, limit: paging.limit, offset: paging.offset, has_next })
}

/// Shows a token, without the text that is presented
#[utoipa::path(get, path = "/api/tokens/{id}", tag = "tokens",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 200, description = "It", body = Document)))]
async fn show_token(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    Named(id): Named,
) -> Result<Json<Document>, Problem> {
    let (catalog, now) = (registry.catalog(), Timestamp::now());
    let token = require(&catalog, &id, &caller)?;
    let uses = registry.last_uses([&token.id].into_iter(), now).await;
    Ok(Json(Document::of(token, uses.get(&token.id).copied(), now)))
}

/// Revokes a token
///
/// The next request with it is refused. Tokens that somebody who is no administrator made with it are revoked with it.
/// Revoking it again changes nothing.
#[utoipa::path(delete, path = "/api/tokens/{id}", tag = "tokens",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 204, description = "It is revoked")))]
async fn revoke_token(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    Named(id): Named,
) -> Result<StatusCode, Problem> {
    let revoked = registry.apply_for(&caller.trail, |catalog| {
        let token = require(catalog, &id, &caller)?;
        let ended: Vec<_> = own::with_those_made_with(catalog, token);
        let now = Timestamp::now();
        let revoke = |token: &Arc<IssuedToken>| {
            Edit::PutToken(Arc::new(IssuedToken { revoked_at: Some(now), ..IssuedToken::clone(token) }))
        };
        if ended.len() > 1 {
            caller.trail.detail(format!("and {} made with it", ended.len() - 1));
        }
        Ok((Change::new(ended.into_iter().map(revoke).collect()), ()))
    });
    revoked.await?;
    tracing::info!(token.id = id, by = &*caller.principal.subject, "token revoked");
    Ok(StatusCode::NO_CONTENT)
}

impl Body {
    fn read(self, created_by: &str, now: Timestamp) -> Result<IssuedToken, Refusal> {
        let mut faults = Vec::new();
        let subject = self.subject.or(self.username).or(self.name).unwrap_or_default().trim().to_owned();
        if subject.is_empty() {
            faults.push(Invalid::new("subject", "is required: who will present the token"));
        } else if subject.len() > MAX_SUBJECT_BYTES || subject.chars().any(char::is_control) {
            let reason = format!("must be at most {MAX_SUBJECT_BYTES} bytes without control characters");
            faults.push(Invalid::new("subject", reason));
        }
        let life = self.expires_in.unwrap_or(DEFAULT_LIFE_SECONDS);
        if !(1..=MAX_LIFE_SECONDS).contains(&life) {
            let reason = format!("{life} must be 1 to {MAX_LIFE_SECONDS} seconds");
            faults.push(Invalid::new("expires_in", reason));
        }
        let resource = self
            .resource
            .filter(|text| !text.trim().is_empty())
            .and_then(|text| resource(&text).map_err(|fault| faults.push(fault)).ok());
        faults.extend(check_prose("description", &self.description).err());
        let groups = read_names("groups", &self.groups, &mut faults);
        let scopes = read_scopes("scopes", &self.scopes, MAX_LISTED, &mut faults);
        if !faults.is_empty() {
            return Err(Refusal::Invalid(faults));
        }
        Ok(IssuedToken {
            id: Issuer::new_id(),
            subject,
            subject_issuer: None,
            description: self.description,
            groups,
            scopes,
            is_admin: self.admin,
            resource,
            created_by: created_by.to_owned(),
            made_with: None,
            created_at: now,
            expires_at: now.plus_seconds(life),
            revoked_at: None,
        })
    }
}

/// Refuses a token that would be too long to be let in, and blames what makes it long.
fn check_length(record: &IssuedToken, token: &str) -> Result<(), Invalid> {
    if token.len() <= MAX_TOKEN_BYTES {
        return Ok(());
    }
    let groups: usize = record.groups.iter().map(String::len).sum();
    let scopes: usize = record.scopes.iter().map(|scope| scope.as_str().len()).sum();
    let field = if groups > scopes { "groups" } else { "scopes" };
    let reason = format!(
        "make the token {} bytes long, and it would be refused above {MAX_TOKEN_BYTES}; let a group grant the scopes",
        token.len()
    );
    Err(Invalid::new(field, reason))
}

/// Reads the path of an endpoint in either form, and gives it in the one that is compared.
fn resource(text: &str) -> Result<String, Invalid> {
    let path = text.trim().trim_end_matches('/');
    let path = path.strip_suffix("/mcp").unwrap_or(path);
    if path.starts_with("/virtual/") {
        return Slug::parse("resource", path).map(|slug| slug.path());
    }
    ServerPath::parse("resource", path).map(|path| path.to_string())
}

/// Says what of a token points at nothing yet.
fn warnings(catalog: &Catalog, token: &IssuedToken) -> Vec<String> {
    let unknown = token.groups.iter().filter(|name| !catalog.groups.contains_key(*name));
    let mut warnings: Vec<String> =
        unknown.map(|name| format!("there is no group {name} yet; it grants nothing")).collect();
    let is_there = |path: &str| match path.strip_prefix("/virtual/") {
        Some(slug) => catalog.virtual_servers.contains_key(slug),
        None => catalog.servers.contains_key(path),
    };
    if let Some(path) = token.resource.as_deref().filter(|path| !is_there(path)) {
        warnings.push(format!("there is nothing at {path} yet"));
    }
    warnings
}

fn require<'a>(catalog: &'a Catalog, id: &str, caller: &Caller) -> Result<&'a Arc<IssuedToken>, Refusal> {
    let no_such = || Refusal::NoSuch { kind: "token", name: id.into(), known: Vec::new() };
    catalog.tokens.get(id).filter(|token| own::may_see(token, caller)).ok_or_else(no_such)
}

impl Document {
    fn of(token: &IssuedToken, last_used_at: Option<Timestamp>, now: Timestamp) -> Self {
        Self {
            id: token.id.to_string(),
            subject: token.subject.clone(),
            description: token.description.clone(),
            groups: token.groups.clone(),
            scopes: token.scopes.iter().map(ToString::to_string).collect(),
            admin: token.is_admin,
            resource: token.resource.clone(),
            subject_issuer: token.subject_issuer.clone(),
            created_by: token.created_by.clone(),
            made_with: token.made_with.as_deref().map(Into::into),
            last_used_at: last_used_at.map(rfc3339),
            created_at: rfc3339(token.created_at),
            expires_at: rfc3339(token.expires_at),
            revoked_at: token.revoked_at.map(rfc3339),
            is_live: token.is_live(now),
        }
    }
}

#[cfg(test)]
mod tests;
