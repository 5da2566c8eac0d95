//! A server's head and the separate record of each of its versions.

use std::sync::Arc;

use catalog::endpoint::{Endpoint, Era, Header, Secret};
use catalog::name::{ServerPath, VersionLabel};
use catalog::server::{Server, Status, Version, Visibility};
use serde::{Deserialize, Serialize};
use url::Url;

use super::authorization::AuthorizationRecord;
use super::moment::Moment;
use super::{Sealer, Unreadable, scopes_in, scopes_out};

/// What all versions of a server share, and the pointer to the active one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerRecord {
    path: String,
    server_name: String,
    version_group: String,
    active_version: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    registered_by: Option<String>,
    #[serde(default)]
    license: Option<String>,
    #[serde(default)]
    visibility: VisibilityWord,
    #[serde(default)]
    allowed_groups: Vec<String>,
    #[serde(default)]
    required_scopes: Vec<String>,
    is_enabled: bool,
    #[serde(default)]
    strict_versions: bool,
    revision: u64,
    registered_at: Moment,
    updated_at: Moment,
}

/// One version: a whole record of its own, except that it does not know whether it is active.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VersionRecord {
    path: String,
    version: String,
    proxy_pass_url: String,
    #[serde(default)]
    headers: Vec<HeaderRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authorization: Option<AuthorizationRecord>,
    #[serde(default)]
    era: Option<EraWord>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    status: StatusWord,
    #[serde(default)]
    release_date: Option<String>,
    #[serde(default)]
    deprecated_at: Option<Moment>,
    #[serde(default)]
    sunset_date: Option<String>,
    registered_at: Moment,
    updated_at: Moment,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct HeaderRecord {
    name: String,
    sealed_value: String,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum VisibilityWord {
    #[default]
    Public,
    GroupRestricted,
    Private,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StatusWord {
    #[default]
    Stable,
    Beta,
    Deprecated,
}

/// An era as a word.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EraWord {
    Legacy,
    Modern,
}

impl ServerRecord {
    /// Takes down what all versions share.
    pub fn of(server: &Server) -> Self {
        let (visibility, allowed_groups) = match &server.visibility {
            Visibility::Public => (VisibilityWord::Public, Vec::new()),
            Visibility::Groups(groups) => (VisibilityWord::GroupRestricted, groups.clone()),
            Visibility::Private => (VisibilityWord::Private, Vec::new()),
        };
        Self {
            path: server.path.to_string(),
            server_name: server.name.clone(),
            version_group: server.path.group().into(),
            active_version: server.active().label.to_string(),
            tags: server.tags.clone(),
            registered_by: server.owner.clone(),
            license: server.license.clone(),
            visibility,
            allowed_groups,
            required_scopes: scopes_out(&server.required_scopes),
            is_enabled: server.is_enabled,
            strict_versions: server.strict_versions,
            revision: server.revision,
            registered_at: Moment(server.registered_at),
            updated_at: Moment(server.updated_at),
        }
    }

    /// Puts the server together with its versions. Fails where the active one is not among them.
    pub fn into_server(self, versions: Vec<Version>) -> Result<Server, Unreadable> {
        let active = VersionLabel::parse("active_version", &self.active_version)?;
        let missing = || Unreadable(format!("the record of its active version {active} is missing"));
        let first = versions.iter().find(|version| version.label == active).ok_or_else(missing)?;
        let path = ServerPath::parse("path", &self.path)?;
        let mut head = Server::new(path, self.server_name, first.clone(), self.registered_at.0);
        head.tags = self.tags;
        head.owner = self.registered_by;
        head.license = self.license;
        head.visibility = match self.visibility {
            VisibilityWord::Public => Visibility::Public,
            VisibilityWord::GroupRestricted => Visibility::Groups(self.allowed_groups),
            VisibilityWord::Private => Visibility::Private,
        };
        head.required_scopes = scopes_in("required_scopes", self.required_scopes)?;
        head.is_enabled = self.is_enabled;
        head.strict_versions = self.strict_versions;
        head.revision = self.revision;
        head.updated_at = self.updated_at.0;
        Server::from_records(head, versions, active.clone()).ok_or_else(missing)
    }
}

impl VersionRecord {
    /// Takes down a version, its header values sealed.
    pub fn of(path: &ServerPath, version: &Version, sealer: &dyn Sealer) -> Self {
        let sealed = |header: &Header| HeaderRecord {
            name: header.name.clone(),
            sealed_value: sealer.seal(header.value.reveal()),
        };
        Self {
            path: path.to_string(),
            version: version.label.to_string(),
            proxy_pass_url: version.endpoint.url.to_string(),
            headers: version.endpoint.headers.iter().map(sealed).collect(),
            authorization: version
                .endpoint
                .authorization
                .as_deref()
                .map(|one| AuthorizationRecord::of(one, sealer)),
            era: version.endpoint.pinned_era.map(EraWord::of),
            description: version.description.clone(),
            status: StatusWord::of(version.status),
            release_date: version.released_on.clone(),
            deprecated_at: Moment::maybe(version.deprecated_at),
            sunset_date: version.sunset_on.clone(),
            registered_at: Moment(version.registered_at),
            updated_at: Moment(version.updated_at),
        }
    }

    /// Seals anew what was sealed with an older key; says whether there was any.
    pub(crate) fn reseal(&mut self, sealer: &dyn Sealer) -> bool {
        let mut is_changed = self.authorization.as_mut().is_some_and(|one| one.reseal(sealer));
        for header in &mut self.headers {
            is_changed |= super::reseal(&mut header.sealed_value, sealer);
        }
        is_changed
    }

    /// Reads the version back, its header values opened.
    pub fn into_version(self, sealer: &dyn Sealer) -> Result<Version, Unreadable> {
        let url = &self.proxy_pass_url;
        let url = Url::parse(url).map_err(|error| Unreadable(format!("proxy_pass_url {url:?}: {error}")))?;
        let opened = |header: HeaderRecord| match sealer.open(&header.sealed_value) {
            Some(value) => Ok(Header { name: header.name, value: Secret::new(value) }),
            None => Err(Unreadable(format!(
                "its header {} was sealed under another key than the one in use",
                header.name
            ))),
        };
        let headers = self.headers.into_iter().map(opened).collect::<Result<_, _>>()?;
        let authorization = match self.authorization {
            Some(record) => Some(Arc::new(record.into_authorization(&self.path, sealer)?)),
            None => None,
        };
        let pinned_era = self.era.map(EraWord::era);
        Ok(Version {
            label: VersionLabel::parse("version", &self.version)?,
            endpoint: Arc::new(Endpoint { url, headers, pinned_era, authorization }),
            description: self.description,
            status: self.status.status(),
            released_on: self.release_date,
            deprecated_at: self.deprecated_at.map(|moment| moment.0),
            sunset_on: self.sunset_date,
            registered_at: self.registered_at.0,
            updated_at: self.updated_at.0,
        })
    }
}

impl StatusWord {
    fn of(status: Status) -> Self {
        match status {
            Status::Stable => Self::Stable,
            Status::Beta => Self::Beta,
            Status::Deprecated => Self::Deprecated,
        }
    }

    fn status(self) -> Status {
        match self {
            Self::Stable => Status::Stable,
            Self::Beta => Status::Beta,
            Self::Deprecated => Status::Deprecated,
        }
    }
}

impl EraWord {
    /// Says an era.
    pub(super) fn of(era: Era) -> Self {
        match era {
            Era::Legacy => Self::Legacy,
            Era::Modern => Self::Modern,
        }
    }

    /// Returns the era it says.
    pub(super) fn era(self) -> Era {
        match self {
            Self::Legacy => Era::Legacy,
            Self::Modern => Era::Modern,
        }
    }
}
