//! Commands that are backends: which of them the catalog wants.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use backend::Stdio;
use catalog::Catalog;
use registry::Registry;

/// How often is looked for processes that nobody wants any more.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Ends processes that were idle for too long or that no version names any more. Never returns.
pub(super) async fn keep(stdio: &Stdio, registry: &Registry) {
    let mut clock = tokio::time::interval(LOOK_EVERY);
    let mut seen: Option<(Arc<Catalog>, HashSet<String>)> = None;
    loop {
        clock.tick().await;
        let catalog = registry.catalog();
        let wanted = match seen.take() {
            Some((known, wanted)) if Arc::ptr_eq(&known, &catalog) => wanted,
            _ => wanted(&catalog),
        };
        stdio.sweep(&|name| wanted.contains(name));
        seen = Some((catalog, wanted));
    }
}

/// Warns of versions whose command is not configured: their calls fail.
pub(super) fn warn_of_missing(stdio: &Stdio, catalog: &Catalog) {
    for name in wanted(catalog).iter().filter(|name| !stdio.has(name)) {
        tracing::warn!(command = name, "a registered version names a command that is not configured");
    }
}

fn wanted(catalog: &Catalog) -> HashSet<String> {
    let versions = catalog.servers.values().flat_map(|server| server.versions());
    versions.filter_map(|version| Some(version.endpoint.command()?.to_owned())).collect()
}
