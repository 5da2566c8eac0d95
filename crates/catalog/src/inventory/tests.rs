//! The reported version over several probes, and what counts as the same offer.

use super::*;

#[test]
fn a_changed_version_keeps_the_one_before_and_the_time() {
    let mut state = Reported::default();
    // What each probe read, at which second, and the state and whether a change was noticed.
    for (version, second, expected, is_change) in [
        (None, 1, (None, None, None), false),
        (Some("2.14.4"), 2, (Some("2.14.4"), None, None), false),
        (Some("2.14.4"), 3, (Some("2.14.4"), None, None), false),
        (Some("2.14.5"), 4, (Some("2.14.5"), Some("2.14.4"), Some(4)), true),
        (None, 5, (Some("2.14.5"), Some("2.14.4"), Some(4)), false),
        (Some("2.14.5"), 6, (Some("2.14.5"), Some("2.14.4"), Some(4)), false),
        (Some("2.14.4"), 7, (Some("2.14.4"), Some("2.14.5"), Some(7)), true),
    ] {
        let (next, changed) = state.observe(version, Timestamp(second));
        let found = (next.version.as_deref(), next.previous.as_deref(), next.changed_at.map(|at| at.0));
        assert_eq!((found, changed), (expected, is_change), "second {second}");
        state = next;
    }
}

#[test]
fn an_offer_is_the_same_whenever_it_was_read() {
    let one = Inventory {
        era: Era::Legacy,
        protocol_version: "2025-11-25".into(),
        server_info: "{}".into(),
        capabilities: "{}".into(),
        instructions: None,
        tools: vec![Item { name: "search".into(), json: "{\"name\":\"search\"}".into() }],
        prompts: Vec::new(),
        resources: Vec::new(),
        templates: Vec::new(),
        reported: Reported::default(),
        read_at: Timestamp(1),
    };
    assert_eq!(one.tool("search"), one.tools.first());
    assert_eq!(one.tool("Search"), None);
    let (reported, _) = one.reported.observe(Some("1"), Timestamp(2));
    let later = Inventory { reported, read_at: Timestamp(2), ..one.clone() };
    assert!(one.offers_the_same(&later));
    let mut other = one.clone();
    other.tools[0].json = "{\"name\": \"search\"}".into();
    assert!(!one.offers_the_same(&other), "not a byte may differ");
}
