//! Where a provider has what: its metadata (OpenID Connect Discovery 1.0, RFC 8414).

use serde::Deserialize;
use url::Url;

/// What we want of a provider's metadata.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    /// Where its keys are.
    pub(super) jwks_uri: String,
    /// Where it is asked about tokens.
    pub(super) introspection_endpoint: Option<String>,
    /// Where people sign in.
    pub(super) authorization_endpoint: Option<String>,
    /// Where a code becomes a token.
    pub(super) token_endpoint: Option<String>,
    /// How clients say there who they are.
    #[serde(default)]
    pub(super) token_endpoint_auth_methods_supported: Vec<String>,
    /// Where more is said of a person.
    pub(super) userinfo_endpoint: Option<String>,
    /// Where people sign out.
    pub(super) end_session_endpoint: Option<String>,
    /// Whether answers to the browser name the issuer (RFC 9207).
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

/// Returns where the metadata of an issuer may be, the likeliest first.
pub(super) fn places(issuer: &str) -> Vec<String> {
    let base = issuer.trim_end_matches('/');
    let mut places = vec![format!("{base}/.well-known/openid-configuration")];
    if let Ok(mut url) = Url::parse(base) {
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("/.well-known/oauth-authorization-server{path}"));
        places.push(url.into());
    }
    places
}

/// Reads metadata. It must be that of the issuer itself, or somebody else's keys would pass for its own.
pub(super) fn read(body: &[u8], issuer: &str) -> Result<Metadata, String> {
    let metadata: Metadata =
        serde_json::from_slice(body).map_err(|error| format!("its metadata cannot be read: {error}"))?;
    if metadata.issuer != issuer {
        return Err(format!(
            "its metadata is that of {:?}; configure the issuer as it is written there",
            metadata.issuer
        ));
    }
    Ok(metadata)
}

/// Says whether a URL of the metadata is on the host that the operator named.
pub(super) fn is_beside(url: &str, issuer: &str) -> bool {
    match (Url::parse(url), Url::parse(issuer)) {
        (Ok(url), Ok(issuer)) => url.origin() == issuer.origin(),
        _ => false,
    }
}
