//! Who is asked first for a resource that no backend lists.

use std::sync::Arc;

use bytes::Bytes;
use catalog::Catalog;
use http_body::Body as _;
use http_body_util::BodyExt;

use super::*;
use crate::plane::Front;
use crate::stage::{self, key};

/// `/a` and `/c` with resources, `/b` without; of `/a`, `active` is active.
fn catalog(active: &str) -> Catalog {
    let mut catalog = Catalog::default();
    for path in ["/a", "/b", "/c"] {
        let labels = if active == "v1" { ["v1", "v2"] } else { ["v2", "v1"] };
        stage::add_server(&mut catalog, path, &labels, "http://127.0.0.1:9/mcp", Some(Era::Legacy));
        for label in labels {
            stage::add_inventory(&mut catalog, path, label, Era::Legacy, &["t"]);
            let inventory = Arc::make_mut(&mut catalog.inventories).get_mut(&key(path, label)).unwrap();
            if path != "/b" {
                Arc::make_mut(inventory).capabilities = r#"{"tools":{},"resources":{}}"#.into();
            }
        }
    }
    stage::add_virtual(&mut catalog, "v", &[("t", "/b"), ("t", "/a"), ("t", "/c")]);
    catalog
}

#[test]
fn the_one_that_named_it_comes_first_in_whatever_version_it_is_now() {
    let check = |active: &str, named_by: Option<VersionKey>, expected: &[usize]| {
        let table = stage::table(&catalog(active));
        let target = table.virtual_server("v").unwrap();
        let owners = likeliest_first(target, Era::Legacy, "x://1", || named_by.clone());
        assert_eq!(owners, expected, "{active} {named_by:?}");
    };
    let (a, c) = (1, 2);
    check("v1", None, &[a, c]);
    check("v1", Some(key("/a", "v1")), &[a, c]);
    check("v1", Some(key("/c", "v1")), &[c, a]);
    check("v2", Some(key("/c", "v1")), &[c, a]);
    check("v1", Some(key("/b", "v1")), &[a, c]);
    check("v1", Some(key("/gone", "v1")), &[a, c]);
}

#[test]
fn no_more_of_an_answer_are_looked_at_than_are_remembered() {
    let catalog = catalog("v1");
    let plane = stage::plane(&catalog);
    let target = plane.shared.live.full().virtual_server("v").unwrap().clone();
    let ann = stage::caller("ann");
    let call = stage::call(&plane, &ann, Front::Modern, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#);
    let links = (0..1000).map(|number| format!(r#"{{"uri":"x://{number}"}}"#)).collect::<Vec<_>>().join(",");
    let mut watch = watch(&call, &target, 2);
    watch.piece(format!("[{links}]").as_bytes());
    let owner = |uri: &str| find(&call, &target, None, uri)[0];
    assert_eq!((owner("x://0"), owner("x://127"), owner("x://128")), (2, 2, 1));
}

#[tokio::test]
async fn an_answer_is_the_same_when_it_was_looked_through() {
    let catalog = catalog("v1");
    let plane = stage::plane(&catalog);
    let target = plane.shared.live.full().virtual_server("v").unwrap().clone();
    let ann = stage::caller("ann");
    let call = stage::call(&plane, &ann, Front::Modern, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#);
    let text = r#"{"result":{"content":[{"uri":"x://1"}]}}"#;
    let answer = Response::new(Body::full(Bytes::from_static(text.as_bytes())));
    let answer = watched(&call, &target, None, 2, answer);
    assert_eq!(answer.body().size_hint().exact(), Some(text.len() as u64));
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), text);
    assert_eq!(find(&call, &target, None, "x://1"), [2, 1]);
    assert!(!matters(&target, Era::Legacy, 0) && matters(&target, Era::Legacy, 1));
}

fn watch(call: &Call, target: &Arc<VirtualTarget>, owner: usize) -> Watch {
    let client = seen::client(target, &call.principal, None).unwrap();
    Watch::new(&call.plane.shared, client, target, call.front.era(), &target.backends[owner].key)
}
