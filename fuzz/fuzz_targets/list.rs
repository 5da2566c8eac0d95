//! Any bytes as the result of a list method and as an item of one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp::list::{ListKind, read, renamed};
use mcp::message::{members, text};
use serde::de::IgnoredAny;

fuzz_target!(|bytes: &[u8]| {
    for kind in ListKind::ALL {
        let Some(listed) = read(bytes, kind) else { continue };
        for item in &listed.items {
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
