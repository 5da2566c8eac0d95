//! Many inventories at once: few changes, and none of them before a person's.

use std::sync::Arc;
use std::task::{Context, Waker};

use catalog::VersionKey;
use catalog::endpoint::Era;
use catalog::inventory::{Inventory, Item, Reported};
use catalog::name::{ServerPath, VersionLabel};
use catalog::time::Timestamp;
use futures_util::future::join_all;
use serde_json::json;
use store::change::Change;

use super::{MAX_BATCH, Observation, Observations, fitting};
use crate::scene::Scene;
use crate::unread::Unread;

/// Where nobody answers, so that nothing is read but what a test says.
const NOWHERE: &str = "http://127.0.0.1:1/mcp";

fn inventory(tool_bytes: usize) -> Inventory {
    let json = format!(r#"{{"name":"tool","description":"{}"}}"#, " ".repeat(tool_bytes));
    Inventory {
        tools: vec![Item { name: "tool".into(), json: json.into() }],
        reported: Reported { version: Some("1".to_owned()), previous: None, changed_at: None },
        ..Inventory::empty(Era::Legacy, "2025-06-18", Timestamp(0))
    }
}

/// Registers servers and returns a first observation of each.
async fn observed(scene: &Scene, count: usize) -> Vec<Observation> {
    let mut observations = Vec::new();
    for number in 0..count {
        let path = format!("/s{number}");
        let body = json!({ "server_name": path, "path": path, "proxy_pass_url": NOWHERE });
        scene.admin("POST /api/servers/register", body).await.expect(201);
        let path = ServerPath::parse("path", &path).unwrap();
        let key = VersionKey::new(&path, &VersionLabel::parse("version", "v1.0.0").unwrap());
        let endpoint = scene.registry.endpoint(&key).unwrap();
        observations.push(Observation { key, endpoint, read: inventory(8) });
    }
    observations
}

#[tokio::test]
async fn a_person_goes_before_all_that_was_read() {
    let scene = Scene::start().await;
    let observations = observed(&scene, 2 * MAX_BATCH).await;
    let before = scene.registry.catalog().revision;
    let held = scene.registry.turns.for_person().await;
    let kept: Vec<_> = observations
        .into_iter()
        .map(|observation| {
            let registry = scene.registry.clone();
            tokio::spawn(async move { registry.observations.keep(observation).await })
        })
        .collect();
    // The task has taken its first batch once as many have been sent as it leaves room for.
    while scene.registry.observations.sender.capacity() > 0 {
        tokio::task::yield_now().await;
    }
    let mut person = Box::pin(
        scene
            .registry
            .apply(|catalog| Ok((Change::new(Vec::new()), (catalog.revision, catalog.inventories.len())))),
    );
    assert!(person.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(held);
    assert_eq!(person.await.unwrap(), (before, 0), "nothing was written before it");
    for one in join_all(kept).await {
        one.unwrap().unwrap();
    }
    let catalog = scene.registry.catalog();
    assert_eq!(catalog.inventories.len(), 2 * MAX_BATCH);
    assert!(catalog.revision <= before + 4, "{} changes for all of them", catalog.revision - before);
    assert_eq!(catalog.revision, scene.registry.parts.live.full().revision);
    assert_eq!(scene.registry.parts.store.load().await.unwrap().inventories, catalog.inventories);
}

#[tokio::test]
async fn each_of_a_batch_learns_what_came_of_its_own() {
    let scene = Scene::start().await;
    let mut observations = observed(&scene, 3).await;
    observations[1].endpoint =
        Arc::new(catalog::endpoint::Endpoint::at("http://127.0.0.1:2/mcp".parse().unwrap()));
    let moved = observations[1].key.clone();
    let kept = join_all(observations.into_iter().map(|one| scene.registry.observations.keep(one))).await;
    assert!(kept[0].is_ok() && kept[2].is_ok());
    assert_eq!(kept[1], Err(Unread::Gone(moved)));
    assert_eq!(scene.registry.catalog().inventories.len(), 2);
}

#[tokio::test]
async fn nothing_is_kept_where_nobody_takes_it() {
    let scene = Scene::start().await;
    let observation = observed(&scene, 1).await.remove(0);
    let (observations, receiver) = Observations::new();
    drop(receiver);
    assert!(matches!(observations.keep(observation).await, Err(Unread::Unstored { .. })));
}

#[tokio::test]
async fn a_batch_is_bounded_in_bytes() {
    let scene = Scene::start().await;
    let observation = observed(&scene, 1).await.remove(0);
    let told = |bytes| {
        let Observation { key, endpoint, .. } = &observation;
        let observation =
            Observation { key: key.clone(), endpoint: endpoint.clone(), read: inventory(bytes) };
        super::Told { observation, outcome: tokio::sync::oneshot::channel().0 }
    };
    assert_eq!(fitting(&[told(super::MAX_BATCH_BYTES + 1), told(1)]), 1, "a large one goes by itself");
    assert_eq!(fitting(&[told(super::MAX_BATCH_BYTES / 2), told(1), told(super::MAX_BATCH_BYTES / 2)]), 2);
}
