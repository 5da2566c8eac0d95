//! Cases about ratings, which live as long as what they are about.

use std::sync::Arc;

use catalog::rating::{Rated, Stars};

use super::Twin;
use super::samples::*;
use crate::Store;
use crate::change::Edit;

pub(super) async fn are_kept_and_replaced(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = twin(open).await;
    let before = twin.catalog.servers[&path("/context7")].revision;
    twin.apply(vec![rate("/context7", "ada", 5), rate("/context7", "Größe \"1\"", 1)]).await;
    twin.apply(vec![rate("/virtual/dev-tools", "ada", 4)]).await;
    twin.apply(vec![rate("/context7", "ada", 2)]).await;
    let twin = twin.reopen(open).await;
    let ratings = &twin.catalog.ratings[&Rated::Server(path("/context7"))];
    assert_eq!(ratings.0["ada"].count(), 2, "the second rating stands in place of the first");
    assert_eq!(ratings.0.len(), 2);
    assert_eq!(twin.catalog.servers[&path("/context7")].revision, before, "the object was not written");
}

pub(super) async fn go_with_their_object(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = twin(open).await;
    // The server's path ends like the virtual server's, and another's merely begins alike.
    for other in ["/dev-tools", "/context77"] {
        twin.put_server(server(other)).await;
        twin.apply(vec![rate(other, "ada", 3)]).await;
    }
    twin.apply(vec![rate("/context7", "ada", 5), rate("/virtual/dev-tools", "ada", 4)]).await;
    twin.apply(vec![Edit::DeleteServer(path("/context7"))]).await;
    assert_eq!(twin.catalog.ratings.len(), 3);
    twin.apply(vec![Edit::DeleteVirtualServer(slug("dev-tools"))]).await;
    assert_eq!(twin.catalog.ratings.len(), 2);
    // Made anew, they begin without.
    twin.put_server(server("/context7")).await;
    twin.apply(vec![Edit::PutVirtualServer(Arc::new(virtual_server("dev-tools")))]).await;
    assert_eq!(twin.catalog.ratings.len(), 2);
    twin.reopen(open).await;
}

pub(super) async fn of_what_is_not_there_are_ignored(open: &impl AsyncFn() -> Box<dyn Store>) {
    let mut twin = twin(open).await;
    twin.apply(vec![rate("/dev-tools", "ada", 5), rate("/virtual/context7", "ada", 4)]).await;
    assert!(twin.catalog.ratings.is_empty());
    twin.reopen(open).await;
}

async fn twin(open: &impl AsyncFn() -> Box<dyn Store>) -> Twin {
    let mut twin = Twin::open(open).await;
    twin.put_server(server("/context7")).await;
    twin.apply(vec![Edit::PutVirtualServer(Arc::new(virtual_server("dev-tools")))]).await;
    twin
}

fn rate(at: &str, user: &str, stars: i64) -> Edit {
    let rated = match at.strip_prefix("/virtual/") {
        Some(name) => Rated::VirtualServer(slug(name)),
        None => Rated::Server(path(at)),
    };
    Edit::PutRating { rated, user: user.into(), stars: Stars::parse("rating", stars).expect("sound stars") }
}
