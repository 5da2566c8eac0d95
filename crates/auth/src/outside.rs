//! Tokens of identity providers: which provider a token is of, and what is asked of it.

mod claim_name;
mod claims;
mod discovery;
mod fetch;
mod id_token;
mod introspection;
mod jwt;
mod keyset;
mod provider;
mod settings;
mod sign_in;

use std::sync::Arc;

use catalog::access::Principal;
use catalog::time::Timestamp;
use jsonwebtoken::decode_header;

use crate::refused::Refused;
use introspection::Opaque;
use provider::Provider;

pub use claim_name::ClaimName;
pub use fetch::{Answer, Fetch, Question, Unanswered};
pub use jsonwebtoken::Algorithm;
pub use settings::{ALGORITHMS, ClaimRules, IntrospectionSettings, ProviderSettings, SignInSettings};
pub use sign_in::{Choice, Flow, Returned, SignIn, SignInFailed};

/// All identity providers.
#[derive(Default)]
pub(crate) struct Outside {
    providers: Vec<Arc<Provider>>,
    opaque: Opaque,
}

/// A token that a provider vouches for.
pub(crate) struct Vouched {
    pub(crate) principal: Principal,
    /// When its provider is to be asked about it again; never for a token that was checked with its keys.
    pub(crate) ask_again_at: Option<Timestamp>,
    pub(crate) by: Voucher,
}

/// What vouched for a token: the keys a provider had at that moment.
pub(crate) struct Voucher {
    provider: Arc<Provider>,
    generation: u64,
}

impl Voucher {
    /// Says whether the provider has withdrawn no key since.
    pub(crate) fn is_current(&self) -> bool {
        self.provider.generation() == self.generation
    }
}

impl Outside {
    pub(crate) fn new(settings: Vec<ProviderSettings>, fetch: Arc<dyn Fetch>) -> Self {
        let provider = |one| Arc::new(Provider::new(one, fetch.clone()));
        Self { providers: settings.into_iter().map(provider).collect(), opaque: Opaque::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.providers.is_empty()
    }

    pub(crate) fn issuers(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|provider| provider.settings.issuer.as_str())
    }

    /// Returns what people sign in with, at the providers that are set up for it.
    pub(crate) fn sign_in(&self) -> SignIn {
        let set_up = self.providers.iter().filter(|provider| provider.settings.sign_in.is_some());
        SignIn::new(set_up.cloned().collect())
    }

    /// Keeps the keys of all providers, for ever. `forget` is told the issuer whenever one withdrew a key.
    pub(crate) async fn keep_keys(&self, forget: &(dyn Fn(&str) + Sync)) {
        let all = self.providers.iter().map(|provider| provider.keep_keys(forget));
        futures_util::future::join_all(all).await;
    }

    #[cfg(test)]
    pub(crate) async fn fetch_keys_once(&self, now: Timestamp, forget: &(dyn Fn(&str) + Sync)) {
        for provider in &self.providers {
            provider.fetch_keys(now, forget).await;
        }
    }

    /// Returns whom a token stands for.
    pub(crate) async fn find_out(&self, bearer: &str, now: Timestamp) -> Result<Vouched, Refused> {
        // Three parts that begin with a JSON object are a signed token; everything else only its issuer can read.
        if bearer.split('.').count() != 3 || !bearer.starts_with("ey") {
            return self.opaque.find_out(&self.providers, bearer, now).await;
        }
        let header = decode_header(bearer).map_err(|_| Refused::Malformed)?;
        let issuer = jwt::issuer(bearer).ok_or(Refused::Malformed)?;
        let known = |provider: &&Arc<Provider>| provider.settings.issuer == issuer;
        let provider = self.providers.iter().find(known).ok_or(Refused::WrongIssuer)?;
        if !provider.settings.algorithms.contains(&header.alg) {
            return Err(Refused::UnknownKey);
        }
        let (keys, generation) = provider.keys_for(header.kid.as_deref(), header.alg, now).await?;
        let principal = jwt::verify(bearer, &header, &keys, &provider.settings, now)?;
        let by = Voucher { provider: provider.clone(), generation };
        Ok(Vouched { principal, ask_again_at: None, by })
    }
}

#[cfg(test)]
mod tests;
