//! How a version's requests get their tokens from an authorization server, as a body says it.

use catalog::authorization::{Authorization, Flow};
use catalog::endpoint::{AddressRule, Endpoint, Secret};
use catalog::error::Invalid;
use catalog::name::ServerPath;
use serde_json::{Map, Value};
use url::Url;

use crate::api::fields::Fields;

/// Longest member, in bytes; longer client secrets are not known.
const MAX_MEMBER_BYTES: usize = 4 * 1024;
/// All members of `oauth`.
const MEMBERS: [&str; 8] = [
    "audience",
    "authorization_url",
    "client_id",
    "client_secret",
    "issuer",
    "resource",
    "scope",
    "token_url",
];

/// What a body says of an authorization; who the client is may be left out where the record has it.
pub(super) struct OauthEdit {
    flow: Flow,
    /// `None` keeps all of it.
    given: Option<Given>,
}

struct Given {
    issuer: Option<Url>,
    token_url: Option<Url>,
    authorization_url: Option<Url>,
    client_id: Option<Secret>,
    client_secret: Option<Secret>,
    scope: String,
    resource: Option<String>,
    audience: Option<String>,
}

impl OauthEdit {
    /// Reads the member `oauth`, an object.
    pub(super) fn read(fields: &mut Fields, flow: Flow, rule: AddressRule) -> Option<Self> {
        let members = match fields.value("oauth") {
            None => return Some(Self { flow, given: None }),
            Some(Value::Object(members)) => members,
            Some(_) => {
                fields.fault("oauth", "must be an object");
                return None;
            }
        };
        for name in members.keys().filter(|name| !MEMBERS.contains(&name.as_str())) {
            fields.fault("oauth", format!("has no member {name:?}; it has {}", MEMBERS.join(", ")));
        }
        let issuer = fields.checked(url(&members, "issuer", rule))?;
        let token_url = fields.checked(url(&members, "token_url", rule))?;
        let authorization_url = fields.checked(url(&members, "authorization_url", rule))?;
        let client_id = fields.checked(text(&members, "client_id"))?;
        let client_secret = fields.checked(text(&members, "client_secret"))?;
        let scope = fields.checked(text(&members, "scope"))?;
        let resource = fields.checked(text(&members, "resource"))?;
        let audience = fields.checked(text(&members, "audience"))?;
        if flow != Flow::User && issuer.is_none() && token_url.is_none() {
            fields.fault("oauth", "must have issuer, whose metadata names the rest, or token_url");
            return None;
        }
        let given = Given {
            issuer,
            token_url,
            authorization_url,
            client_id: client_id.map(Secret::new),
            client_secret: client_secret.map(Secret::new),
            scope: scope.unwrap_or_default(),
            resource,
            audience,
        };
        Some(Self { flow, given: Some(given) })
    }

    /// Makes the authorization, with the client of the old one where none is given and tokens come from the same place.
    pub(super) fn apply(
        self,
        old: Option<&Authorization>,
        server: &ServerPath,
    ) -> Result<Authorization, Invalid> {
        let Some(given) = self.given else {
            let kept = old.filter(|old| old.flow == self.flow).cloned();
            let reason = format!("is required with auth_scheme {}", self.flow.as_str());
            return kept.ok_or_else(|| Invalid::new("oauth", reason));
        };
        // A secret is not taken along to another authorization server.
        let old = old.filter(|old| old.issuer == given.issuer && old.token_url == given.token_url);
        let (client_id, client_secret) = match given.client_id {
            Some(id) => {
                let same = old.filter(|old| old.client_id == id);
                (id, given.client_secret.or_else(|| same.and_then(|old| old.client_secret.clone())))
            }
            None => {
                let old = old.ok_or_else(|| Invalid::new("oauth", "must have client_id"))?;
                (old.client_id.clone(), given.client_secret.or_else(|| old.client_secret.clone()))
            }
        };
        if self.flow == Flow::User
            && client_secret.is_some()
            && given.issuer.is_none()
            && given.token_url.is_none()
        {
            // The backend would say whom the secret is shown to.
            return Err(Invalid::new("oauth", "must have issuer or token_url where it has client_secret"));
        }
        if self.flow == Flow::Service && client_secret.is_none() {
            return Err(Invalid::new("oauth", "must have client_secret"));
        }
        Ok(Authorization {
            flow: self.flow,
            server: server.clone(),
            issuer: given.issuer,
            token_url: given.token_url,
            authorization_url: given.authorization_url,
            client_id,
            client_secret,
            scope: given.scope,
            resource: given.resource,
            audience: given.audience,
        })
    }
}

fn text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, Invalid> {
    // What is wrong with a member never repeats it: it may be a secret.
    let invalid = |reason: String| Err(Invalid::new("oauth", format!("{name} {reason}")));
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() > MAX_MEMBER_BYTES => {
            invalid(format!("is longer than {MAX_MEMBER_BYTES} bytes"))
        }
        Some(Value::String(text)) if text.chars().any(char::is_control) => invalid("must be one line".into()),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Some(_) => invalid("must be a text".into()),
    }
}

fn url(members: &Map<String, Value>, name: &str, rule: AddressRule) -> Result<Option<Url>, Invalid> {
    let Some(text) = text(members, name)? else { return Ok(None) };
    let url = Endpoint::parse_url("oauth", &text, rule)?;
    if url.host().is_none() {
        return Err(Invalid::new("oauth", format!("{name} must begin with https:// or http://")));
    }
    Ok(Some(url))
}
