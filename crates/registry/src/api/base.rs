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
