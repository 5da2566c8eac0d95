//! Where an authorization server gives tokens: as configured, else as its metadata say (RFC 8414, OpenID Connect
//! Discovery 1.0).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use catalog::authorization::Authorization;
use serde::Deserialize;
use tokio::time::Instant;
use url::Url;

use super::{Failure, MAX_ANSWER_BYTES};
use crate::fetch::{Fetcher, Trust};
use crate::host::lock;

/// How long metadata are believed.
const BELIEVED_FOR: Duration = Duration::from_secs(3600);
/// Most servers whose metadata are kept; past it all are read anew.
const MAX_SERVERS: usize = 1_000;

/// An authorization server.
pub(super) struct Server {
    pub(super) token: Named,
    /// Whether the client's secret goes into the form: where the server takes it in no header.
    pub(super) wants_secret_in_form: bool,
}

/// A URL and how far it is trusted.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) url: Url,
    pub(super) trust: Trust,
}

/// The servers whose metadata were read, by issuer.
#[derive(Default)]
pub(super) struct Servers(Mutex<HashMap<Url, (Instant, Arc<Metadata>)>>);

/// Members of the metadata that are of use.
#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    #[serde(default)]
    token_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl Servers {
    /// Returns where an authorization's tokens are had.
    pub(super) async fn of(
        &self,
        authorization: &Authorization,
        fetcher: &Fetcher,
    ) -> Result<Server, Failure> {
        if let Some(url) = &authorization.token_url {
            let token = Named { url: url.clone(), trust: Trust::Given };
            return Ok(Server { token, wants_secret_in_form: false });
        }
        let Some(issuer) = &authorization.issuer else {
            return Err(Failure::NoToken("neither issuer nor token_url is known".into()));
        };
        let metadata = self.metadata(issuer, fetcher).await?;
        let Some(url) = &metadata.token_endpoint else {
            return Err(Failure::server("names no token_endpoint"));
        };
        let methods = metadata.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
        let takes = |method: &str| methods.iter().any(|known| known == method);
        Ok(Server {
            token: named_by(issuer, Trust::Given, url)?,
            wants_secret_in_form: takes("client_secret_post") && !takes("client_secret_basic"),
        })
    }

    async fn metadata(&self, issuer: &Url, fetcher: &Fetcher) -> Result<Arc<Metadata>, Failure> {
        if let Some((read_at, metadata)) = lock(&self.0).get(issuer)
            && read_at.elapsed() < BELIEVED_FOR
        {
            return Ok(metadata.clone());
        }
        let metadata = Arc::new(read(issuer, Trust::Given, fetcher).await?);
        let mut servers = lock(&self.0);
        if servers.len() >= MAX_SERVERS {
            servers.clear();
        }
        servers.insert(issuer.clone(), (Instant::now(), metadata.clone()));
        Ok(metadata)
    }
}

/// Reads a server's metadata from the first place that has them.
async fn read(issuer: &Url, trust: Trust, fetcher: &Fetcher) -> Result<Metadata, Failure> {
    let mut failure = Failure::server("has no metadata");
    for url in places(issuer) {
        let fetched = fetcher.get(&url, trust, MAX_ANSWER_BYTES).await;
        let fetched = fetched.map_err(|error| Failure::server(format_args!("failed: {}", error.reason())))?;
        if !fetched.status.is_success() {
            continue;
        }
        match serde_json::from_slice::<Metadata>(&fetched.body) {
            // Metadata of another issuer would have us send a client's secret elsewhere (RFC 8414, section 3.3).
            Ok(metadata) if same(&metadata.issuer, issuer.as_str()) => return Ok(metadata),
            Ok(_) => failure = Failure::NoToken("the metadata are of another issuer".into()),
            Err(_) => failure = Failure::server("has metadata that cannot be read"),
        }
    }
    Err(failure)
}

fn same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Returns where the metadata of an issuer may be, likeliest first.
fn places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    let at = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url.set_query(None);
        url
    };
    paths.into_iter().map(at).collect()
}

/// Takes a URL from an issuer's metadata. At the issuer's own origin it is as good as the issuer.
fn named_by(issuer: &Url, trust: Trust, url: &str) -> Result<Named, Failure> {
    let Ok(url) = Url::parse(url) else {
        return Err(Failure::server("names a URL that is none"));
    };
    let is_weaker = issuer.scheme() == "https" && url.scheme() != "https";
    if is_weaker || !matches!(url.scheme(), "http" | "https") {
        return Err(Failure::server("names a URL that is not https"));
    }
    let trust = trust.handed_on(issuer, &url);
    Ok(Named { url, trust })
}

#[cfg(test)]
mod tests;
