//! The control plane: the REST API over the catalog, and what follows a change of it.
//!
//! Deliberately knows nothing of the data plane. The two meet in `routing::Live`, where this crate publishes
//! a table after each change.

mod api;
mod apply;
mod diff;
mod facts;
mod health;
mod indexing;
mod inventory;
mod login;
mod metrics;
mod observations;
mod openapi;
mod publish;
mod run;
#[cfg(test)]
mod scene;
mod sessions;
mod trail;
mod turns;
mod unfit;
mod unread;
mod uses;
mod vault;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use auth::{Authenticator, Cookies, Issuer, Seal, SignIn};
use backend::Backends;
use catalog::Catalog;
use catalog::endpoint::AddressRule;
use indexing::Indexing;
use limits::Limiter;
use observations::Observations;
use routing::live::Live;
use store::Store;
use turns::Turns;

pub use apply::Error as ApplyError;
pub use openapi::openapi;
pub use unread::Unread;

/// The control plane, used as `Arc<Registry>`.
pub struct Registry {
    parts: Parts,
    current: RwLock<Arc<Catalog>>,
    /// Whose change is being made.
    turns: Turns,
    observations: Observations,
    left_out: RwLock<Vec<routing::compile::LeftOut>>,
    /// What can be found.
    indexing: Indexing,
    reads: inventory::Reads,
    hints: inventory::Hints,
    board: health::Board,
    /// When tokens were last presented.
    uses: uses::Uses,
    /// Signs people in at identity providers.
    sign_in: SignIn,
}

/// What the control plane works with.
pub struct Parts {
    /// Where the catalog is kept.
    pub store: Arc<dyn Store>,
    /// Where tables are published.
    pub live: Arc<Live>,
    /// Speaks to backends: probes and inventories.
    pub backends: Arc<Backends>,
    /// Tells who calls.
    pub authenticator: Arc<Authenticator>,
    /// Signs tokens.
    pub issuer: Arc<Issuer>,
    /// Seals what browsers keep.
    pub cookies: Cookies,
    /// Says whether a caller comes too often; absent where nothing is limited.
    pub limiter: Option<Arc<Limiter>>,
    /// Seals what browsers carry for us.
    pub seal: Seal,
    /// What an operator may set.
    pub settings: Settings,
}

/// How much of the audit trail is kept.
#[derive(Clone, Debug)]
pub struct AuditSettings {
    /// How long an entry is kept.
    pub keep: Duration,
    /// Most entries of what was done here.
    pub max_entries: u64,
    /// Most entries of calls of MCP.
    pub max_calls: u64,
}

impl Default for AuditSettings {
    fn default() -> Self {
        // A hundred thousand deeds take some hundred megabytes at the worst, a tenth of that as a rule.
        Self { keep: Duration::from_secs(90 * 24 * 3600), max_entries: 100_000, max_calls: 200_000 }
    }
}

/// What an operator may set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How much of the audit trail is kept.
    pub audit: AuditSettings,
    /// Which addresses backend URLs may name.
    pub address_rule: AddressRule,
    /// Time between two probes of an active version; spread by a tenth.
    pub probe_every: Duration,
    /// Most backends probed at once.
    pub probe_parallel: usize,
    /// Time after which an inventory is read again though nothing hints at a change.
    pub inventory_every: Duration,
    /// Whether unknown labels are refused on every server, as the data plane does then.
    pub strict_versions: bool,
    /// The gateway's address as clients know it, without a trailing slash.
    pub public_url: Option<String>,
    /// The path that a proxy in front puts before ours; empty for none.
    pub path_prefix: String,
    /// How long somebody who signed in with a browser stays so.
    pub session_life: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            audit: AuditSettings::default(),
            address_rule: AddressRule { allow_private: true },
            probe_every: Duration::from_secs(60),
            probe_parallel: 16,
            inventory_every: Duration::from_secs(600),
            strict_versions: false,
            public_url: None,
            path_prefix: String::new(),
            session_life: Duration::from_secs(8 * 3600),
        }
    }
}

impl Registry {
    /// Loads the catalog, compiles it and publishes the table.
    pub async fn start(parts: Parts) -> Result<Arc<Self>, store::Error> {
        let catalog = parts.store.load().await?;
        let (observations, observed) = Observations::new();
        let sign_in = parts.authenticator.sign_in();
        let registry = Arc::new(Self {
            parts,
            sign_in,
            current: RwLock::new(Arc::new(Catalog::default())),
            turns: Turns::default(),
            observations,
            left_out: RwLock::default(),
            indexing: Indexing::start(),
            reads: inventory::Reads::default(),
            hints: inventory::Hints::default(),
            board: health::Board::default(),
            uses: uses::Uses::default(),
        });
        if let Some(tokens) = &registry.parts.backends.settings().tokens {
            tokens.set_vault(Arc::new(vault::Keeper::new(&registry)));
        }
        registry.publish(catalog);
        tokio::spawn(observations::follow(Arc::downgrade(&registry), observed));
        Ok(registry)
    }

    /// Returns the router of everything under `/api` and `/v0`, and of browser sign-in.
    pub fn router(self: &Arc<Self>) -> axum::Router {
        api::router(self.clone()).merge(login::router(self.clone()))
    }

    /// Begins to search by meaning too, with the first model that is given. Vectors are kept in a file, if one is named.
    ///
    /// **Errors:** the system gives no more threads; search goes on by words.
    pub fn embed_with(
        &self,
        model: Arc<dyn search::embed::Embedder>,
        file: Option<std::path::PathBuf>,
    ) -> std::io::Result<()> {
        self.indexing.embed_with(model, file)
    }

    /// Returns the catalog in force.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns what the published table had to leave out, and why.
    pub fn left_out(&self) -> Vec<routing::compile::LeftOut> {
        self.left_out.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
