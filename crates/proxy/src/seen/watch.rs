//! An answer on its way to the client, looked through for the resources it names.

use std::sync::Arc;

use catalog::VersionKey;
use catalog::endpoint::Era;
use mcp::uris::Scan;
use routing::target::VirtualTarget;

use super::MOST_URIS;
use crate::shared::Shared;

/// Looks for resources in an answer on its way to the client.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    client: Box<str>,
    target: Arc<VirtualTarget>,
    front: Era,
    key: VersionKey,
    scan: Scan,
    /// How many more it looks at.
    left: usize,
}

impl Watch {
    /// Prepares to look through the answer of a version to a client.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        client: Box<str>,
        target: &Arc<VirtualTarget>,
        front: Era,
        key: &VersionKey,
    ) -> Self {
        let (shared, target, key) = (shared.clone(), target.clone(), key.clone());
        Self { shared, client, target, front, key, scan: Scan::default(), left: MOST_URIS }
    }

    /// Looks through the next piece.
    pub(crate) fn piece(&mut self, piece: &[u8]) {
        let Self { shared, client, target, front, key, scan, left } = self;
        if *left == 0 {
            return;
        }
        scan.piece(piece, |uri| {
            if *left == 0 {
                return;
            }
            *left -= 1;
            // What the table knows is never looked up here.
            if target.face(*front).resource_owner(uri).is_none() {
                shared.seen.note(client, uri, key);
            }
        });
    }
}
