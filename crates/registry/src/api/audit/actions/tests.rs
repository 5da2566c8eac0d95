//! The words against the routes there are.

use serde_json::Value;

use super::*;

/// Routes that take a body and still only read.
const READS: [&str; 1] = ["/api/search"];

#[test]
fn every_route_that_writes_has_a_word_and_every_word_a_route() {
    let document: Value = serde_json::from_str(&crate::openapi()).unwrap();
    let mut known = 0;
    for (route, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let reads = method == Method::GET || READS.iter().any(|one| route.starts_with(one));
            let word = action(&method, route);
            assert_eq!(word.is_none(), reads, "{method} {route}: {word:?}");
            known += usize::from(word.is_some());
        }
    }
    assert_eq!(known, ACTIONS.len(), "a word belongs to no route");
}
