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
        tools: vec![Item { name: "search".into(), json: "{\"name\":\"search\"}".into() }],
        ..Inventory::empty(Era::Legacy, "2025-11-25", Timestamp(1))
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

fn items(names: &[&str]) -> Vec<Item> {
    let item = |name: &&str| Item { name: (*name).into(), json: format!("{{\"name\":\"{name}\"}}").into() };
    names.iter().map(item).collect()
}

fn inventory(era: Era, tools: &[&str], prompts: &[&str]) -> Inventory {
    Inventory {
        instructions: Some(era.as_str().into()),
        tools: items(tools),
        prompts: items(prompts),
        ..Inventory::empty(era, era.as_str(), Timestamp(1))
    }
}

#[test]
fn each_era_has_its_side_and_equal_lists_are_kept_once() {
    let modern = inventory(Era::Modern, &["new", "shared"], &["review"]);
    let legacy = inventory(Era::Legacy, &["shared", "old"], &["review"]);
    let both = Inventory::of_both(modern.clone(), legacy.clone());
    assert_eq!((both.eras(), modern.eras(), legacy.eras()), (Eras::Both, Eras::Modern, Eras::Legacy));
    assert_eq!(both.side(Era::Modern), modern.side(Era::Modern));
    assert_eq!(both.side(Era::Legacy), legacy.side(Era::Legacy));
    assert_eq!(legacy.side(Era::Modern), legacy.side(Era::Legacy), "the only one there is");
    let side = both.legacy.as_deref().unwrap();
    assert_eq!((side.tools.is_some(), &side.prompts, &side.resources), (true, &None, &None));
    let all: Vec<_> = both.all_tools().map(|item| &*item.name).collect();
    assert_eq!(all, ["new", "shared", "old"]);
    for (name, is_there) in [("new", true), ("old", true), ("shared", true), ("gone", false)] {
        assert_eq!(both.tool(name).is_some(), is_there, "{name}");
    }
    let other = Inventory::of_both(modern.clone(), inventory(Era::Legacy, &["shared"], &["review"]));
    assert!(both.offers_the_same(&both.clone()) && !both.offers_the_same(&other));
    assert!(!both.offers_the_same(&modern));
}
