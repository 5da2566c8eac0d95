//! A user's permission, from the question in their browser to tokens.

use std::time::Duration;

use catalog::authorization::Authorization;
use catalog::endpoint::{Endpoint, Secret};
use url::Url;

use super::discovery::Server;
use super::request::{self, Form};
use super::{Failure, Tokens, digest};
use crate::error::Error;

/// What a user is asked with (RFC 6749, section 4.1.1; PKCE, RFC 7636).
pub struct Asking<'a> {
    /// Where their browser comes back to.
    pub redirect_uri: &'a str,
    /// What it brings along.
    pub state: &'a str,
    /// Drawn for this question alone.
    pub verifier: &'a str,
}

/// What their browser came back with.
pub struct Answer<'a> {
    /// Where it came back to.
    pub redirect_uri: &'a str,
    /// What it is exchanged by.
    pub code: &'a str,
    /// The one that the question was made with.
    pub verifier: &'a str,
    /// Which authorization server says so (RFC 9207).
    pub issuer: Option<&'a str>,
}

/// Tokens that a user allowed.
pub struct Allowed {
    /// Tells where they may be sent.
    pub place: String,
    /// Where they were had.
    pub token_url: String,
    /// What is sent.
    pub access_token: Secret,
    /// How long that is good.
    pub life: Duration,
    /// What another is had for.
    pub refresh_token: Option<Secret>,
    /// What was granted.
    pub scope: String,
}

impl Tokens {
    /// Returns the URL at which a user is asked.
    pub async fn question(&self, endpoint: &Endpoint, asking: &Asking<'_>) -> Result<Url, Error> {
        let authorization = of(endpoint)?;
        let server = self.servers.of(authorization, &endpoint.url, &self.fetcher).await?;
        let mut url = server.authorization.clone().ok_or_else(|| {
            Failure::server("names no authorization_endpoint, or does not take PKCE by S256")
        })?;
        let challenge = digest::challenge(asking.verifier);
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", authorization.client_id.reveal())
            .append_pair("redirect_uri", asking.redirect_uri)
            .append_pair("state", asking.state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        for (name, value) in wishes(authorization, &server) {
            query.append_pair(name, &value);
        }
        if authorization.scope.split(' ').any(|scope| scope == "offline_access") {
            // Without it, OpenID Connect Core (section 11) has that scope ignored.
            query.append_pair("prompt", "consent");
        }
        drop(query);
        Ok(url)
    }

    /// Exchanges the code that a user's browser came back with.
    pub async fn redeem(&self, endpoint: &Endpoint, answer: &Answer<'_>) -> Result<Allowed, Error> {
        let authorization = of(endpoint)?;
        let server = self.servers.of(authorization, &endpoint.url, &self.fetcher).await?;
        // A code of another server must not be shown to this one (RFC 9207, section 2.4).
        let is_other = match (answer.issuer, &server.issuer) {
            (Some(said), Some(known)) => said.trim_end_matches('/') != known.trim_end_matches('/'),
            (None, Some(_)) => server.says_issuer,
            (_, None) => false,
        };
        if is_other {
            return Err(Failure::NoToken("the answer is of another authorization server".into()).into());
        }
        let mut form: Form = vec![
            ("grant_type", "authorization_code".into()),
            ("code", answer.code.into()),
            ("redirect_uri", answer.redirect_uri.into()),
            ("code_verifier", answer.verifier.into()),
        ];
        form.extend(wishes(authorization, &server).into_iter().filter(|(name, _)| *name == "resource"));
        let granted = request::ask(&self.fetcher, authorization, &server, form).await?;
        Ok(Allowed {
            token_url: server.token.url.to_string(),
            place: digest::hex(&digest::of_place(endpoint, authorization)),
            access_token: granted.token,
            life: granted.life,
            refresh_token: granted.refresh_token,
            scope: granted.scope.unwrap_or_else(|| authorization.scope.clone()),
        })
    }
}

/// Asks for another token after the first.
pub(super) fn renewal(authorization: &Authorization, server: &Server, refresh_token: &Secret) -> Form {
    let mut form: Form =
        vec![("grant_type", "refresh_token".into()), ("refresh_token", refresh_token.reveal().into())];
    form.extend(wishes(authorization, server).into_iter().filter(|(name, _)| *name == "resource"));
    form
}

/// What a token is to be good for. The resource is always named (MCP, basic/authorization).
fn wishes(authorization: &Authorization, server: &Server) -> Form {
    let mut wishes: Form = vec![("resource", server.resource.clone())];
    if !authorization.scope.is_empty() {
        wishes.push(("scope", authorization.scope.clone()));
    }
    wishes.extend(authorization.audience.iter().map(|audience| ("audience", audience.clone())));
    wishes
}

fn of(endpoint: &Endpoint) -> Result<&Authorization, Error> {
    let authorization = endpoint.authorization.as_deref();
    authorization.ok_or_else(|| Error::NoToken { reason: "the version wants none".into() })
}
