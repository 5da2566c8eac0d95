//! Any bytes as the result of a list method and as an item of one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp::list::{ListKind, read, renamed};
use mcp::message::{elements, member, members, pick, text};
use serde::de::IgnoredAny;

fuzz_target!(|bytes: &[u8]| {
    for kind in ListKind::ALL {
        let Some(listed) = read(bytes, kind) else { continue };
        let [list] = pick(bytes, [kind.member()]).expect("a list in what is no object");
        let items: Vec<_> = listed.items.iter().map(|item| item.json.of(bytes)).collect();
        let list = list.expect("a list that is absent").of(bytes);
        let elements: Vec<_> = elements(list).expect("a list").iter().map(|span| span.of(list)).collect();
        assert_eq!(items, elements);
        for item in &listed.items {
            let json = item.json.of(bytes);
            let found = |key| member(json, key).map(|span| span.of(json));
            assert_eq!(
                item.key.map(|key| key.of(bytes)),
                found(kind.key()).filter(|key| key.starts_with(b"\""))
            );
            assert_eq!(item.description.map(|words| words.of(bytes)), found("description"));
            for span in [Some(item.json), item.key, item.description].into_iter().flatten() {
                serde_json::from_slice::<IgnoredAny>(span.of(bytes)).expect("a span that is no value");
            }
        }
    }
    let Ok(item) = std::str::from_utf8(bytes) else { return };
    let other = renamed(item, Some("new \"name\""), Some("new\ndescription"));
    let Some(before) = members(bytes) else {
        assert_eq!(other, item);
        return;
    };
    let after = members(other.as_bytes()).expect("still an object");
    assert!((before.len()..=before.len() + 2).contains(&after.len()));
    let named = after.iter().filter(|(key, _)| text(key.of(other.as_bytes())).as_deref() == Some("name"));
    let names: Vec<_> = named.map(|(_, value)| text(value.of(other.as_bytes()))).collect();
    assert!(!names.is_empty() && names.iter().all(|name| name.as_deref() == Some("new \"name\"")));
});
