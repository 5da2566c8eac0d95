//! `[[auth.providers]]`: identity providers whose tokens are taken.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use auth::outside::{
    ALGORITHMS, Algorithm, ClaimName, ClaimRules, IntrospectionSettings, ProviderSettings, SignInSettings,
};
use catalog::endpoint::Secret;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::config::units::Span;
use crate::small_file;

/// Most providers; each is asked for its keys every few minutes.
const MAX_PROVIDERS: usize = 100;
/// More than clocks are ever apart, and little enough that an old token does not live on.
const MAX_LEEWAY: Duration = Duration::from_secs(600);
/// Longest time that a provider's word on a token may be kept; a token revoked there lives for as long.
const MAX_INTROSPECTION_KEEP: Duration = Duration::from_secs(600);

/// One provider, as the user wrote it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Said {
    /// Its URL, exactly as its tokens name it.
    issuer: String,
    /// Audiences that are good for every endpoint, beside each endpoint's own URL.
    #[serde(default)]
    audiences: Vec<String>,
    /// The algorithms it may sign with; all that take no shared secret where absent.
    algorithms: Option<Vec<String>>,
    /// The claim that names the caller; `sub` where absent.
    subject_claim: Option<String>,
    /// Claims that name groups; `groups` and `roles` where absent.
    groups_claim: Option<Names>,
    /// Claims that name scopes; `scope` and `scp` where absent.
    scopes_claim: Option<Names>,
    /// Put before the name of each group.
    #[serde(default)]
    group_prefix: String,
    /// Groups, prefix and all, whose members are administrators.
    #[serde(default)]
    admin_groups: Vec<String>,
    /// How far its clock may be from ours; a minute where absent.
    clock_leeway: Option<Span>,
    /// Least time between two fetches of its keys; thirty seconds where absent.
    keys_refetch_every: Option<Span>,
    /// How long its keys are good for when it cannot be reached; a day where absent.
    keys_keep: Option<Span>,
    /// Whether it may be spoken to in plain HTTP on another host than this one.
    #[serde(default)]
    allow_http: bool,
    /// How it is asked about tokens that are not signed.
    introspection: Option<SaidIntrospection>,
    /// How people sign in there with a browser.
    sign_in: Option<SaidSignIn>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidSignIn {
    /// What people call the provider; its host where absent.
    name: Option<String>,
    /// Who we are there.
    client_id: String,
    /// And the proof; without it we are a public client, which PKCE alone protects.
    client_secret: Option<String>,
    /// A file that holds it.
    client_secret_file: Option<PathBuf>,
    /// The scopes that are asked for, beside `openid`; `profile` and `email` where absent.
    scopes: Option<Vec<String>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidIntrospection {
    /// Where; as the provider's metadata says where absent.
    endpoint: Option<String>,
    /// Who we are there.
    client_id: String,
    /// And the proof.
    client_secret: Option<String>,
    /// A file that holds it.
    client_secret_file: Option<PathBuf>,
    /// How long an answer is good for; thirty seconds where absent.
    keep: Option<Span>,
}

/// One name or several.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Several(Vec<String>),
}

/// Checks all providers.
pub(super) fn resolve(said: Vec<Said>, faults: &mut Vec<String>) -> Vec<ProviderSettings> {
    if said.len() > MAX_PROVIDERS {
        faults.push(format!("auth.providers: {MAX_PROVIDERS} at most"));
    }
    let mut all: Vec<ProviderSettings> = Vec::new();
    for one in said {
        let settings = one.resolve(faults);
        if all.iter().any(|known| known.issuer == settings.issuer) {
            faults.push(format!("auth.providers: {} is there twice", settings.issuer));
        }
        all.push(settings);
    }
    all
}

impl Said {
    fn resolve(self, faults: &mut Vec<String>) -> ProviderSettings {
        let issuer = self.issuer;
        let mut fault = |what: String| faults.push(format!("auth.providers: {issuer}: {what}"));
        if let Err(reason) = check_url(&issuer, self.allow_http) {
            fault(format!("issuer {reason}"));
        }
        let defaults = ProviderSettings::new(issuer.clone());
        let mut algorithms = Vec::new();
        for name in self.algorithms.iter().flatten() {
            match name.parse::<Algorithm>().ok().filter(|one| ALGORITHMS.contains(one)) {
                Some(algorithm) => algorithms.push(algorithm),
                None => fault(format!(
                    "algorithms: {name:?} is none that can be allowed; they are {ALGORITHMS:?}"
                )),
            }
        }
        if self.algorithms.as_ref().is_some_and(Vec::is_empty) {
            fault("algorithms: name one at least".into());
        }
        let leeway = self.clock_leeway.map_or(defaults.leeway, |span| span.0);
        if leeway > MAX_LEEWAY {
            fault(format!("clock_leeway: {} seconds at most", MAX_LEEWAY.as_secs()));
        }
        let refetch_every = self.keys_refetch_every.map_or(defaults.refetch_every, |span| span.0);
        if refetch_every < Duration::from_secs(1) {
            fault("keys_refetch_every: a second at least".into());
        }
        let rules = ClaimRules::default();
        let claims = ClaimRules {
            subject: self.subject_claim.map_or(rules.subject, ClaimName::new),
            groups: self.groups_claim.map_or(rules.groups, Names::into_claims),
            scopes: self.scopes_claim.map_or(rules.scopes, Names::into_claims),
            group_prefix: self.group_prefix,
            admin_groups: self.admin_groups,
        };
        let introspection = self.introspection.map(|said| said.resolve(self.allow_http, &mut fault));
        let sign_in = self.sign_in.map(|said| said.resolve(&issuer, &mut fault));
        ProviderSettings {
            issuer,
            audiences: self.audiences,
            algorithms: if self.algorithms.is_some() { algorithms } else { defaults.algorithms },
            leeway,
            refetch_every,
            keys_keep: self.keys_keep.map_or(defaults.keys_keep, |span| span.0),
            claims,
            introspection,
            sign_in,
        }
    }
}

impl SaidIntrospection {
    fn resolve(self, allow_http: bool, fault: &mut impl FnMut(String)) -> IntrospectionSettings {
        if let Some(Err(reason)) = self.endpoint.as_deref().map(|url| check_url(url, allow_http)) {
            fault(format!("introspection.endpoint {reason}"));
        }
        let secret = secret("introspection", self.client_secret, self.client_secret_file.as_deref(), fault);
        if secret.is_none() {
            fault("introspection: give client_secret or client_secret_file".into());
        }
        let keep = self.keep.map_or(Duration::from_secs(30), |span| span.0);
        if keep > MAX_INTROSPECTION_KEEP {
            fault(format!("introspection.keep: {} seconds at most", MAX_INTROSPECTION_KEEP.as_secs()));
        }
        IntrospectionSettings {
            endpoint: self.endpoint,
            client_id: self.client_id,
            client_secret: secret.unwrap_or_else(|| Secret::new(String::new())),
            keep,
        }
    }
}

impl SaidSignIn {
    fn resolve(self, issuer: &str, fault: &mut impl FnMut(String)) -> SignInSettings {
        if self.client_id.trim().is_empty() {
            fault("sign_in.client_id: must not be empty".into());
        }
        let client_secret = secret("sign_in", self.client_secret, self.client_secret_file.as_deref(), fault);
        let scopes = self.scopes.unwrap_or_else(|| vec!["profile".into(), "email".into()]);
        if scopes.iter().any(|scope| scope.is_empty() || !scope.bytes().all(|b| b.is_ascii_graphic())) {
            fault("sign_in.scopes: a scope is printable ASCII without blanks".into());
        }
        let host = || Url::parse(issuer).ok().and_then(|url| url.host_str().map(str::to_owned));
        let name = self.name.or_else(host).unwrap_or_default();
        SignInSettings { name, client_id: self.client_id, client_secret, scopes }
    }
}

/// Takes a secret as text or from a file; not both.
fn secret(
    table: &str,
    text: Option<String>,
    file: Option<&Path>,
    fault: &mut impl FnMut(String),
) -> Option<Secret> {
    match (text, file) {
        (Some(_), Some(_)) => {
            fault(format!("{table}: give client_secret or client_secret_file, not both"));
            Some(Secret::new(String::new()))
        }
        (text, None) => text.map(Secret::new),
        (None, Some(file)) => match small_file::secret(file) {
            Ok(text) => Some(Secret::new(text)),
            Err(error) => {
                fault(format!("{table}.client_secret_file: {}: {error}", file.display()));
                // The fault above is enough.
                Some(Secret::new(String::new()))
            }
        },
    }
}

impl Names {
    fn into_claims(self) -> Vec<ClaimName> {
        match self {
            Self::One(name) => vec![ClaimName::new(name)],
            Self::Several(names) => names.into_iter().map(ClaimName::new).collect(),
        }
    }
}

/// Checks that a URL can be trusted with keys and secrets: over TLS, or without leaving the machine.
fn check_url(text: &str, allow_http: bool) -> Result<(), &'static str> {
    let Ok(url) = Url::parse(text) else {
        return Err("is no URL; give one like https://idp.example.com/realms/main");
    };
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() {
        return Err("must be without user, query and fragment");
    }
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_here || allow_http => Ok(()),
        _ => Err("must begin with https://, or be on this machine; allow_http = true lets it be otherwise"),
    }
}
