//! `switchyard check`

use std::sync::Arc;

use store::Store;
use store::embedded::EmbeddedStore;

use super::failure::Failure;
use super::output;
use super::settings::Given;
use crate::app;
use crate::config::Config;
use crate::glue::sealing::Sealing;

/// Checks the configuration and, where no gateway holds it, the stored catalog.
pub(super) fn run(given: &Given) -> Result<(), Failure> {
    let config = given.load()?;
    config.warnings.iter().try_for_each(|warning| output::line(&format!("warning: {warning}")))?;
    output::line(&format!("configuration ({}): ok", given.file()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::refused(format!("cannot start: {error}")))?;
    runtime.block_on(check_catalog(&config))
}

async fn check_catalog(config: &Config) -> Result<(), Failure> {
    let data = &config.server.data_dir;
    if !app::has_catalog(data) {
        return output::line(&format!("catalog: none yet in {}", data.display()));
    }
    let refused = |error: String| Failure::refused(format!("catalog: {error}"));
    let root = app::root_key(config).map_err(|error| refused(format!("{error:#}")))?;
    let store = match EmbeddedStore::open(data, Arc::new(Sealing::new(&root))).await {
        Ok(store) => store,
        Err(store::Error::InUse(_)) => {
            let hint = "GET /api/health tells what its gateway left out";
            return output::line(&format!("catalog: {} is in use, not checked; {hint}", data.display()));
        }
        Err(error) => return Err(refused(error.to_string())),
    };
    let catalog = store.load().await.map_err(|error| refused(error.to_string()))?;
    let compiled = routing::compile::compile(&catalog, None);
    if compiled.left_out.is_empty() {
        let (servers, composed) = (catalog.servers.len(), catalog.virtual_servers.len());
        return output::line(&format!("catalog: ok, {servers} servers, {composed} virtual servers"));
    }
    let lines = compiled.left_out.iter().map(|one| format!("\n  {}: {}", one.what, one.reason));
    Err(refused(format!("some of it cannot be routed:{}", lines.collect::<String>())))
}
