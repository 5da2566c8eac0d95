//! A fresh look at backends before a check that knows them not, or not to have a tool: whoever registers a server
//! and composes its tools a moment later should not be told to wait, nor whoever just added a tool.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use catalog::virtual_server::Mapping;
use catalog::{Catalog, VersionKey};
use futures_util::StreamExt;
use futures_util::stream;

use crate::Registry;

/// Longest wait for all of them. The check then says what is still unknown.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most versions that are looked at for one write; the hundreds of a big import are read on the clock.
const MAX_READS: usize = 64;
/// Most that are read at once.
const PARALLEL: usize = 16;

/// Reads the backends of rows whose tool is not in what is known of them.
pub(super) async fn sources(registry: &Arc<Registry>, rows: Vec<Mapping>) {
    let catalog = registry.catalog();
    let unknown: BTreeSet<VersionKey> = rows.iter().filter_map(|row| unknown(&catalog, row)).collect();
    let reads =
        stream::iter(unknown.into_iter().take(MAX_READS)).for_each_concurrent(PARALLEL, async |key| {
            if let Err(error) = registry.refresh_among_many(&key).await {
                tracing::debug!(error = ?error.to_string(), "not read before a check");
            }
        });
    // The check says what is missing; that it is missing because time ran out says the log.
    if tokio::time::timeout(PATIENCE, reads).await.is_err() {
        tracing::info!("backends of a virtual server were not all read in time");
    }
}

/// Returns the version behind a row, where its tool is not known to be there.
fn unknown(catalog: &Catalog, row: &Mapping) -> Option<VersionKey> {
    let server = catalog.servers.get(&row.server)?;
    let label = match &row.pin {
        Some(pin) => &server.version(pin.as_str())?.label,
        None => &server.active().label,
    };
    let is_known = catalog.inventory(&row.server, label).is_some_and(|one| one.tool(&row.tool).is_some());
    (!is_known).then(|| VersionKey::new(&row.server, label))
}
