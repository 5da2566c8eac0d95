//! Credentials and other headers that requests to a backend carry. Nothing here is ever shown again.

use std::sync::Arc;

use catalog::authorization::Flow;
use catalog::endpoint::{AddressRule, Endpoint, Header, MAX_HEADERS, Secret};
use catalog::error::Invalid;
use catalog::name::ServerPath;
use http::{HeaderName, HeaderValue};
use serde_json::Value;

use super::oauth::OauthEdit;
use crate::api::fields::Fields;

/// Longest value of a header, in bytes; servers refuse longer ones.
const MAX_VALUE_BYTES: usize = 8 * 1024;
/// Longest scheme or header name, in bytes.
const MAX_NAME_BYTES: usize = 128;
/// Where a key goes that names no header of its own.
const KEY_HEADER: &str = "x-api-key";

/// Headers that we or HTTP itself set.
const OURS: [&str; 16] = [
    "accept",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "proxy-connection",
    "proxy-authorization",
    "x-mcp-server-version",
];

/// What is said of credentials and headers; what is `None` stays.
#[derive(Default)]
pub(super) struct CredentialEdit {
    scheme: Option<Scheme>,
    headers: Option<Vec<Header>>,
}

enum Scheme {
    /// No credential.
    Open,
    /// A header with a secret.
    Sent(Header),
    /// Tokens of an authorization server.
    Tokens(Box<OauthEdit>),
    /// A scheme without its credential: right where the record has one of that scheme.
    Kept(&'static str),
}

impl CredentialEdit {
    /// Reads `auth_scheme`, `auth_credential`, `auth_header_name`, `oauth` and `headers`.
    pub(super) fn read(fields: &mut Fields, rule: AddressRule) -> Self {
        Self { scheme: read_scheme(fields, rule), headers: read_headers(fields) }
    }

    /// Says whether nothing is edited.
    pub(super) fn is_empty(&self) -> bool {
        self.scheme.is_none() && self.headers.is_none()
    }

    /// Writes what was given. `headers` replaces all but the credential, a scheme replaces the credential.
    pub(super) fn apply(self, endpoint: &mut Endpoint, server: &ServerPath) -> Result<(), Invalid> {
        let current = scheme_of(endpoint);
        let Endpoint { headers: place, authorization, .. } = endpoint;
        if let Some(headers) = self.headers {
            place.retain(|old| is_credential(&old.name) && !headers.iter().any(|new| new.name == old.name));
            place.extend(headers);
        }
        match self.scheme {
            None => {}
            Some(Scheme::Open) => {
                place.retain(|header| !is_credential(&header.name));
                *authorization = None;
            }
            Some(Scheme::Tokens(edit)) => {
                let made = edit.apply(authorization.as_deref(), server)?;
                place.retain(|header| !is_credential(&header.name));
                *authorization = Some(Arc::new(made));
            }
            Some(Scheme::Kept(scheme)) if current == scheme => {}
            Some(Scheme::Kept(scheme)) => {
                let reason = format!("is required with auth_scheme {scheme}");
                return Err(Invalid::new("auth_credential", reason));
            }
            Some(Scheme::Sent(header)) => {
                place.retain(|old| !is_credential(&old.name) && old.name != header.name);
                place.push(header);
                *authorization = None;
            }
        }
        if authorization.is_some() && place.iter().any(|header| header.name == "authorization") {
            return Err(Invalid::new("headers", "authorization is set by the auth_scheme"));
        }
        if place.len() > MAX_HEADERS {
            return Err(Invalid::new("headers", format!("are more than {MAX_HEADERS}")));
        }
        Ok(())
    }
}

/// Returns the scheme that an endpoint's credentials amount to: `bearer`, `basic`, `api_key`, `none`, or how it gets
/// tokens.
pub(crate) fn scheme_of(endpoint: &Endpoint) -> &'static str {
    if let Some(authorization) = &endpoint.authorization {
        return authorization.flow.as_str();
    }
    let find = |name: &str| endpoint.headers.iter().find(|header| header.name == name);
    match find("authorization") {
        Some(header) if header.value.reveal().starts_with("Bearer ") => "bearer",
        Some(header) if header.value.reveal().starts_with("Basic ") => "basic",
        Some(_) => "api_key",
        None if find(KEY_HEADER).is_some() => "api_key",
        None => "none",
    }
}

fn flows() -> String {
    Flow::ALL.map(Flow::as_str).join(", ")
}

fn is_credential(name: &str) -> bool {
    name == "authorization" || name == KEY_HEADER
}

fn read_scheme(fields: &mut Fields, rule: AddressRule) -> Option<Scheme> {
    let scheme = fields.text("auth_scheme", MAX_NAME_BYTES).map(|text| text.trim().to_ascii_lowercase());
    let credential = fields.text("auth_credential", MAX_VALUE_BYTES).filter(|text| !text.trim().is_empty());
    let name = fields.text("auth_header_name", MAX_NAME_BYTES).filter(|text| !text.trim().is_empty());
    let Some(scheme) = scheme else {
        if fields.value("oauth").is_some() {
            fields.fault("auth_scheme", format!("is required with oauth: {}", flows()));
        }
        if credential.is_some() {
            fields.fault("auth_scheme", "is required with auth_credential: bearer, basic or api_key");
        }
        return None;
    };
    if let Some(flow) = Flow::parse(&scheme) {
        if credential.is_some() {
            fields.fault("auth_credential", format!("has no meaning with {scheme}; give oauth"));
        }
        return OauthEdit::read(fields, flow, rule).map(|edit| Scheme::Tokens(Box::new(edit)));
    }
    let header = |name: &str, prefix: &str, credential: &str| {
        header("auth_credential", name, &format!("{prefix}{}", credential.trim()))
    };
    let (scheme, made) = match (scheme.as_str(), &credential) {
        ("none" | "", None) => return Some(Scheme::Open),
        ("none" | "", Some(_)) => {
            fields.fault("auth_scheme", "must be bearer, basic or api_key where auth_credential is given");
            return None;
        }
        ("bearer", given) => ("bearer", given.as_ref().map(|text| header("authorization", "Bearer ", text))),
        ("basic", given) => ("basic", given.as_ref().map(|text| header("authorization", "Basic ", text))),
        ("api_key" | "api-key" | "apikey", given) => {
            let name = name.as_deref().unwrap_or(KEY_HEADER);
            ("api_key", given.as_ref().map(|text| header(name, "", text)))
        }
        (other, _) => {
            fields.fault(
                "auth_scheme",
                format!("{other:?} is none of none, bearer, basic, api_key, {}", flows()),
            );
            return None;
        }
    };
    match made {
        None => Some(Scheme::Kept(scheme)),
        Some(made) => fields.checked(made).map(Scheme::Sent),
    }
}

/// Reads headers: `{"x-team": "blue"}`, or a list of such objects, or of `{"name", "value"}`.
fn read_headers(fields: &mut Fields) -> Option<Vec<Header>> {
    let value = fields.value("headers")?;
    let Some(pairs) = pairs(&value) else {
        fields.fault("headers", "must be an object of texts, for example {\"X-Team\": \"blue\"}");
        return None;
    };
    if pairs.len() > MAX_HEADERS {
        fields.fault("headers", format!("are more than {MAX_HEADERS}"));
        return None;
    }
    let mut headers: Vec<Header> = Vec::with_capacity(pairs.len());
    for (name, value) in pairs {
        let header = fields.checked(header("headers", name, value))?;
        if headers.iter().any(|known| known.name == header.name) {
            fields.fault("headers", format!("{} is there twice", header.name));
            return None;
        }
        headers.push(header);
    }
    Some(headers)
}

fn pairs(value: &Value) -> Option<Vec<(&str, &str)>> {
    match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect()
        }
        Value::Array(items) => {
            let mut all = Vec::new();
            for item in items {
                match (item.get("name").and_then(Value::as_str), item.get("value").and_then(Value::as_str)) {
                    (Some(name), Some(value)) => all.push((name, value)),
                    _ if item.is_object() => all.extend(pairs(item)?),
                    _ => return None,
                }
            }
            Some(all)
        }
        _ => None,
    }
}

fn header(field: &str, name: &str, value: &str) -> Result<Header, Invalid> {
    let name = name.trim().to_ascii_lowercase();
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err(Invalid::new(field, format!("{name:?} is no name of a header")));
    }
    if OURS.contains(&name.as_str()) || name.starts_with("mcp-") {
        return Err(Invalid::new(field, format!("{name} is set by the gateway")));
    }
    if value.len() > MAX_VALUE_BYTES {
        return Err(Invalid::new(
            field,
            format!("the value of {name} is longer than {MAX_VALUE_BYTES} bytes"),
        ));
    }
    if HeaderValue::from_str(value).is_err() {
        // The value itself is a secret and not repeated.
        return Err(Invalid::new(field, format!("the value of {name} holds characters no header may have")));
    }
    Ok(Header { name, value: Secret::new(value) })
}
