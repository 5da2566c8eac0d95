//! Registration: a new server, a further version of one, or with `overwrite` an edit of one version.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use catalog::error::{Invalid, Refusal};
use catalog::name::{ServerPath, VersionLabel};
use catalog::server::Server;
use catalog::time::Timestamp;
use catalog::unreadable::Place;
use catalog::{Catalog, VersionKey};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use store::change::{Change, Edit, Expect};
use utoipa::ToSchema;

use super::put;
use crate::Registry;
use crate::api::document::Document;
use crate::api::edit::{ServerEdit, VersionEdit};
use crate::api::error::{Problem, ProblemDocument};
use crate::api::extract::{Admin, IfMatch, require_server};
use crate::api::fields::Fields;
use crate::api::tagged::Tagged;

/// Members that are not read and may be there all the same: answers have them, or the registrations of the original.
const FOR_OTHERS: [&str; 48] = [
    "active_version_id",
    "auth_provider",
    "custom_headers",
    "deployment",
    "deprecated_at",
    "endpoint_url",
    "entity_type",
    "external_tags",
    "has_credentials",
    "header_names",
    "health_status",
    "id",
    "is_active",
    "is_default",
    "is_new_version",
    "is_python",
    "is_healthy",
    "last_checked",
    "last_health_check",
    "local_runtime",
    "mcp_endpoint",
    "mcp_server_version",
    "mcp_server_version_previous",
    "mcp_server_version_updated_at",
    "message",
    "metadata",
    "num_prompts",
    "num_resources",
    "num_stars",
    "num_tools",
    "original_id",
    "other_version_ids",
    "protocol_version",
    "provider_organization",
    "provider_url",
    "rating_details",
    "registered_at",
    "registered_by",
    "revision",
    "source_created_at",
    "source_updated_at",
    "sse_endpoint",
    "tool_list",
    "tool_list_json",
    "updated_at",
    "version_group",
    "version_notes",
    "versions",
];
/// Most unread members that an answer names.
const MAX_UNREAD: usize = 20;
/// Longest text of the fields read here; their own rules are tighter.
const MAX_TEXT_BYTES: usize = 1024;

/// A registration. As a form, lists are texts with commas, and `headers` is JSON.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what `Fields` reads one by one")]
pub(crate) struct Registration {
    /// Where clients reach the server.
    #[schema(examples("/context7"))]
    path: String,
    /// Where its backend listens; or `stdio:` and the name of a command of the configuration.
    #[schema(examples("http://127.0.0.1:9000/mcp"))]
    proxy_pass_url: String,
    /// What people call it; also read from `name`. The path where absent.
    server_name: Option<String>,
    /// Label of the version; `v1.0.0` where absent.
    version: Option<String>,
    /// What it does.
    description: Option<String>,
    /// Words to find it by.
    tags: Option<Vec<String>>,
    /// Whether it is routed; not where absent.
    is_enabled: Option<bool>,
    /// With a path and label that are there: edits that version alone.
    overwrite: Option<bool>,
    /// `stable`, `beta` or `deprecated`.
    status: Option<String>,
    /// The day it was released.
    release_date: Option<String>,
    /// The day it goes away.
    sunset_date: Option<String>,
    /// Whether an unknown label is refused.
    strict_versions: Option<bool>,
    /// `none`, `bearer`, `basic`, `api_key`, `oauth_client_credentials`, `oauth_token_exchange` or `oauth_user`.
    auth_scheme: Option<String>,
    /// The credential for its backend; never shown again.
    auth_credential: Option<String>,
    /// The header of an `api_key`; `X-API-Key` where absent.
    auth_header_name: Option<String>,
    /// Where tokens for its backend come from, with an `oauth_…` scheme; the client is never shown again.
    oauth: Option<OauthBody>,
    /// More headers for its backend, `{"X-Team": "blue"}`.
    headers: Option<std::collections::BTreeMap<String, String>>,
    /// `legacy` or `modern` speaks with its backend in that era only; `auto` goes by what the backend speaks.
    pinned_era: Option<String>,
    /// The same as `pinned_era`, which counts where both are given.
    protocol_era: Option<String>,
    /// Must hold `streamable-http`, for a command `stdio`, where given.
    supported_transports: Option<Vec<String>>,
    /// `public`, `private` or `group-restricted`.
    visibility: Option<String>,
    /// Groups that may find it, where it is restricted to them.
    allowed_groups: Option<Vec<String>>,
    /// Scopes a caller needs to use it, all of them.
    required_scopes: Option<Vec<String>>,
    /// Licence of the software.
    license: Option<String>,
    /// Who it belongs to; the caller where absent.
    owner: Option<String>,
}

/// Where tokens for a backend come from.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a body that is read member by member")]
struct OauthBody {
    /// The authorization server, whose metadata (RFC 8414) names the URLs that are not given.
    issuer: Option<String>,
    /// Where tokens are had.
    token_url: Option<String>,
    /// Where users allow the gateway to act for them.
    authorization_url: Option<String>,
    /// The gateway's name at the authorization server.
    client_id: Option<String>,
    /// What proves it.
    client_secret: Option<String>,
    /// Scopes to ask for, with blanks between.
    scope: Option<String>,
    /// The resource tokens are for (RFC 8707).
    resource: Option<String>,
    /// The audience of tokens.
    audience: Option<String>,
}

/// What a registration made.
#[derive(Serialize, ToSchema)]
pub(super) struct Registered {
    /// What happened, in words.
    message: String,
    /// Whether a version was added to a server that was there.
    is_new_version: bool,
    /// The version that was registered.
    #[serde(flatten)]
    server: Document,
    /// What was sent and not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A registration that was read: what it says, and what was wrong with it.
struct Request {
    label: Option<VersionLabel>,
    shared: ServerEdit,
    own: VersionEdit,
    overwrite: bool,
    faults: Vec<Invalid>,
}

/// What a registration does.
enum Done {
    Created,
    Added,
    Edited,
}

impl Done {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Created => "with its server",
            Self::Added => "added",
            Self::Edited => "edited",
        }
    }
}

/// Registers a server, or a further version of one.
///
/// The first registration of a path makes the server, with this version active. Another label adds a version, which
/// is not active; what all versions share (name, tags, scopes, …) then stays as it is. The same label again is
/// refused, or with `overwrite` edits that version alone.
#[utoipa::path(post, path = "/api/servers/register", operation_id = "register_server", tag = "servers",
    request_body(content((Registration = "application/json"), (Registration = "application/x-www-form-urlencoded"))),
    responses((status = 201, body = Registered), (status = 200, description = "Edited by `overwrite`", body = Registered),
        (status = 409, body = ProblemDocument), (status = 422, body = ProblemDocument)))]
pub(super) async fn register(
    State(registry): State<Arc<Registry>>,
    Admin(caller): Admin,
    if_match: IfMatch,
    mut fields: Fields,
) -> Result<Response, Problem> {
    let path = fields.text("path", MAX_TEXT_BYTES).unwrap_or_default();
    let path = fields.checked(ServerPath::parse("path", &path));
    let label = match fields.text("version", MAX_TEXT_BYTES).filter(|text| !text.trim().is_empty()) {
        Some(text) => fields.checked(VersionLabel::parse("version", &text)),
        None => Some(VersionLabel::first()),
    };
    let shared = ServerEdit::read(&mut fields);
    let own = VersionEdit::read(&mut fields, &registry.parts);
    let overwrite = fields.flag("overwrite").unwrap_or(false);
    let unread = fields.unread(&FOR_OTHERS, MAX_UNREAD);
    let warnings =
        unread.into_iter().map(|name| format!("{name} is no member of a registration and was not read"));
    let warnings = warnings.collect();
    let mut request = Request { label, shared, own, overwrite, faults: fields.into_faults() };
    let Some(path) = path else {
        request.own.require_whole(&mut request.faults);
        return Err(request.faults.into());
    };
    let owner = caller.principal.subject.to_string();
    let (label, done, moved) = registry
        .apply_for(&caller.trail, |catalog| {
            let planned = match catalog.servers.get(&path) {
                Some(server) => {
                    if_match.check(path.as_str(), server.revision)?;
                    add_or_edit(catalog, server, request)?
                }
                None => create(catalog, &path, request, owner)?,
            };
            let (label, done, _) = &planned.1;
            caller.trail.detail(format!("version {label} {}", done.as_str()));
            Ok(planned)
        })
        .await?;
    if moved {
        registry.hint_changed(VersionKey::new(&path, &label));
    }
    answer(&registry, &path, &label, done, warnings)
}

type Planned = (Change, (VersionLabel, Done, bool));

fn create(
    catalog: &Catalog,
    path: &ServerPath,
    mut request: Request,
    owner: String,
) -> Result<Planned, Refusal> {
    catalog.check_readable(&Place::Server(path.clone()))?;
    request.own.require_whole(&mut request.faults);
    let (Some(label), true) = (request.label, request.faults.is_empty()) else {
        return Err(Refusal::Invalid(request.faults));
    };
    let now = Timestamp::now();
    let version = request.own.create(path, label.clone(), now).map_err(Refusal::Invalid)?;
    let name = request.shared.name().unwrap_or(path.group()).to_owned();
    let mut server = Server::new(path.clone(), name, version, now);
    server.owner = Some(owner);
    // Not 1: a revision that was read before the server was deleted and made anew must not match.
    server.revision = catalog.revision + 1;
    request.shared.apply(&mut server);
    let edit =
        Edit::PutServer { server: Arc::new(server), versions: vec![label.clone()], removed: Vec::new() };
    let change = Change::new(vec![edit]).expecting(Expect::Server(path.clone(), None));
    Ok((change, (label, Done::Created, true)))
}

fn add_or_edit(catalog: &Catalog, server: &Server, mut request: Request) -> Result<Planned, Refusal> {
    let known = request.label.as_ref().and_then(|label| server.version(label.as_str()));
    if known.is_none() {
        request.own.require_whole(&mut request.faults);
    }
    let (Some(label), true) = (request.label, request.faults.is_empty()) else {
        return Err(Refusal::Invalid(request.faults));
    };
    let now = Timestamp::now();
    let (next, done, moved) = match known {
        None => {
            catalog.check_readable(&Place::Version(VersionKey::new(&server.path, &label)))?;
            let version = request.own.create(&server.path, label.clone(), now).map_err(Refusal::Invalid)?;
            (server.add(version, now)?, Done::Added, true)
        }
        Some(_) if !request.overwrite => {
            return Err(Refusal::Exists { kind: "version", name: format!("{label} of {}", server.path) });
        }
        Some(known) => {
            let version =
                request.own.apply(&server.path, known, now).map_err(|fault| Refusal::Invalid(vec![fault]))?;
            let moved = version.endpoint != known.endpoint;
            (server.replace(version, now)?, Done::Edited, moved)
        }
    };
    Ok((put(server, next, vec![label.clone()]), (label, done, moved)))
}

fn answer(
    registry: &Registry,
    path: &ServerPath,
    label: &VersionLabel,
    done: Done,
    warnings: Vec<String>,
) -> Result<Response, Problem> {
    let catalog = registry.catalog();
    let server = require_server(&catalog, path)?;
    let version = server.require(label.as_str())?;
    let (status, is_new_version, message) = match done {
        Done::Created => (StatusCode::CREATED, false, format!("{path} is registered with version {label}")),
        Done::Added => {
            let message = format!(
                "version {label} is added to {path}; {} stays active. Make it active with PUT /api/servers{path}/versions/default",
                server.active().label
            );
            (StatusCode::CREATED, true, message)
        }
        Done::Edited => (StatusCode::OK, false, format!("version {label} of {path} is edited")),
    };
    let document = Document::of_version(registry, &catalog, server, version);
    let body = Registered { message, is_new_version, server: document, warnings };
    let mut response = Tagged { status, revision: server.revision, body }.into_response();
    let place = match done {
        Done::Created => Some(format!("/api/servers{path}")),
        Done::Added => Some(format!("/api/servers{path}/versions/{label}")),
        Done::Edited => None,
    };
    if let Some(place) = place.and_then(|place| HeaderValue::from_str(&place).ok()) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}
