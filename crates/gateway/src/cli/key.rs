//! `switchyard key`: replacing the root key, without anything that it made becoming void.

use std::path::PathBuf;
use std::sync::Arc;

use auth::RootKey;
use clap::Subcommand;
use store::embedded::EmbeddedStore;

use super::failure::Failure;
use super::output;
use super::settings::Given;
use crate::app;
use crate::config::Config;
use crate::glue::sealing::Sealing;

/// What is done to the root key.
#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Put a fresh key in front; what the older ones made still opens
    Rotate(Given),
    /// Take all older keys out; tokens that were signed with them end
    Retire(Given),
}

impl Action {
    /// Does it where the gateway's data are, not through the gateway: the key is not for the network.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::refused(format!("cannot start: {error}")))?;
        match self {
            Self::Rotate(given) => runtime.block_on(rotate(&given.load()?)),
            Self::Retire(given) => runtime.block_on(retire(&given.load()?)),
        }
    }
}

async fn rotate(config: &Config) -> Result<(), Failure> {
    let file = key_file(config)?;
    let keys = RootKey::rotate(&file).map_err(refused)?;
    output::line(&format!("{}: a fresh key is in use, {} older open", file.display(), keys.count() - 1))?;
    if seal_anew(config, &keys).await? {
        output::line("everything stored is sealed with it")
    } else {
        output::line(
            "a gateway runs here: start it again, and it seals everything it stores with the fresh key",
        )
    }
}

async fn retire(config: &Config) -> Result<(), Failure> {
    let file = key_file(config)?;
    let keys = app::root_key(config).map_err(|error| Failure::refused(format!("{error:#}")))?;
    // Else what lies sealed with an older key would be lost.
    if !seal_anew(config, &keys).await? {
        return Err(Failure::refused("a gateway runs on these data; stop it first"));
    }
    RootKey::retire(&file).map_err(refused)?;
    output::line(&format!("{}: {} older keys are gone", file.display(), keys.count() - 1))
}

/// Opens the store, which seals anew what older keys sealed. False where a gateway has it.
async fn seal_anew(config: &Config, keys: &RootKey) -> Result<bool, Failure> {
    let data = &config.server.data_dir;
    if !app::has_catalog(data) {
        return Ok(true);
    }
    match EmbeddedStore::open(data, Arc::new(Sealing::new(keys))).await {
        Ok(_) => Ok(true),
        Err(store::Error::InUse(_)) => Ok(false),
        Err(error) => Err(Failure::refused(format!("catalog: {error}"))),
    }
}

/// Finds the file that holds the key. A key that is given as text is changed where it is given.
fn key_file(config: &Config) -> Result<PathBuf, Failure> {
    match (&config.auth.root_key_file, &config.auth.root_key) {
        (Some(file), _) => Ok(file.clone()),
        (None, None) => Ok(config.server.data_dir.join(app::KEY_FILE)),
        (None, Some(_)) => Err(Failure::refused(
            "the key is given by auth.root_key; put a fresh one (openssl rand -hex 32) in front of it there, with a comma \
             between, and start the gateway again",
        )),
    }
}

fn refused(error: auth::Error) -> Failure {
    let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
    Failure::refused(format!("{error}{source}"))
}
