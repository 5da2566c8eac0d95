//! What the backends behind a client's stream have to say, for as long as the stream is open: of legacy backends
//! their GET streams, of modern ones their listen streams.

mod legacy;
mod modern;
mod source;

use std::collections::HashMap;
use std::sync::Arc;

use catalog::VersionKey;
use catalog::endpoint::Era;
use mcp::message::quote;
use routing::Table;
use routing::target::VirtualTarget;
use routing::version::VersionTarget;
use tokio::task::{AbortHandle, JoinSet};

use crate::plane::{Front, Plane};
use crate::resource_owners;
use crate::sessions::ClientSession;
use crate::subscribe;
use source::Source;
pub(crate) use source::{Granted, Ready};

/// A client with an open stream.
pub(crate) struct Listener {
    pub(crate) plane: Plane,
    pub(crate) session: Arc<ClientSession>,
    pub(crate) front: Front,
}

/// The stream of one backend.
struct Followed {
    version: Arc<VersionTarget>,
    era: Era,
    task: AbortHandle,
}

/// Follows one version, which is spoken to in `era`. Never ends.
pub(crate) async fn version(listener: Listener, version: Arc<VersionTarget>, era: Era, ready: Ready) {
    one(listener.source(&version, true, ready), era).await;
    std::future::pending().await
}

/// Follows the streams of all backends behind a virtual server, also of those that come to it later. What was switched
/// away from is followed until it is removed, for calls may still run there. Ends when a legacy client's virtual server
/// is gone.
pub(crate) async fn virtual_server(listener: Listener, mut target: Arc<VirtualTarget>, ready: Ready) {
    let Listener { plane, session, front } = &listener;
    let mut published = plane.shared.published();
    let mut followed: HashMap<VersionKey, Followed> = HashMap::new();
    let mut streams = JoinSet::new();
    let mut ready = Some(ready);
    loop {
        for version in &target.backends {
            followed.entry(version.key.clone()).or_insert_with(|| {
                let (version, era) = (version.clone(), version.era_toward(front.era()));
                let source = listener.source(&version, false, ready.clone().unwrap_or_default());
                Followed { version, era, task: streams.spawn(one(source, era)) }
            });
        }
        // Nobody waits for those that come later.
        ready = None;
        if published.changed().await.is_err() {
            return;
        }
        while streams.try_join_next().is_some() {}
        let table = plane.shared.live.full();
        followed.retain(|key, one| {
            let is_there = is_at(&table, key, one, *front);
            if !is_there {
                one.task.abort();
            }
            is_there
        });
        match table.virtual_server(target.slug.as_str()).filter(|now| now.is_enabled) {
            Some(now) => target = now.clone(),
            // Whoever listens is told, and that is not done here.
            None if *front == Front::Modern => return std::future::pending().await,
            None => {
                session.state().stream = None;
                return;
            }
        }
        listener.reassign(&table, &target);
    }
}

async fn one(source: Source, era: Era) {
    match era {
        Era::Legacy => legacy::follow(source).await,
        Era::Modern => modern::follow(source).await,
    }
}

/// Says whether a version is still served, at the same endpoint and in the same era, and a modern one offers the same to
/// listen to.
fn is_at(table: &Table, key: &VersionKey, one: &Followed, front: Front) -> bool {
    let server = table.server(key.path.as_str()).filter(|server| server.is_enabled);
    let version = server.and_then(|server| server.version(key.label.as_str()));
    version.is_some_and(|version| {
        let is_same =
            *version.endpoint == *one.version.endpoint && version.era_toward(front.era()) == one.era;
        is_same && (one.era == Era::Legacy || capabilities(version) == capabilities(&one.version))
    })
}

/// Returns what a version says it can do in the modern era.
fn capabilities(version: &VersionTarget) -> Option<&str> {
    version.side(Era::Modern).map(|side| side.capabilities)
}

impl Listener {
    fn source(&self, version: &Arc<VersionTarget>, passes_lists: bool, ready: Ready) -> Source {
        Source { errand: self.plane.errand(&self.session, version), front: self.front, passes_lists, ready }
    }

    /// Moves subscriptions to whoever owns their resources now.
    fn reassign(&self, table: &Table, target: &VirtualTarget) {
        let mut moved = Vec::new();
        for (uri, key) in &mut self.session.state().subscriptions {
            let front = self.front.era();
            let owners = resource_owners::likeliest_first(target, front, uri, || Some(key.clone()));
            let owner = subscribe::owner(target, front, &owners)
                .map(|owner| &owner.key)
                .filter(|owner| *owner != key);
            if let Some(owner) = owner {
                moved.push((uri.clone(), std::mem::replace(key, owner.clone()), owner.clone()));
            }
        }
        for (uri, from, to) in moved {
            self.tell(table, &from, "resources/unsubscribe", &uri);
            self.tell(table, &to, "resources/subscribe", &uri);
        }
    }

    /// Has a backend know of a subscription that came or went. One that has no session yet learns of it with its first.
    fn tell(&self, table: &Table, key: &VersionKey, method: &str, uri: &str) {
        if self.session.refilter(key).is_some() {
            return;
        }
        let server = table.server(key.path.as_str());
        if let Some(version) = server.and_then(|server| server.version(key.label.as_str())) {
            let (id, uri) = (quote(&format!("{method} {uri}")), quote(uri));
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"uri":{uri}}}}}"#);
            self.plane.errand(&self.session, version).post_aside(body.into());
        }
    }
}
