//! Where clients reach the gateway.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::header;
use http::request::Parts;

use super::error::Problem;
use crate::Registry;

/// The gateway's address without a trailing slash: as configured, else as the request names it.
pub(crate) struct Base(String);

impl Base {
    /// Returns the gateway's origin, as browsers write it.
    pub(crate) fn origin(&self) -> String {
        url::Url::parse(&self.0).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }

    /// Returns the path under which the gateway stands, without a trailing slash.
    pub(crate) fn path(&self) -> String {
        let url = url::Url::parse(&self.0);
        url.map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default()
    }

    /// Says whether it is reached over TLS.
    pub(crate) fn is_https(&self) -> bool {
        self.0.starts_with("https:")
    }

    /// Returns the URL of an endpoint.
    pub(crate) fn endpoint(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

impl FromRequestParts<Arc<Registry>> for Base {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, registry: &Arc<Registry>) -> Result<Self, Problem> {
        let settings = &registry.parts.settings;
        if let Some(url) = &settings.public_url {
            return Ok(Self(url.clone()));
        }
        let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        // HTTP/2 names the host in the URI.
        let host = named.or(parts.uri.authority().map(|authority| authority.as_str())).unwrap_or("localhost");
        Ok(Self(format!("http://{host}{}", settings.path_prefix)))
    }
}
