//! Protected resource metadata (RFC 9728): where a client learns what an endpoint is and which scopes it
//! wants.

use http::{HeaderValue, Response, StatusCode};
use mcp::message::quote;
use routing::target::Target;

use crate::outbound::Body;
use crate::reply;
use crate::shared::Settings;

/// Where the documents stand, the endpoint's path behind it.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Returns the public base URL, as configured, else as the request named us.
pub(crate) fn base_url(host: Option<&HeaderValue>, settings: &Settings) -> String {
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    match &settings.public_url {
        Some(url) => url.clone(),
        None => format!("http://{host}{}", settings.path_prefix),
    }
}

/// Returns the URL of an endpoint's document.
pub(crate) fn url(base: &str, path: &str) -> String {
    format!("{base}{WELL_KNOWN}{path}")
}

/// Answers with an endpoint's document. `issuers` are the providers whose tokens are taken; without any, clients cannot
/// sign in by themselves, and the document names none.
pub(crate) fn document<'a>(
    base: &str,
    target: Target<'_>,
    issuers: impl Iterator<Item = &'a str>,
) -> Response<Body> {
    let scopes: Vec<_> = target.required_scopes().iter().map(|scope| quote(scope.as_str())).collect();
    let servers: Vec<_> = issuers.map(quote).collect();
    let servers = match servers.is_empty() {
        true => String::new(),
        false => format!(r#""authorization_servers":[{}],"#, servers.join(",")),
    };
    let body = format!(
        r#"{{"resource":{},{servers}"scopes_supported":[{}],"bearer_methods_supported":["header"],"resource_name":{}}}"#,
        quote(&format!("{base}{}", target.path())),
        scopes.join(","),
        quote(target.path()),
    );
    reply::json(StatusCode::OK, body.into())
}
