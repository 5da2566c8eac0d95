//! Where an authorization server gives tokens: as configured, else as its metadata say (RFC 8414, OpenID Connect
//! Discovery 1.0); which server that is, the backend may say (RFC 9728).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use catalog::authorization::{Authorization, Flow};
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
    /// Where users are asked.
    pub(super) authorization: Option<Url>,
    /// What it calls itself, where that is known.
    pub(super) issuer: Option<String>,
    /// Whether it says so of itself in its answers (RFC 9207).
    pub(super) says_issuer: bool,
    /// The resource that tokens for the backend are for.
    pub(super) resource: String,
    /// Whether the client's secret goes into the form: where the server takes it in no header.
    pub(super) wants_secret_in_form: bool,
}

/// A URL and how far it is trusted.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) url: Url,
    pub(super) trust: Trust,
}

/// The servers whose metadata were read, by issuer and how far that is trusted.
#[derive(Default)]
pub(super) struct Servers(Mutex<Known>);

/// Metadata and when they were read.
type Known = HashMap<(Url, Trust), (Instant, Arc<Metadata>)>;

/// Members of the metadata that are of use.
#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    #[serde(default)]
    authorization_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint: Option<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// What a backend says of how it is protected.
#[derive(Debug, Deserialize)]
struct Protected {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
}

impl Servers {
    /// Returns where an authorization's tokens are had.
    pub(super) async fn of(
        &self,
        authorization: &Authorization,
        backend: &Url,
        fetcher: &Fetcher,
    ) -> Result<Server, Failure> {
        let mut resource = authorization.resource.clone().unwrap_or_else(|| without_query(backend));
        let is_told = authorization.flow != Flow::User || authorization.authorization_url.is_some();
        if let Some(url) = authorization.token_url.as_ref().filter(|_| is_told) {
            return Ok(Server {
                token: Named { url: url.clone(), trust: Trust::Given },
                authorization: authorization.authorization_url.clone(),
                issuer: authorization.issuer.as_ref().map(Url::to_string),
                says_issuer: false,
                resource,
                wants_secret_in_form: false,
            });
        }
        let (issuer, trust) = match &authorization.issuer {
            Some(issuer) => (issuer.clone(), Trust::Given),
            None => {
                let protected = protected(backend, fetcher).await?;
                if authorization.resource.is_none() {
                    resource = protected.resource;
                }
                let named = protected.authorization_servers.into_iter().next();
                let named = named.ok_or_else(|| said_by_backend("name no authorization server"))?;
                let named = named_by(backend, Trust::Given, &named)?;
                (named.url, named.trust)
            }
        };
        let metadata = self.metadata(&issuer, trust, fetcher).await?;
        let token = match (&authorization.token_url, &metadata.token_endpoint) {
            (Some(url), _) => Named { url: url.clone(), trust: Trust::Given },
            (None, Some(url)) => named_by(&issuer, trust, url)?,
            (None, None) => return Err(Failure::server("names no token_endpoint")),
        };
        // Without PKCE a code could be taken by another (MCP, basic/authorization).
        let takes_pkce = metadata.code_challenge_methods_supported.iter().any(|method| method == "S256");
        let asked_at = metadata.authorization_endpoint.as_deref().filter(|_| takes_pkce);
        let asked_at = asked_at.map(|url| named_by(&issuer, trust, url)).transpose()?.map(|named| named.url);
        let methods = metadata.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
        let takes = |method: &str| methods.iter().any(|known| known == method);
        Ok(Server {
            token,
            authorization: authorization.authorization_url.clone().or(asked_at),
            issuer: Some(metadata.issuer.clone()),
            says_issuer: metadata.authorization_response_iss_parameter_supported,
            resource,
            wants_secret_in_form: takes("client_secret_post") && !takes("client_secret_basic"),
        })
    }

    async fn metadata(
        &self,
        issuer: &Url,
        trust: Trust,
        fetcher: &Fetcher,
    ) -> Result<Arc<Metadata>, Failure> {
        let key = (issuer.clone(), trust);
        if let Some((read_at, metadata)) = lock(&self.0).get(&key)
            && read_at.elapsed() < BELIEVED_FOR
        {
            return Ok(metadata.clone());
        }
        let metadata = Arc::new(read(issuer, trust, fetcher).await?);
        let mut servers = lock(&self.0);
        if servers.len() >= MAX_SERVERS {
            servers.clear();
        }
        servers.insert(key, (Instant::now(), metadata.clone()));
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

/// Reads what a backend says of how it is protected (RFC 9728).
async fn protected(backend: &Url, fetcher: &Fetcher) -> Result<Protected, Failure> {
    let path = backend.path().trim_end_matches('/');
    for path in [path, ""] {
        let mut url = backend.clone();
        url.set_path(&format!("/.well-known/oauth-protected-resource{path}"));
        url.set_query(None);
        url.set_fragment(None);
        let fetched = fetcher.get(&url, Trust::Given, MAX_ANSWER_BYTES).await;
        let fetched = fetched.map_err(|error| said_by_backend(&format!("failed: {}", error.reason())))?;
        if !fetched.status.is_success() {
            continue;
        }
        let read = serde_json::from_slice::<Protected>(&fetched.body);
        let read = read.map_err(|_| said_by_backend("cannot be read"))?;
        // Tokens for somebody else's resource would be had in its name (RFC 9728, section 3.3).
        let is_its_own = Url::parse(&read.resource).is_ok_and(|named| {
            named.origin() == backend.origin()
                && backend.path().starts_with(named.path().trim_end_matches('/'))
        });
        return if is_its_own { Ok(read) } else { Err(said_by_backend("are of another resource")) };
    }
    Err(said_by_backend("are missing; configure the issuer"))
}

fn said_by_backend(what: &str) -> Failure {
    Failure::NoToken(format!("the backend's metadata {what}"))
}

fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.into()
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
