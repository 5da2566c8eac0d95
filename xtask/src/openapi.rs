//! `cargo xtask openapi`: writes `openapi.json`, which is made from the code of the REST API and committed.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

const FILE: &str = "openapi.json";

pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    fs::write(root.join(FILE), document()).context(FILE)?;
    println!("wrote {FILE}");
    Ok(())
}

fn document() -> String {
    let text = registry::openapi();
    format!("{}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_document_is_fresh() {
        let committed = std::fs::read_to_string(crate::root().join(super::FILE)).unwrap_or_default();
        assert!(
            committed == super::document(),
            "openapi.json is stale: run `cargo xtask openapi` and commit it"
        );
    }
}
