//! Says who a bearer token stands for: a token of ours, or one of an identity provider.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use catalog::access::Principal;
use catalog::time::Timestamp;
use catalog::token::TokenId;
use jsonwebtoken::decode_header;
use quick_cache::Equivalent;
use quick_cache::sync::Cache;

use crate::keys::RootKey;
use crate::outside::{Fetch, Outside, ProviderSettings, SignIn, Vouched};
use crate::own::OwnTokens;
use crate::refused::Refused;

/// Longest token that is looked at. Ours are below 1 KiB; servers commonly allow 8 KiB for a header.
pub const MAX_TOKEN_BYTES: usize = 8192;
/// Verified tokens kept. At about a kilobyte each this is ten megabytes, and far more callers than a node serves.
const MAX_VERIFIED: usize = 10_000;

/// Says who a bearer token stands for. Shared by all threads.
pub struct Authenticator {
    own: OwnTokens,
    outside: Outside,
    /// Tokens that were found good. Only those are kept, so nobody fills it with guesses.
    verified: Cache<Known, Entry>,
}

/// What is remembered of a token.
#[derive(Clone)]
struct Entry {
    principal: Arc<Principal>,
    /// When its provider is to be asked about it again.
    ask_again_at: Option<Timestamp>,
}

/// The text of a verified token.
#[derive(Clone)]
struct Known(Arc<str>);

/// The text of a token that is looked up.
struct Presented<'a>(&'a str);

impl Authenticator {
    /// Makes the authenticator for tokens that the `Issuer` of the same root key signs.
    pub fn new(root: &RootKey) -> Self {
        Self::with(root, Outside::default())
    }

    /// Makes one that also takes the tokens of identity providers, which are asked through `fetch`.
    pub fn with_providers(root: &RootKey, providers: Vec<ProviderSettings>, fetch: Arc<dyn Fetch>) -> Self {
        Self::with(root, Outside::new(providers, fetch))
    }

    fn with(root: &RootKey, outside: Outside) -> Self {
        Self { own: OwnTokens::new(root), outside, verified: Cache::new(MAX_VERIFIED) }
    }

    /// Returns whom a token stands for, where that can be told without asking anybody; `None` where its provider
    /// has to be asked ([`Self::find_out`]). Whether the token was revoked is the caller's to check, by
    /// `Principal::token`.
    pub fn recall(&self, bearer: &str, now: Timestamp) -> Option<Result<Arc<Principal>, Refused>> {
        if bearer.len() > MAX_TOKEN_BYTES {
            return Some(Err(Refused::Malformed));
        }
        if let Some(entry) = self.verified.get(&Presented(bearer)) {
            return match entry.ask_again_at {
                Some(end) if now >= end => None,
                _ => Some(live(entry.principal, now)),
            };
        }
        match decode_header(bearer) {
            Ok(header) if self.outside.is_empty() || self.own.are_named_by(&header) => {
                let verified = self.own.verify(bearer, &header).map(Arc::new);
                Some(verified.and_then(|principal| live(principal, now)).inspect(|principal| {
                    let entry = Entry { principal: principal.clone(), ask_again_at: None };
                    self.verified.insert(Known(bearer.into()), entry);
                }))
            }
            Err(_) if self.outside.is_empty() => Some(Err(Refused::Malformed)),
            _ => None,
        }
    }

    /// Returns whom a token of ours stands for.
    pub fn authenticate(&self, bearer: &str, now: Timestamp) -> Result<Arc<Principal>, Refused> {
        self.recall(bearer, now).unwrap_or(Err(Refused::UnknownKey))
    }

    /// Returns whom a token stands for that [`Self::recall`] cannot tell: checks it with its provider's keys, which may
    /// have to be fetched, or asks its provider. Waits some seconds at the most.
    pub async fn find_out(&self, bearer: &str, now: Timestamp) -> Result<Arc<Principal>, Refused> {
        let Vouched { principal, ask_again_at, by } = self.outside.find_out(bearer, now).await?;
        let principal = live(Arc::new(principal), now)?;
        self.verified.insert(Known(bearer.into()), Entry { principal: principal.clone(), ask_again_at });
        if !by.is_current() {
            // The key may just have been withdrawn; the next request finds out.
            self.verified.remove(&Presented(bearer));
        }
        Ok(principal)
    }

    /// Returns when tokens of ours were last presented, of those that are remembered.
    pub fn last_uses(&self) -> Vec<(TokenId, Timestamp)> {
        let uses = self
            .verified
            .iter()
            .filter_map(|(_, entry)| Some((entry.principal.token.clone()?, entry.principal.last_use.get()?)));
        uses.collect()
    }

    /// Returns whom a token stands for, whoever has to be asked.
    pub async fn identify(&self, bearer: &str, now: Timestamp) -> Result<Arc<Principal>, Refused> {
        match self.recall(bearer, now) {
            Some(known) => known,
            None => self.find_out(bearer, now).await,
        }
    }

    /// Returns the issuers of tokens that are taken, beside ourselves.
    pub fn issuers(&self) -> impl Iterator<Item = &str> {
        self.outside.issuers()
    }

    /// Returns what people sign in with, at the providers that are set up for it.
    pub fn sign_in(&self) -> SignIn {
        self.outside.sign_in()
    }

    /// Keeps the keys of all providers fresh, for ever; without it none are ever fetched.
    pub async fn keep_keys(&self) {
        let forget = |issuer: &str| self.verified.retain(|_, entry| *entry.principal.issuer != *issuer);
        self.outside.keep_keys(&forget).await;
    }

    /// Fetches the keys of all providers once.
    #[cfg(test)]
    pub(crate) async fn fetch_keys_once(&self, now: Timestamp) {
        let forget = |issuer: &str| self.verified.retain(|_, entry| *entry.principal.issuer != *issuer);
        self.outside.fetch_keys_once(now, &forget).await;
    }
}

impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Hash for Presented<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        Presented(&self.0).equivalent(other)
    }
}

impl Eq for Known {}

impl Equivalent<Known> for Presented<'_> {
    /// Takes the same time wherever the two differ.
    fn equivalent(&self, known: &Known) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), known.0.as_bytes()).is_ok()
    }
}

fn live(principal: Arc<Principal>, now: Timestamp) -> Result<Arc<Principal>, Refused> {
    if principal.expires_at.is_none_or(|end| now >= end) {
        return Err(Refused::Expired);
    }
    principal.last_use.note(now);
    Ok(principal)
}

#[cfg(test)]
mod tests;
