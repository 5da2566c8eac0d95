//! Signing people in at a provider with their browser: authorization code with PKCE, state and nonce (OpenID Connect
//! Core; RFC 7636, RFC 9207, RFC 9700).

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use catalog::access::Principal;
use catalog::endpoint::Secret;
use catalog::time::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use url::Url;
use url::form_urlencoded::Serializer;

use super::claim_name::Claims;
use super::discovery::{self, Metadata};
use super::fetch::{Answer, Question, basic};
use super::provider::Provider;
use super::settings::SignInSettings;
use super::{claims, id_token};
use crate::cookie::random;
use crate::refused::Refused;

/// How long a person may take at the provider.
const FLOW_SECONDS: i64 = 600;
/// Most codes that are redeemed at once: whoever makes some up must not make us a nuisance to the provider.
const MAX_AT_ONCE: usize = 16;
/// Longest wait for a turn.
const TURN_WITHIN: Duration = Duration::from_secs(5);
/// Longest wait for one answer of the provider.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Longest code, and longest word of the provider's, that is looked at.
const MAX_RETURNED_BYTES: usize = 4096;

/// Signs people in.
pub struct SignIn {
    providers: Vec<Arc<Provider>>,
    turns: Semaphore,
}

/// A provider that people can choose.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// Its issuer, by which it is chosen.
    pub issuer: &'a str,
    /// What people call it.
    pub name: &'a str,
}

/// A sign-in under way. It is secret, and kept by the browser that began it alone.
#[derive(Clone, Serialize, Deserialize)]
pub struct Flow {
    issuer: String,
    state: String,
    nonce: String,
    verifier: String,
    redirect_uri: String,
    ends_at: i64,
    /// Where the person wanted to go.
    pub next: String,
}

/// What the provider's page sent the browser back with.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Returned {
    /// The code that becomes a token, once.
    pub code: Option<String>,
    /// What we gave along.
    pub state: Option<String>,
    /// Who answers.
    pub iss: Option<String>,
    /// Why there is no code.
    pub error: Option<String>,
}

/// Why nobody is signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInFailed {
    /// There is no such provider, or it is not set up for this.
    #[error("there is no such identity provider to sign in at")]
    NoProvider,
    /// It was asked and did not answer, or could not be asked yet.
    #[error("the identity provider cannot be reached now; try again in a moment")]
    Unreachable,
    /// The answer is not to a question of this browser.
    #[error("this answer belongs to another sign-in, or to none; begin again")]
    NotOurs,
    /// It came too late.
    #[error("the sign-in took too long; begin again")]
    Late,
    /// The provider said no.
    #[error("the identity provider did not sign you in: {0}")]
    Declined(String),
    /// What it said of the person cannot be believed.
    #[error("the identity provider's word on who you are is refused: {0}")]
    Unbelieved(#[from] Refused),
}

/// What a code is redeemed for.
#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    access_token: Option<String>,
}

impl SignIn {
    pub(super) fn new(providers: Vec<Arc<Provider>>) -> Self {
        Self { providers, turns: Semaphore::new(MAX_AT_ONCE) }
    }

    /// Returns where people may sign in.
    pub fn choices(&self) -> impl ExactSizeIterator<Item = Choice<'_>> {
        self.providers.iter().map(|provider| Choice {
            issuer: &provider.settings.issuer,
            name: provider.settings.sign_in.as_ref().map_or("", |settings| &settings.name),
        })
    }

    /// Begins: returns where the browser is to go, and what it is to keep until it comes back to `redirect_uri`.
    pub fn begin(
        &self,
        issuer: &str,
        redirect_uri: &str,
        next: &str,
        now: Timestamp,
    ) -> Result<(String, Flow), SignInFailed> {
        let (provider, settings) = self.provider(issuer)?;
        let metadata = provider.metadata().ok_or(SignInFailed::Unreachable)?;
        let endpoint = metadata.authorization_endpoint.as_deref().and_then(|url| Url::parse(url).ok());
        let endpoint = endpoint.filter(|url| matches!(url.scheme(), "https" | "http"));
        let mut url = endpoint.ok_or(SignInFailed::NoProvider)?;
        let flow = Flow {
            issuer: issuer.into(),
            state: random(),
            nonce: random(),
            verifier: random(),
            redirect_uri: redirect_uri.into(),
            ends_at: now.plus_seconds(FLOW_SECONDS).0,
            next: next.into(),
        };
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, flow.verifier.as_bytes()));
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &settings.client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", &scope(settings))
            .append_pair("state", &flow.state)
            .append_pair("nonce", &flow.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        Ok((url.into(), flow))
    }

    /// Ends: returns who came back, if it is the browser that began and the provider vouches for the person.
    ///
    /// How long they are signed in is not the provider's to say, so the principal has no end.
    pub async fn finish(
        &self,
        flow: &Flow,
        returned: &Returned,
        now: Timestamp,
    ) -> Result<Principal, SignInFailed> {
        let state = returned.state.as_deref().unwrap_or_default();
        verify_slices_are_equal(flow.state.as_bytes(), state.as_bytes())
            .map_err(|_| SignInFailed::NotOurs)?;
        if now.0 >= flow.ends_at {
            return Err(SignInFailed::Late);
        }
        let (provider, settings) = self.provider(&flow.issuer)?;
        let metadata = provider.metadata().ok_or(SignInFailed::Unreachable)?;
        // The answer of another provider must not be taken to this one.
        let is_from_it = match &returned.iss {
            Some(issuer) => *issuer == flow.issuer,
            None => !metadata.authorization_response_iss_parameter_supported,
        };
        if !is_from_it {
            return Err(SignInFailed::NotOurs);
        }
        if let Some(error) = &returned.error {
            return Err(SignInFailed::Declined(word(error)));
        }
        let code =
            returned.code.as_deref().filter(|code| !code.is_empty() && code.len() <= MAX_RETURNED_BYTES);
        let code = code.ok_or(SignInFailed::NotOurs)?;
        let turn = tokio::time::timeout(TURN_WITHIN, self.turns.acquire()).await;
        let _turn = turn.map_err(|_| SignInFailed::Unreachable)?.map_err(|_| SignInFailed::Unreachable)?;
        let tokens = redeem(provider, settings, &metadata, flow, code).await?;
        let mut said =
            id_token::verify(&tokens.id_token, provider, &settings.client_id, &flow.nonce, now).await?;
        if let Some(access_token) = tokens.access_token.filter(|_| names_no_groups(provider, &said)) {
            ask_for_more(provider, &metadata, &access_token, &mut said).await;
        }
        let mut principal = claims::principal(&said, &provider.settings, now)?;
        // It was for us that they signed in, not for an endpoint.
        (principal.audiences, principal.expires_at) = (None, None);
        Ok(principal)
    }

    /// Returns where people sign out of a provider (OpenID Connect RP-Initiated Logout), where it says so. It sends
    /// them `back` if it knows that URL.
    pub fn sign_out_url(&self, issuer: &str, back: &str) -> Option<String> {
        let (provider, settings) = self.provider(issuer).ok()?;
        let mut url = Url::parse(provider.metadata()?.end_session_endpoint.as_deref()?).ok()?;
        if !matches!(url.scheme(), "https" | "http") {
            return None;
        }
        url.query_pairs_mut()
            .append_pair("client_id", &settings.client_id)
            .append_pair("post_logout_redirect_uri", back);
        Some(url.into())
    }

    fn provider(&self, issuer: &str) -> Result<(&Arc<Provider>, &SignInSettings), SignInFailed> {
        let known = self.providers.iter().find(|provider| provider.settings.issuer == issuer);
        known
            .and_then(|provider| Some((provider, provider.settings.sign_in.as_ref()?)))
            .ok_or(SignInFailed::NoProvider)
    }
}

fn scope(settings: &SignInSettings) -> String {
    let others = settings.scopes.iter().map(String::as_str).filter(|scope| *scope != "openid");
    std::iter::once("openid").chain(others).collect::<Vec<_>>().join(" ")
}

/// Redeems a code, which works once; the verifier shows that it is ours.
async fn redeem(
    provider: &Provider,
    settings: &SignInSettings,
    metadata: &Metadata,
    flow: &Flow,
    code: &str,
) -> Result<Tokens, SignInFailed> {
    let url = metadata.token_endpoint.clone().ok_or(SignInFailed::NoProvider)?;
    let (authorization, form) = question(settings, metadata, flow, code);
    let answer = ask(provider, url, authorization, Some(form)).await?;
    if answer.status != 200 {
        #[derive(Deserialize)]
        struct Error {
            error: String,
        }
        let said = serde_json::from_slice::<Error>(&answer.body).map(|said| word(&said.error));
        let said = said.unwrap_or_else(|_| format!("HTTP {}", answer.status));
        tracing::warn!(issuer = %flow.issuer, %said, "a code to sign in with was not redeemed");
        return Err(SignInFailed::Declined(said));
    }
    serde_json::from_slice(&answer.body).map_err(|_| Refused::MissingClaim("id_token").into())
}

/// Says which code is redeemed, and who we are, in the way the provider takes it.
fn question(
    settings: &SignInSettings,
    metadata: &Metadata,
    flow: &Flow,
    code: &str,
) -> (Option<Secret>, Secret) {
    let mut form = Serializer::new(String::new());
    form.append_pair("grant_type", "authorization_code")
        .append_pair("code", code)
        .append_pair("redirect_uri", &flow.redirect_uri)
        .append_pair("code_verifier", &flow.verifier);
    let methods = &metadata.token_endpoint_auth_methods_supported;
    let takes = |method: &str| methods.iter().any(|one| one == method);
    let mut authorization = None;
    match &settings.client_secret {
        Some(secret) if takes("client_secret_post") && !takes("client_secret_basic") => {
            form.append_pair("client_id", &settings.client_id).append_pair("client_secret", secret.reveal());
        }
        Some(secret) => authorization = Some(basic(&settings.client_id, secret)),
        None => {
            form.append_pair("client_id", &settings.client_id);
        }
    }
    (authorization, Secret::new(form.finish()))
}

fn names_no_groups(provider: &Provider, said: &Claims) -> bool {
    provider.settings.claims.groups.iter().all(|name| name.of(said).is_none())
}

/// Asks what else the provider says of the person. Where it does not answer, they have fewer rights and not more.
async fn ask_for_more(provider: &Provider, metadata: &Metadata, access_token: &str, said: &mut Claims) {
    let Some(url) = metadata.userinfo_endpoint.clone() else { return };
    let issuer = provider.settings.issuer.as_str();
    let authorization = Some(Secret::new(format!("Bearer {access_token}")));
    let answer = ask(provider, url, authorization, None).await;
    let more = answer.ok().filter(|answer| answer.status == 200);
    let more = more.and_then(|answer| serde_json::from_slice::<Claims>(&answer.body).ok());
    // It could be said of somebody else (OpenID Connect Core, section 5.3.4).
    match more.filter(|more| more.get("sub").is_some() && more.get("sub") == said.get("sub")) {
        Some(more) => more.into_iter().for_each(|(name, value)| {
            said.entry(name).or_insert(value);
        }),
        None => tracing::warn!(%issuer, "the identity provider says nothing more of who signed in"),
    }
}

async fn ask(
    provider: &Provider,
    url: String,
    authorization: Option<Secret>,
    form: Option<Secret>,
) -> Result<Answer, SignInFailed> {
    let issuer = provider.settings.issuer.as_str();
    let is_learnt = !discovery::is_beside(&url, issuer);
    let asked = provider.ask(Question { url, is_learnt, authorization, form });
    let failed = |reason: &str| {
        tracing::warn!(%issuer, %reason, "the identity provider cannot be asked who signed in");
        SignInFailed::Unreachable
    };
    let answer = tokio::time::timeout(ANSWER_WITHIN, asked).await;
    answer.map_err(|_| failed("no answer in time"))?.map_err(|error| failed(&error.0))
}

/// Takes of a foreign word what can be shown: letters and marks of error codes, no more than fit a line.
fn word(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')).take(64).collect()
}
