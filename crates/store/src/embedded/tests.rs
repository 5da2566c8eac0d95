//! The embedded store: the suite, and what only it promises.

mod broken;
mod checkpoint;
mod killed;

use std::path::Path;
use std::sync::Arc;

use super::EmbeddedStore;
use crate::record::Sealer;
use crate::{Store, conformance};

/// Seals so that a test can see it: the text reversed, under a key that must match.
pub(super) struct Reversing(pub(super) &'static str);

impl Sealer for Reversing {
    fn seal(&self, plain: &str) -> String {
        let reversed: String = plain.chars().rev().collect();
        format!("{}:{reversed}", self.0)
    }

    fn open(&self, sealed: &str) -> Option<String> {
        let reversed = sealed.strip_prefix(self.0)?.strip_prefix(':')?;
        Some(reversed.chars().rev().collect())
    }
}

pub(super) async fn open(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::open(directory, Arc::new(Reversing("key"))).await.expect("the store opens")
}

#[tokio::test(flavor = "multi_thread")]
async fn passes_the_suite() {
    let fresh = async || tempfile::tempdir().expect("a directory");
    conformance::run(fresh, async |place| Box::new(open(place.path()).await) as Box<dyn Store>).await;
}
