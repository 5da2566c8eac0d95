//! Changes: whole or not at all, in the order they were made, published before they are answered.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Waker};

use catalog::access::Group;
use catalog::error::Refusal;
use store::change::{Change, Edit, Expect};

use super::Error;
use crate::scene::Scene;

fn group(name: &str) -> Edit {
    Edit::PutGroup(Arc::new(Group {
        name: name.into(),
        description: String::new(),
        scopes: Vec::new(),
        revision: 1,
    }))
}

#[tokio::test]
async fn a_change_is_published_when_it_is_answered() {
    let scene = Scene::start().await;
    let before = scene.registry.catalog().revision;
    scene.registry.apply(|_| Ok((Change::new(vec![group("a")]), ()))).await.unwrap();
    assert_eq!(scene.registry.catalog().revision, before + 1);
    assert_eq!(scene.registry.parts.live.full().revision, before + 1);
    let stored = scene.registry.parts.store.load().await.unwrap();
    assert_eq!((stored.revision, stored.groups.len()), (before + 1, 1));
}

#[tokio::test]
async fn a_refused_change_changes_nothing() {
    let scene = Scene::start().await;
    let before = scene.registry.catalog().revision;
    let refusal = Refusal::Exists { kind: "group", name: "a".into() };
    let refused = scene.registry.apply(|_| Err::<(Change, ()), _>(refusal)).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    scene.registry.apply(|_| Ok((Change::new(Vec::new()), ()))).await.unwrap();
    let unmet = Change::new(vec![group("a")]).expecting(Expect::Group("a".into(), Some(7)));
    let moved = scene.registry.apply(|_| Ok((unmet, ()))).await;
    assert!(matches!(moved, Err(Error::Store(store::Error::Moved { .. }))), "{moved:?}");
    let catalog = scene.registry.catalog();
    assert_eq!((catalog.revision, catalog.groups.len()), (before, 0));
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_leave_a_change_half_made() {
    let scene = Scene::start().await;
    {
        let mut change = Box::pin(scene.registry.apply(|_| Ok((Change::new(vec![group("a")]), ()))));
        let mut context = Context::from_waker(Waker::noop());
        assert!(change.as_mut().poll(&mut context).is_pending());
    }
    scene.registry.apply(|_| Ok((Change::new(vec![group("b")]), ()))).await.unwrap();
    let catalog = scene.registry.catalog();
    assert_eq!((catalog.groups.len(), catalog.revision), (2, scene.registry.parts.live.full().revision));
}

#[tokio::test]
async fn changes_made_together_all_count() {
    let scene = Scene::start().await;
    let names: Vec<_> = (0..20).map(|index| format!("g{index}")).collect();
    let all = names.iter().map(|name| {
        let edit = group(name);
        scene.registry.apply(|catalog| Ok((Change::new(vec![edit]), catalog.groups.len())))
    });
    let mut seen: Vec<_> =
        futures_util::future::join_all(all).await.into_iter().map(Result::unwrap).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..20).collect::<Vec<_>>(), "each saw those before it");
}

#[tokio::test]
async fn a_change_on_top_of_another_nodes_takes_both_in() {
    let scene = Scene::start().await;
    scene.registry.parts.store.apply(Change::new(vec![group("theirs")])).await.unwrap();
    scene.registry.apply(|_| Ok((Change::new(vec![group("ours")]), ()))).await.unwrap();
    let catalog = scene.registry.catalog();
    assert!(catalog.groups.contains_key("theirs") && catalog.groups.contains_key("ours"));
}
