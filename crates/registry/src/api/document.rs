//! The document that stands for a server and for each of its versions, with the original registry's field names.

use catalog::authorization::Authorization;
use catalog::endpoint::{Era, Transport};
use catalog::name::{ServerPath, VersionLabel};
use catalog::rating::Rated;
use catalog::server::{Server, Version, Visibility};
use catalog::time::Timestamp;
use catalog::{Catalog, VersionKey};
use serde::Serialize;
use url::Url;
use utoipa::ToSchema;

use super::edit::scheme_of;
use crate::Registry;

/// A version of a server, with what all versions share. Of the active version, it stands for the server.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Server)]
pub(crate) struct Document {
    /// `/context7` for the active version, `/context7:v1.5.0` for another.
    #[serde(rename = "_id")]
    #[schema(examples("/context7"))]
    original_id: String,
    /// The same as `_id`.
    id: String,
    /// Where clients reach the server.
    #[schema(examples("/context7"))]
    path: String,
    /// What people call it.
    server_name: String,
    /// Label of the version.
    #[schema(examples("v2.0.0"))]
    version: String,
    /// Whether this is the active version.
    is_active: bool,
    /// The same as `is_active`.
    is_default: bool,
    /// The path without its slash.
    #[schema(examples("context7"))]
    version_group: String,
    /// Ids of the inactive versions; of the active version only.
    #[serde(skip_serializing_if = "Option::is_none")]
    other_version_ids: Option<Vec<String>>,
    /// Id of the active version; of an inactive version only.
    #[serde(skip_serializing_if = "Option::is_none")]
    active_version_id: Option<String>,
    /// What it does.
    description: String,
    /// Where its backend listens; or `stdio:` and the name of a command of the configuration.
    proxy_pass_url: String,
    /// The same as `transport`, as a list.
    supported_transports: [&'static str; 1],
    /// `streamable-http` or `stdio`.
    transport: &'static str,
    /// `none`, `bearer`, `basic`, `api_key`, `oauth_client_credentials`, `oauth_token_exchange` or `oauth_user`. The
    /// credential itself is never shown.
    auth_scheme: &'static str,
    /// Where tokens for its backend come from; who the gateway is there is never shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    oauth: Option<OauthDocument>,
    /// Whether requests to the backend carry a credential.
    has_credentials: bool,
    /// Names of the headers that requests to the backend carry.
    header_names: Vec<String>,
    /// `stable`, `beta` or `deprecated`.
    status: &'static str,
    /// The day it was released.
    release_date: Option<String>,
    /// When it was marked deprecated.
    deprecated_at: Option<String>,
    /// The day it goes away.
    sunset_date: Option<String>,
    /// Words to find the server by.
    tags: Vec<String>,
    /// Who registered the server.
    owner: Option<String>,
    /// Licence of the software.
    license: Option<String>,
    /// `public`, `private` or `group-restricted`.
    visibility: &'static str,
    /// Groups that may find the server, where it is restricted to them.
    allowed_groups: Vec<String>,
    /// Scopes a caller needs to use the server, all of them.
    required_scopes: Vec<String>,
    /// Whether the server is routed.
    is_enabled: bool,
    /// Whether an unknown label is refused, by the server's setting or the gateway's.
    strict_versions: bool,
    /// Number of tools, as last read.
    num_tools: usize,
    /// Number of prompts, as last read.
    num_prompts: usize,
    /// Number of resources, as last read.
    num_resources: usize,
    /// Average of the ratings; 0 without any.
    num_stars: f64,
    /// `legacy`, `modern` or `both`, as learnt; absent before the first read.
    protocol_era: Option<&'static str>,
    /// The era an operator pinned: `legacy` or `modern`.
    pinned_era: Option<&'static str>,
    /// The protocol revision its backend speaks; of one that speaks both eras the newer.
    protocol_version: Option<String>,
    /// The version the running software reports.
    mcp_server_version: Option<String>,
    /// The one it reported before.
    mcp_server_version_previous: Option<String>,
    /// When the change was noticed.
    mcp_server_version_updated_at: Option<String>,
    /// `healthy`, `unhealthy` or `unknown`, as last probed.
    health_status: &'static str,
    /// When it was last probed.
    last_health_check: Option<String>,
    /// When this version was registered.
    registered_at: String,
    /// When it was last written.
    updated_at: String,
    /// Moves with every write to the server or a version of it; what `If-Match` compares.
    revision: u64,
}

/// Where tokens for a backend come from.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Oauth)]
pub(crate) struct OauthDocument {
    /// The authorization server.
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    /// Where tokens are had.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_url: Option<String>,
    /// Where users allow the gateway to act for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_url: Option<String>,
    /// Scopes that are asked for.
    #[serde(skip_serializing_if = "str::is_empty")]
    scope: String,
    /// The resource tokens are for.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    /// The audience of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<String>,
}

impl OauthDocument {
    fn of(authorization: &Authorization) -> Self {
        let text = |url: &Option<Url>| url.as_ref().map(Url::to_string);
        Self {
            issuer: text(&authorization.issuer),
            token_url: text(&authorization.token_url),
            authorization_url: text(&authorization.authorization_url),
            scope: authorization.scope.clone(),
            resource: authorization.resource.clone(),
            audience: authorization.audience.clone(),
        }
    }
}

impl Document {
    /// Describes the active version, and so the server.
    pub(crate) fn of_server(registry: &Registry, catalog: &Catalog, server: &Server) -> Self {
        Self::of_version(registry, catalog, server, server.active())
    }

    /// Describes one version.
    pub(crate) fn of_version(
        registry: &Registry,
        catalog: &Catalog,
        server: &Server,
        version: &Version,
    ) -> Self {
        let inventory = catalog.inventory(&server.path, &version.label);
        let reported = inventory.map(|one| one.reported.clone()).unwrap_or_default();
        let check = registry.board.check(&VersionKey::new(&server.path, &version.label));
        let is_active = version.label == server.active().label;
        let id = id(&server.path, &version.label, is_active);
        let inactive = server.versions().filter(|one| one.label != server.active().label);
        let others = inactive.map(|one| self::id(&server.path, &one.label, false)).collect();
        let (visibility, allowed_groups) = match &server.visibility {
            Visibility::Public => ("public", Vec::new()),
            Visibility::Private => ("private", Vec::new()),
            Visibility::Groups(groups) => ("group-restricted", groups.clone()),
        };
        let transport = match inventory {
            Some(read) if read.has_event_stream => Transport::HttpSse,
            _ => version.endpoint.transport(),
        };
        let transport = transport.as_str();
        let headers = &version.endpoint.headers;
        Self {
            original_id: id.clone(),
            id,
            path: server.path.to_string(),
            server_name: server.name.clone(),
            version: version.label.to_string(),
            is_active,
            is_default: is_active,
            version_group: server.path.group().into(),
            other_version_ids: is_active.then_some(others),
            active_version_id: (!is_active).then(|| server.path.to_string()),
            description: version.description.clone(),
            proxy_pass_url: version.endpoint.url.to_string(),
            supported_transports: [transport],
            transport,
            auth_scheme: scheme_of(&version.endpoint),
            oauth: version.endpoint.authorization.as_deref().map(OauthDocument::of),
            has_credentials: !headers.is_empty() || version.endpoint.authorization.is_some(),
            header_names: headers.iter().map(|header| header.name.clone()).collect(),
            status: version.status.as_str(),
            release_date: version.released_on.clone(),
            deprecated_at: version.deprecated_at.map(rfc3339),
            sunset_date: version.sunset_on.clone(),
            tags: server.tags.clone(),
            owner: server.owner.clone(),
            license: server.license.clone(),
            visibility,
            allowed_groups,
            required_scopes: server.required_scopes.iter().map(ToString::to_string).collect(),
            is_enabled: server.is_enabled,
            strict_versions: server.strict_versions || registry.parts.settings.strict_versions,
            num_tools: inventory.map_or(0, |one| one.all_tools().count()),
            num_prompts: inventory.map_or(0, |one| one.prompts.len()),
            num_resources: inventory.map_or(0, |one| one.resources.len() + one.templates.len()),
            num_stars: catalog.stars(&Rated::Server(server.path.clone())),
            protocol_era: inventory.map(|one| one.eras().as_str()),
            pinned_era: version.endpoint.pinned_era.map(Era::as_str),
            protocol_version: inventory.map(|one| one.protocol_version.clone()),
            mcp_server_version: reported.version,
            mcp_server_version_previous: reported.previous,
            mcp_server_version_updated_at: reported.changed_at.map(rfc3339),
            health_status: check.as_ref().map_or("unknown", |check| check.status()),
            last_health_check: check.map(|check| rfc3339(check.checked_at)),
            registered_at: rfc3339(version.registered_at),
            updated_at: rfc3339(if is_active { server.updated_at } else { version.updated_at }),
            revision: server.revision,
        }
    }
}

fn id(path: &ServerPath, label: &VersionLabel, is_active: bool) -> String {
    if is_active { path.to_string() } else { format!("{path}:{label}") }
}

/// Writes a point in time: `2026-01-10T00:00:00Z`.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    // The catalog's range is wider than the calendar's; what lies outside was never a real time.
    jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_string()).unwrap_or_default()
}
