//! What a registration or an edit says of a server and of a version, checked field by field.

mod backend_url;
mod credential;
mod oauth;

use std::sync::Arc;

use catalog::access::Scope;
use catalog::endpoint::{Endpoint, Era, Eras};
use catalog::error::Invalid;
use catalog::name::{ServerPath, VersionLabel};
use catalog::server::{Server, Status, Version, Visibility};
use catalog::time::Timestamp;
use url::Url;

use super::fields::Fields;
use crate::Parts;
use credential::CredentialEdit;
pub(super) use credential::scheme_of;

/// Longest name of a server, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// Longest of the short texts: URL, licence, owner.
const MAX_TEXT_BYTES: usize = 2048;
/// Most tags, scopes or groups of a server.
pub(super) const MAX_WORDS: usize = 100;
/// Longest tag or group name, in bytes.
pub(super) const MAX_WORD_BYTES: usize = 256;

/// What all versions of a server share; what is `None` stays.
#[derive(Default)]
pub(super) struct ServerEdit {
    name: Option<String>,
    tags: Option<Vec<String>>,
    owner: Option<Option<String>>,
    license: Option<Option<String>>,
    visibility: Option<Visibility>,
    required_scopes: Option<Vec<Scope>>,
    is_enabled: Option<bool>,
    strict_versions: Option<bool>,
}

/// What one version has for itself; what is `None` stays.
#[derive(Default)]
pub(super) struct VersionEdit {
    url: Option<Url>,
    description: Option<String>,
    status: Option<Status>,
    released_on: Option<Option<String>>,
    sunset_on: Option<Option<String>>,
    era: Option<Option<Era>>,
    credential: CredentialEdit,
}

impl ServerEdit {
    /// Reads the shared members of a body.
    pub(super) fn read(fields: &mut Fields) -> Self {
        let long_name = fields.text("server_name", MAX_NAME_BYTES);
        let name = long_name.or(fields.text("name", MAX_NAME_BYTES)).map(|name| name.trim().to_owned());
        if name.as_deref() == Some("") {
            fields.fault("server_name", "must not be empty");
        }
        Self {
            name,
            tags: fields.words("tags", MAX_WORDS, MAX_WORD_BYTES),
            owner: fields.nullable_text("owner", MAX_TEXT_BYTES),
            license: fields.nullable_text("license", MAX_TEXT_BYTES),
            visibility: read_visibility(fields),
            required_scopes: read_scopes(fields),
            is_enabled: fields.flag("is_enabled"),
            strict_versions: fields.flag("strict_versions"),
        }
    }

    /// Says whether the server is given a name.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Writes what was given.
    pub(super) fn apply(self, server: &mut Server) {
        set(&mut server.name, self.name);
        set(&mut server.tags, self.tags);
        set(&mut server.owner, self.owner);
        set(&mut server.license, self.license);
        set(&mut server.visibility, self.visibility);
        set(&mut server.required_scopes, self.required_scopes);
        set(&mut server.is_enabled, self.is_enabled);
        set(&mut server.strict_versions, self.strict_versions);
    }
}

impl VersionEdit {
    /// Reads the members of a body that belong to a version.
    pub(super) fn read(fields: &mut Fields, parts: &Parts) -> Self {
        let url = backend_url::read(fields, parts);
        let status = fields.text("status", MAX_TEXT_BYTES).and_then(|text| {
            let reason = format!("{text:?} is none of stable, beta, deprecated");
            fields.checked(Status::parse(&text).ok_or_else(|| Invalid::new("status", reason)))
        });
        Self {
            url,
            description: fields.prose("description"),
            status,
            released_on: read_day(fields, "release_date"),
            sunset_on: read_day(fields, "sunset_date"),
            era: read_era(fields),
            credential: CredentialEdit::read(fields, parts.settings.address_rule),
        }
    }

    /// Says whether anything is edited at all.
    pub(super) fn is_empty(&self) -> bool {
        self.url.is_none()
            && self.description.is_none()
            && self.status.is_none()
            && self.released_on.is_none()
            && self.sunset_on.is_none()
            && self.era.is_none()
            && self.credential.is_empty()
    }

    /// Notes what a version cannot be without, unless it is noted as bad already.
    pub(super) fn require_whole(&self, faults: &mut Vec<Invalid>) {
        if self.url.is_none() && !faults.iter().any(|fault| fault.field == "proxy_pass_url") {
            faults.push(Invalid::new("proxy_pass_url", "is required, for example http://127.0.0.1:9000/mcp"));
        }
    }

    /// Makes a version. Fails without a URL.
    pub(super) fn create(
        self,
        server: &ServerPath,
        label: VersionLabel,
        now: Timestamp,
    ) -> Result<Version, Vec<Invalid>> {
        let mut faults = Vec::new();
        self.require_whole(&mut faults);
        let Some(url) = self.url.clone() else { return Err(faults) };
        let bare = Version::new(label, Endpoint::at(url), now);
        self.apply(server, &bare, now).map_err(|fault| vec![fault])
    }

    /// Returns the version with what was given.
    pub(super) fn apply(
        self,
        server: &ServerPath,
        version: &Version,
        now: Timestamp,
    ) -> Result<Version, Invalid> {
        let mut next = version.clone();
        let mut endpoint = Endpoint::clone(&version.endpoint);
        set(&mut endpoint.url, self.url);
        set(&mut endpoint.pinned_era, self.era);
        self.credential.apply(&mut endpoint, server)?;
        backend_url::check(&endpoint)?;
        if endpoint != *version.endpoint {
            next.endpoint = Arc::new(endpoint);
        }
        set(&mut next.description, self.description);
        set(&mut next.status, self.status);
        set(&mut next.released_on, self.released_on);
        set(&mut next.sunset_on, self.sunset_on);
        next.deprecated_at = match next.status {
            Status::Deprecated => next.deprecated_at.or(Some(now)),
            Status::Stable | Status::Beta => None,
        };
        next.updated_at = now;
        Ok(next)
    }
}

fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *place = value;
    }
}

fn read_scopes(fields: &mut Fields) -> Option<Vec<Scope>> {
    let words = fields.words("required_scopes", MAX_WORDS, MAX_WORD_BYTES)?;
    let scopes = words.iter().map(|word| Scope::parse("required_scopes", word)).collect();
    fields.checked(scopes)
}

fn read_visibility(fields: &mut Fields) -> Option<Visibility> {
    let groups = fields.words("allowed_groups", MAX_WORDS, MAX_WORD_BYTES).unwrap_or_default();
    match fields.text("visibility", MAX_TEXT_BYTES)?.as_str() {
        "public" => Some(Visibility::Public),
        "private" => Some(Visibility::Private),
        "group-restricted" | "groups" if groups.is_empty() => {
            fields.fault("allowed_groups", "must name the groups that may find the server");
            None
        }
        "group-restricted" | "groups" => Some(Visibility::Groups(groups)),
        other => {
            fields.fault("visibility", format!("{other:?} is none of public, private, group-restricted"));
            None
        }
    }
}

/// Reads a day, `2026-06-01`; of a full time stamp it takes the day.
fn read_day(fields: &mut Fields, name: &str) -> Option<Option<String>> {
    let Some(text) = fields.nullable_text(name, MAX_TEXT_BYTES)?.filter(|text| !text.trim().is_empty())
    else {
        return Some(None);
    };
    let text = text.trim();
    let day = text.split(['T', 't', ' ']).next().unwrap_or(text);
    match day.parse::<jiff::civil::Date>() {
        Ok(date) => Some(Some(date.to_string())),
        Err(_) => {
            fields.fault(name, format!("{text:?} is no day; write it like 2026-06-01"));
            None
        }
    }
}

/// Reads the era a version is pinned to. Registrations name it `protocol_era` too, which in answers is what was learnt;
/// so where both are given, it is only what they were answered with.
fn read_era(fields: &mut Fields) -> Option<Option<Era>> {
    let learnt = era_of(fields, "protocol_era", &["auto", Eras::Both.as_str()]);
    era_of(fields, "pinned_era", &["auto"]).or(learnt)
}

/// Reads an era; the words of `none`, and `null`, stand for no pin.
fn era_of(fields: &mut Fields, name: &str, none: &[&str]) -> Option<Option<Era>> {
    let Some(text) = fields.nullable_text(name, MAX_TEXT_BYTES)? else { return Some(None) };
    let era = Era::parse(&text);
    if era.is_none() && !none.contains(&text.as_str()) {
        fields.fault(name, format!("{text:?} is none of auto, legacy, modern"));
        return None;
    }
    Some(era)
}
