//! What users allowed at servers.

use std::sync::Arc;

use catalog::connection::{Connection, ConnectionKey, User};
use catalog::endpoint::Secret;

use super::{Twin, samples};
use crate::Store;
use crate::change::Edit;

/// Connections are kept for each user and server, replaced, and deleted.
pub(super) async fn are_kept_replaced_and_deleted(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    twin.put_server(samples::server("/a")).await;
    let (ada, bob) = (connection("/a", "ada"), connection("/a", "bob"));
    twin.apply(vec![put(&ada), put(&bob), put(&connection("/none", "ada"))]).await;
    assert_eq!(twin.catalog.connections.len(), 2, "of what is not there none is kept");
    let renewed = Connection {
        access_token: Secret::new("another"),
        refresh_token: None,
        expires_at: ada.expires_at.plus_seconds(60),
        ..ada.clone()
    };
    twin.apply(vec![put(&renewed)]).await;
    let mut twin = twin.reopen(open).await;
    assert_eq!(*twin.catalog.connections[&ada.key], renewed);
    twin.apply(vec![Edit::DeleteConnection(ada.key.clone())]).await;
    twin.apply(vec![Edit::DeleteConnection(ada.key)]).await;
    assert_eq!(twin.catalog.connections.keys().collect::<Vec<_>>(), [&bob.key]);
}

/// They go with their server and do not come back with another of its path.
pub(super) async fn go_with_their_server(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = Twin::open(open).await;
    twin.put_server(samples::server("/a")).await;
    twin.put_server(samples::server("/a/b")).await;
    twin.apply(vec![put(&connection("/a", "ada")), put(&connection("/a/b", "ada"))]).await;
    twin.apply(vec![Edit::DeleteServer(samples::path("/a"))]).await;
    twin.put_server(samples::server("/a")).await;
    let twin = twin.reopen(open).await;
    assert_eq!(twin.catalog.connections.keys().map(|key| key.server.as_str()).collect::<Vec<_>>(), ["/a/b"]);
}

fn put(one: &Connection) -> Edit {
    Edit::PutConnection(Arc::new(one.clone()))
}

fn connection(server: &str, subject: &str) -> Connection {
    let user = User { issuer: "https://login.example.com".into(), subject: subject.into() };
    Connection {
        key: ConnectionKey { server: samples::path(server), user },
        id: format!("id-{subject}").into(),
        place: "0a1b".into(),
        token_url: "https://login.example.com/token".into(),
        scope: "read write".into(),
        access_token: Secret::new("s3cret-access"),
        expires_at: samples::NOW.plus_seconds(300),
        refresh_token: Some(Secret::new("s3cret-refresh")),
        created_at: samples::NOW,
        updated_at: samples::NOW,
    }
}
